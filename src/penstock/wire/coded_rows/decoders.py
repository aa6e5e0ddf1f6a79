"""Generates decoders: per type the source of functions that read messages.

Fields are in order, so a decoder of rows tests for one tag after the other. For Row(id: Long):

    def row_0(data, at, end):
        v0 = None
        try:
            tag = data[at] if at < end else 0
            if tag == 8:
                z = data[at + 1]
                at += 2
                if z > 127:
                    z, at = read_varint(data, at - 1, 18446744073709551616)
                v0 = z >> 1 ^ -(z & 1)
            kind = at != end and read_rest(data, at, end, 1, has_kind=True)
        except FAILURES as cause:
            raise refused(at, cause) from cause
        ...

A decoder checks only after the last field that it has not read beyond `end`: then `at` exceeds `end`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from penstock.errors import DecodeError, PenstockError
from penstock.types import (
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowKind,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    row_factory,
)
from penstock.types.row import names_of
from penstock.wire.coded_rows.encoders import is_repeated
from penstock.wire.coded_rows.leaves import NAMES, SourceText, indented, leaf_of
from penstock.wire.coded_rows.wire_types import (
    Namespace,
    WireType,
    corrupt,
    field_number,
    find,
    read_rest,
    read_varint,
    tag,
)

_FAILURES = (IndexError, ValueError, TypeError, ArithmeticError, struct.error)
_TWO_BYTES = 2


def _refused(position: int, cause: Exception) -> DecodeError:
    """Return the error about an exception at a position."""
    if isinstance(cause, DecodeError):
        return cause
    if isinstance(cause, PenstockError):
        return corrupt(position, cause.problem)
    if isinstance(cause, (IndexError, struct.error)):
        return corrupt(position, "the bytes end within a field")
    return corrupt(position, str(cause))


_NAMES: Namespace = NAMES | {
    "FAILURES": _FAILURES,
    "INSERT": RowKind.INSERT,
    "KINDS": {kind.value: kind for kind in RowKind},
    "DecodeError": DecodeError,
    "corrupt": corrupt,
    "find": find,
    "new": object.__new__,
    "read_rest": read_rest,
    "read_varint": read_varint,
    "refused": _refused,
}


class DecoderSource:
    """Builds the functions that decode one type; each maps `(data, at, end)` to the value.

    With `tuples_hold_none`, a field that a tuple lacks is None instead of an error.
    """

    def __init__(self, *, tuples_hold_none: bool = False) -> None:
        self._tuples_hold_none = tuples_hold_none
        self.source = SourceText(_NAMES)

    def message(self, type_info: TypeInformation) -> str:
        """Return the name of the function that reads a message as a value of a type."""
        if isinstance(type_info, RowTypeInfo):
            return self.source.function(type_info, "row", lambda name: self._row(name, type_info))
        if isinstance(type_info, TupleTypeInfo):
            return self.source.function(
                type_info, "tuple", lambda name: self._tuple(name, type_info)
            )
        return self.source.function(type_info, "all", lambda name: self._whole(name, type_info))

    def one_field(self, type_info: TypeInformation, position: int) -> str:
        """Return the name of the function that reads one field; its argument is `data`."""
        number = field_number(position)
        lines = [
            "end = len(data)",
            f"v{position} = None",
            "at = 0",
            "try:",
            f"    at = find(data, {number})",
            *indented(_read_tag(number)),
            *indented(self._field(type_info, number, f"v{position}")),
            "    if at > end:",
            "        raise corrupt(end, 'a field does not end within its message')",
            *_CAUGHT,
            f"return v{position}",
        ]
        return self.source.function(
            ("field", position, type_info),
            "field",
            lambda name: [f"def {name}(data):", *indented(lines)],
        )

    def _row(self, name: str, row: RowTypeInfo) -> list[str]:
        # All rows with these names share one class and one tuple of names.
        (sample,) = row_factory(row.field_names)([[None] * len(row.field_names)])
        self.source.names[f"Class_{name}"] = type(sample)
        self.source.names[f"NAMES_{name}"] = names_of(sample)
        values = ", ".join(_names(len(row.field_types)))
        lines = [
            f"row = new(Class_{name})",
            f"row._fields = NAMES_{name}",
            f"row._values = [{values}]",
            "row._kind = KINDS[kind] if kind else INSERT",
            "return row",
        ]
        return self._function(name, row.field_types, lines, has_kind=True)

    def _tuple(self, name: str, tuple_type: TupleTypeInfo) -> list[str]:
        values = _names(len(tuple_type.field_types))
        checks: list[str] = []
        if not self._tuples_hold_none:
            missing = " or ".join(f"{value} is None" for value in values)
            checks = [f"if {missing}:", "    raise corrupt(at, 'a tuple lacks a field')"]
        lines = [*checks, f"return ({', '.join(values)},)"]
        return self._function(name, tuple_type.field_types, lines)

    def _whole(self, name: str, type_info: TypeInformation) -> list[str]:
        """Return the function of a type that is no record: the value is field 1."""
        if is_repeated(type_info):
            empty = "{}" if isinstance(type_info, MapTypeInfo) else "[]"
            result = [f"return {empty} if v0 is None else v0"]
        else:
            result = ["if v0 is None:", "    raise corrupt(at, 'there is no value')", "return v0"]
        return self._function(name, (type_info,), result)

    def _function(
        self,
        name: str,
        types: Sequence[TypeInformation],
        result: list[str],
        *,
        has_kind: bool = False,
    ) -> list[str]:
        """Return a function that reads fields `v0`, `v1`, … and returns the expression `result`."""
        last = field_number(len(types) - 1)
        rest = f"read_rest(data, at, end, {last}, has_kind={has_kind})"
        body: list[str] = []
        size = 0
        for position, field in enumerate(types):
            number = field_number(position)
            if _tag_size(number) != size:
                size = _tag_size(number)
                body += _read_tag(number)
            body += self._field(field, number, f"v{position}")
        return [
            f"def {name}(data, at, end):",
            f"    {' = '.join(_names(len(types)))} = None",
            "    try:",
            *indented(body, 2),
            f"        kind = {rest} if at != end else 0" if has_kind else "        if at != end:",
            *([] if has_kind else [f"            {rest}"]),
            *indented(_CAUGHT),
            *indented(result),
        ]

    def _field(self, field: TypeInformation, number: int, value: str) -> list[str]:
        """Return lines that read a field into `value` if its tag is next, then the next tag."""
        again = _read_tag(number)
        if isinstance(field, MapTypeInfo):
            return self._map(field, number, value, again)
        if is_repeated(field):
            lines = self._list(field.element_type, number, value, again)  # type: ignore[attr-defined]
            if isinstance(field, PrimitiveArrayTypeInfo):
                refuse = "raise corrupt(at, 'an array of numbers has None')"
                lines += [f"    if None in {value}:", f"        {refuse}"]
            return lines
        wire, lines = self._payload(field, number, value)
        return [f"if tag == {_constant(number, wire)}:", *indented([*lines, *again])]

    def _list(
        self, element: TypeInformation, number: int, value: str, again: list[str]
    ) -> list[str]:
        wire, lines = self._payload(element, number, "e")
        own, null = _constant(number, wire), _constant(number, WireType.NULL)
        return [
            f"if tag == {own} or tag == {null}:",
            f"    {value} = []",
            "    while True:",
            f"        if tag == {own}:",
            *indented([*lines, f"{value}.append(e)"], 3),
            f"        elif tag == {null}:",
            f"            at += {_tag_size(number)}",
            f"            {value}.append(None)",
            "        else:",
            "            break",
            *indented(again, 2),
            *indented(_empty(number, f"{value} == [None]", [f"{value} = []"], again)),
        ]

    def _map(self, map_type: MapTypeInfo, number: int, value: str, again: list[str]) -> list[str]:
        types = (map_type.key_type, map_type.value_type)
        pair = self.source.function(
            ("pair", map_type),
            "pair",
            lambda name: self._function(name, types, _PAIR),
        )
        wire = WireType.LENGTH_DELIMITED
        own, null = _constant(number, wire), _constant(number, WireType.NULL)
        lines = [*_length(number), f"k, x = {pair}(data, at, stop)", f"{value}[k] = x", "at = stop"]
        null_tag = [f"{value} = {{}}", f"at += {_tag_size(number)}", *again]
        return [
            f"if tag == {own}:",
            f"    {value} = {{}}",
            f"    while tag == {own}:",
            *indented([*lines, *again], 2),
            f"elif tag == {null}:",
            *indented(null_tag),
            *indented(
                [
                    f"if tag != {_constant(number, WireType.END)}:",
                    "    raise corrupt(at, 'a map has None instead of a pair')",
                    f"at += {_tag_size(number)}",
                    *again,
                ]
            ),
        ]

    def _payload(
        self, type_info: TypeInformation, number: int, value: str
    ) -> tuple[WireType, list[str]]:
        """Return the wire type, and lines that read the field at `at` into `value`."""
        leaf = leaf_of(type_info)
        size = _tag_size(number)
        if leaf is None:
            read = f"{value} = {self.message(type_info)}(data, at, stop)"
            return WireType.LENGTH_DELIMITED, [*_length(number), read, "at = stop"]
        if leaf.wire is WireType.LENGTH_DELIMITED:
            return leaf.wire, [*_length(number), f"{value} = {leaf.read}", "at = stop"]
        if leaf.wire is WireType.VARINT:
            short = [f"z = data[at + {size}]", f"at += {size + 1}"]
            if leaf.limit < 128:  # noqa: PLR2004 - one byte
                bounded = f"z, at = read_varint(data, at + {size}, {leaf.limit})"
                return leaf.wire, [bounded, f"{value} = {leaf.read}"]
            return leaf.wire, [*short, *_long_varint(leaf.limit), f"{value} = {leaf.read}"]
        return leaf.wire, [f"at += {size}", f"{value}, at = {leaf.read}"]


_PAIR = ["if v0 is None:", "    raise corrupt(at, 'a pair has no key')", "return v0, v1"]
_CAUGHT = ["except FAILURES as cause:", "    raise refused(at, cause) from cause"]


def _names(n_fields: int) -> list[str]:
    return [f"v{index}" for index in range(n_fields)]


def _tag_size(number: int) -> int:
    return len(tag(number, WireType.VARINT))


def _constant(number: int, wire: WireType) -> int:
    """Return the bytes of a tag as the number `_read_tag` reads."""
    return int.from_bytes(tag(number, wire), "little")


def _read_tag(number: int) -> list[str]:
    """Return lines that read as many bytes as the tag of a field has, or 0 if fewer remain."""
    size = _tag_size(number)
    if size == 1:
        return ["tag = data[at] if at < end else 0"]
    if size == _TWO_BYTES:
        return ["tag = data[at] | data[at + 1] << 8 if at + 1 < end else 0"]
    return [f"tag = int.from_bytes(data[at : at + {size}], 'little')"]


def _long_varint(limit: int) -> list[str]:
    """Return lines that read the rest of a varint after its first byte `z`; two bytes need no call."""
    slow = f"z, at = read_varint(data, at - 1, {limit})"
    if limit < 1 << 14:
        return ["if z > 127:", f"    {slow}"]
    return [
        "if z > 127:",
        "    b = data[at]",
        "    if 0 < b < 128:",
        "        z = z & 127 | b << 7",
        "        at += 1",
        "    else:",
        f"        {slow}",
    ]


def _length(number: int) -> list[str]:
    """Return lines that move `at` after tag and length, and set `stop`."""
    size = _tag_size(number)
    return [
        f"n = data[at + {size}]",
        f"at += {size + 1}",
        "if n > 127:",
        "    n, at = read_varint(data, at - 1)",
        "stop = at + n",
        "if stop > end:",
        "    raise corrupt(at, 'a field does not fit')",
    ]


def _empty(number: int, is_null: str, lines: list[str], again: list[str]) -> list[str]:
    """Return lines that read the second tag of an empty list."""
    return [
        f"if tag == {_constant(number, WireType.END)} and {is_null}:",
        *indented([*lines, f"at += {_tag_size(number)}", *again]),
    ]
