"""Types as JSON. State is stored with the description of its type, so that later programs read it.

    type                              description
    basic, e.g. Types.LONG()          its name, "Long"
    Types.PICKLED_BYTE_ARRAY()        "Pickled"; so is an inferred type, which is not enforced
    Types.ROW_NAMED(["a"], [LONG])    {"row": [["a", "Long"]]}
      with renamed={"b": "a"}         {"renamed": {"b": "a"}, "row": [["a", "Long"]]}
    Types.TUPLE([LONG, STRING])       {"tuple": ["Long", "String"]}
    Types.LIST(LONG)                  {"list": "Long"}, and so for the three arrays
    Types.MAP(STRING, LONG)           {"map": ["String", "Long"]}
    a type of the program             {"user": [its repr, version of its serializer]}

A type has exactly one description, and two declared types never share one. Descriptions are stored for
years: descriptions may be added here, never changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from reprlib import repr as short_repr
from typing import Any

from penstock.errors import ArgumentError, DecodeError
from penstock.types import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.types.basic import BASIC_RULES
from penstock.types.infer import InferredTypeInfo
from penstock.types.user_types import StoredUserType, user_type_of

_PICKLED = "Pickled"
_USER = "user"
_ROW, _RENAMED = "row", "renamed"
_PAIR = 2


@dataclass(frozen=True, slots=True)
class _DescriptionRule:
    """Description of the types of one class with component types, and the way back.

    Attributes:
        tag: The only key of the description.
        components: Returns the description of the component types.
        build: Returns the type of the described component types.
    """

    tag: str
    components: Callable[[Any], Any]
    build: Callable[[Any], TypeInformation]


def describe_type(type_info: TypeInformation) -> Any:
    """Return the description of a type: strings, lists and dicts, ready for JSON.

    >>> describe_type(RowTypeInfo([BasicTypeInfo("Long")], ["size"]))
    {'row': [['size', 'Long']]}
    """
    leaf = _LEAVES.get(type(type_info))
    if leaf is not None:
        return leaf(type_info)
    if isinstance(type_info, RowTypeInfo) and type_info.renamed:
        return {_RENAMED: dict(type_info.renamed), _ROW: _row_components(type_info)}
    rule = _RULES.get(type(type_info))
    if rule is None:
        stored = user_type_of(type_info)
        return {_USER: [stored.name, stored.version]}
    return {rule.tag: rule.components(type_info)}


def type_of(description: Any) -> TypeInformation:
    """Return the type that has this description."""
    try:
        return _type_of(description)
    except (ArgumentError, RecursionError) as refused:
        raise _unknown(description) from refused


def has_serializers(type_info: TypeInformation) -> bool:
    """Return whether serializers of the program write the values, or values inside them.

    >>> has_serializers(ListTypeInfo(BasicTypeInfo("Long")))
    False
    """
    try:
        return _names_user_type(describe_type(type_info))
    except ArgumentError:  # a type of the program without a serializer: its values are pickled
        return False


def _names_user_type(description: Any) -> bool:
    if isinstance(description, dict):
        return _USER in description or any(map(_names_user_type, description.values()))
    return isinstance(description, list) and any(map(_names_user_type, description))


def _type_of(description: Any) -> TypeInformation:
    if isinstance(description, str):
        if description == _PICKLED:
            return PickledBytesTypeInfo()
        if description in BASIC_RULES:
            return BasicTypeInfo(description)
    elif isinstance(description, dict) and len(description) == 1:
        ((tag, components),) = description.items()
        if tag == _USER:
            return _user_type(components)
        rule = _BY_TAG.get(tag)
        if rule is not None:
            return rule.build(components)
    elif isinstance(description, dict) and description.keys() == {_RENAMED, _ROW}:
        return _row_of(description[_ROW], description[_RENAMED])
    raise _unknown(description)


def _unknown(description: Any) -> DecodeError:
    return DecodeError(
        f"{short_repr(description)} is the description of no type",
        hint="Read the data with the version of Penstock that wrote it, or a later one.",
    )


def _list_of(components: Any, n_components: int | None = None) -> list[Any]:
    if not isinstance(components, list) or n_components not in {None, len(components)}:
        raise _unknown(components)
    return components


def _row_components(row: RowTypeInfo) -> list[list[Any]]:
    pairs = zip(row.field_names, row.field_types, strict=True)
    return [[name, describe_type(field)] for name, field in pairs]


def _row_of(components: Any, renamed: Any = None) -> RowTypeInfo:
    fields = [_list_of(field, _PAIR) for field in _list_of(components)]
    if not isinstance(renamed, dict | None):
        raise _unknown(renamed)
    return RowTypeInfo(
        [_type_of(field) for _, field in fields], [name for name, _ in fields], renamed
    )


def _tuple_components(tuple_type: TupleTypeInfo) -> list[Any]:
    return [describe_type(field) for field in tuple_type.field_types]


def _tuple_of(components: Any) -> TupleTypeInfo:
    return TupleTypeInfo([_type_of(field) for field in _list_of(components)])


def _map_components(map_type: MapTypeInfo) -> list[Any]:
    return [describe_type(map_type.key_type), describe_type(map_type.value_type)]


def _map_of(components: Any) -> MapTypeInfo:
    key, value = _list_of(components, _PAIR)
    return MapTypeInfo(_type_of(key), _type_of(value))


def _user_type(components: Any) -> StoredUserType:
    name, version = _list_of(components, _PAIR)
    if not isinstance(name, str) or type(version) is not int:
        raise _unknown(components)
    return StoredUserType(name, version)


def _sequences(
    tag: str, make_type: Callable[[TypeInformation], TypeInformation]
) -> _DescriptionRule:
    return _DescriptionRule(
        tag,
        lambda sequence: describe_type(sequence.element_type),
        lambda element: make_type(_type_of(element)),
    )


def _basic_name(basic: TypeInformation) -> str:
    assert isinstance(basic, BasicTypeInfo)
    return basic.name


_LEAVES: dict[type, Callable[[TypeInformation], str]] = {
    BasicTypeInfo: _basic_name,
    PickledBytesTypeInfo: lambda _: _PICKLED,
    InferredTypeInfo: lambda _: _PICKLED,
}

_RULES: dict[type, _DescriptionRule] = {
    RowTypeInfo: _DescriptionRule(_ROW, _row_components, _row_of),
    TupleTypeInfo: _DescriptionRule("tuple", _tuple_components, _tuple_of),
    ListTypeInfo: _sequences("list", ListTypeInfo),
    BasicArrayTypeInfo: _sequences("basic_array", BasicArrayTypeInfo),
    ObjectArrayTypeInfo: _sequences("object_array", ObjectArrayTypeInfo),
    PrimitiveArrayTypeInfo: _sequences("primitive_array", PrimitiveArrayTypeInfo),
    MapTypeInfo: _DescriptionRule("map", _map_components, _map_of),
}

_BY_TAG: dict[Any, _DescriptionRule] = {rule.tag: rule for rule in _RULES.values()}
