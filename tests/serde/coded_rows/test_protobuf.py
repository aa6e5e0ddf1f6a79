"""Rows of wire types 0, 1, 2 and 5, read and written by the protobuf library.

An oracle that shares no code with ours: it finds wrong tags, varints, zigzag and lengths, also
those that our encoder and decoder agree on.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.types import MapTypeInfo, Row, RowKind, RowTypeInfo, TypeInformation, Types
from penstock.wire.coded_rows import coded_codec
from penstock.wire.coded_rows.wire_types import KIND_NUMBER, field_number
from tests.types.random_types import exact
from tests.types.type_strategies import values_of

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "Byte": _Field.TYPE_SINT32,
    "Short": _Field.TYPE_SINT32,
    "Integer": _Field.TYPE_SINT32,
    "Long": _Field.TYPE_SINT64,
    "Boolean": _Field.TYPE_BOOL,
    "Float": _Field.TYPE_FLOAT,
    "Double": _Field.TYPE_DOUBLE,
    "String": _Field.TYPE_STRING,
    "PrimitiveArray(Byte)": _Field.TYPE_BYTES,
}
_LEAVES = st.sampled_from(
    [*(type(Types.LONG())(name) for name in _SCALARS if "(" not in name),
     Types.PRIMITIVE_ARRAY(Types.BYTE())]
)  # fmt: skip


def _rows(parts: st.SearchStrategy[TypeInformation]) -> st.SearchStrategy[RowTypeInfo]:
    return st.lists(parts, min_size=1, max_size=20).map(Types.ROW)


_PARTS = st.one_of(
    _LEAVES,
    st.builds(Types.LIST, _LEAVES),
    st.builds(Types.LIST, _rows(_LEAVES)),
    st.builds(Types.MAP, st.sampled_from([Types.STRING(), Types.INT()]), _LEAVES),
    _rows(_LEAVES),
)


def _add(message: Any, number: int, type_info: TypeInformation, path: str) -> None:
    """Add the protobuf field that a coded field is."""
    repeated = isinstance(type_info, MapTypeInfo) or hasattr(type_info, "elem_type")
    repeated = repeated and repr(type_info) not in _SCALARS
    is_list = repeated and not isinstance(type_info, MapTypeInfo)
    element: Any = getattr(type_info, "elem_type", None) if is_list else type_info
    field = message.field.add(
        name=f"f{number}",
        number=number,
        label=_Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL,
    )
    if repr(element) in _SCALARS:
        field.type = _SCALARS[repr(element)]
        return
    parts = (
        [element.key_type, element.value_type]
        if isinstance(element, MapTypeInfo)
        else element.field_types
    )
    nested = message.nested_type.add(name=f"M{number}")
    for at, part in enumerate(parts):
        _add(nested, field_number(at), part, f"{path}.M{number}")
    field.type, field.type_name = _Field.TYPE_MESSAGE, f"{path}.M{number}"


def message_class(row: RowTypeInfo) -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="row.proto", package="t", syntax="proto2")
    file.message_type.add(name="Row")
    for at, part in enumerate(row.field_types):
        _add(file.message_type[0], field_number(at), part, ".t.Row")
    file.message_type[0].field.add(
        name="kind", number=KIND_NUMBER, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_UINT32
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Row"))


def _read(message: Any, name: str, type_info: TypeInformation) -> Any:
    """Return the value of a field of a message, as protobuf understood it."""
    if isinstance(type_info, MapTypeInfo):
        return {
            _read(pair, "f1", type_info.key_type): _read(pair, "f2", type_info.value_type)
            for pair in getattr(message, name)
        }
    if hasattr(type_info, "elem_type") and repr(type_info) not in _SCALARS:
        return [_value(item, type_info.elem_type) for item in getattr(message, name)]
    return _value(getattr(message, name), type_info) if message.HasField(name) else None


def _value(value: Any, type_info: TypeInformation) -> Any:
    if not isinstance(type_info, RowTypeInfo):
        return value
    fields = enumerate(type_info.field_types)
    row = Row(*(_read(value, f"f{field_number(at)}", part) for at, part in fields))
    row.set_field_names(type_info.field_names)
    return row


def _without_none_in_lists(value: Any) -> Any:
    """Return a value that protobuf has: no None in lists, no kinds inside, [] for no list."""
    if isinstance(value, Row):
        for at, item in enumerate(value):
            value[at] = _without_none_in_lists(item)
        value.set_row_kind(RowKind.INSERT)
    elif isinstance(value, list):
        return [_without_none_in_lists(item) for item in value if item is not None]
    return value


# CodedRowData, rule 2.
@settings(max_examples=80, deadline=None)
@given(st.data())
def test_protobuf_reads_what_we_write_and_writes_what_we_read(data: st.DataObject) -> None:
    row_type = data.draw(_rows(_PARTS))
    row = _without_none_in_lists(data.draw(values_of(row_type)))
    row.set_row_kind(data.draw(st.sampled_from(RowKind)))
    codec = coded_codec(row_type)
    message = message_class(row_type)()
    message.ParseFromString(codec.encode(row))
    assert message.kind == row.get_row_kind().value
    for at, (value, part) in enumerate(zip(row, row_type.field_types, strict=True)):
        found = _read(message, f"f{field_number(at)}", part)
        assert exact(found) == exact(found if value is None and not found else value)
    # An empty list is an unknown field to protobuf, which it keeps, but writes last.
    if all(value for value in row if isinstance(value, (list, dict))):
        again = codec.decode(message.SerializeToString(deterministic=True))
        assert exact(again) == exact(row)
