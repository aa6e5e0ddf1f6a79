"""Types from annotations, so that annotated functions need no declared type. They are not enforced."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections import abc
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NotRequired, Required, Union

from penstock.errors import ArgumentError
from penstock.types.base import TypeInformation
from penstock.types.output_tag import OutputTag
from penstock.types.scalars import PickledBytesTypeInfo
from penstock.types.time import Instant
from penstock.types.types import Types

_PLAIN: dict[Any, TypeInformation] = {
    int: Types.LONG(),
    float: Types.DOUBLE(),
    str: Types.STRING(),
    bool: Types.BOOLEAN(),
    bytes: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Decimal: Types.BIG_DEC(),
    date: Types.SQL_DATE(),
    time: Types.SQL_TIME(),
    datetime: Types.SQL_TIMESTAMP(),
    Instant: Types.INSTANT(),
}


def type_of_annotation(annotation: Any) -> TypeInformation | None:
    """Return the type that an annotation describes, or None if it does not describe one exactly.

    The function supports int, float, str, bool, bytes, the datetime classes, Decimal, Instant,
    `list[T]`, `dict[K, V]` and `tuple[A, B]`. Dataclasses, named tuples and typed dicts are rows
    with the same field names. `T | None` is known where the type of the container allows None.
    Any other annotation inside makes the whole annotation unknown. Strings are unknown, so resolve
    them first (`typing.get_type_hints`).
    """
    return _type_of(annotation, ())


def _type_of(annotation: Any, within: tuple[Any, ...]) -> TypeInformation | None:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type_of(arguments[0], within)
    if origin is not None:
        rule = _GENERIC.get(origin)
        return rule(arguments, within) if rule else None
    # A class that contains itself has no finite type.
    if isinstance(annotation, type) and annotation not in _PLAIN and annotation not in within:
        return _record(annotation, (*within, annotation))
    return _PLAIN.get(annotation) if isinstance(annotation, type) else None


def _nullable(annotation: Any, within: tuple[Any, ...]) -> TypeInformation | None:
    if typing.get_origin(annotation) in (Required, NotRequired):
        (annotation,) = typing.get_args(annotation)
    return _type_of(_present(annotation), within)


def _list(arguments: tuple[Any, ...], within: tuple[Any, ...]) -> TypeInformation | None:
    element = _nullable(arguments[0], within)
    return None if element is None else Types.LIST(element)


def _dict(arguments: tuple[Any, ...], within: tuple[Any, ...]) -> TypeInformation | None:
    key = _PLAIN.get(arguments[0]) if isinstance(arguments[0], type) else None
    value = _nullable(arguments[1], within)
    return None if key is None or value is None else Types.MAP(key, value)


def _tuple(arguments: tuple[Any, ...], within: tuple[Any, ...]) -> TypeInformation | None:
    # `tuple[T, ...]` is unknown: a list type would change the class of the value.
    fields = [_type_of(argument, within) for argument in arguments]
    known = [field for field in fields if field is not None]
    return Types.TUPLE(known) if known and len(known) == len(fields) else None


_GENERIC: dict[Any, Any] = {list: _list, dict: _dict, tuple: _tuple}


def _record(cls: type, within: tuple[Any, ...]) -> TypeInformation | None:
    names = _field_names(cls)
    if not names:
        return None
    try:
        hints = typing.get_type_hints(cls)
    except Exception:  # noqa: BLE001 - an annotation may be any expression
        # Most often it names something its module does not have at run time.
        return None
    fields = [_nullable(hints.get(name), within) for name in names]
    known = [field for field in fields if field is not None]
    return Types.ROW_NAMED(names, known) if len(known) == len(names) else None


def _field_names(cls: type) -> list[str]:
    if dataclasses.is_dataclass(cls):
        return [item.name for item in dataclasses.fields(cls)]
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return list(cls._fields)
    if typing.is_typeddict(cls):
        return list(cls.__annotations__)
    return []


def type_of_elements(annotation: Any) -> TypeInformation | None:
    """Return the type of the elements of a function with this return annotation, None if unknown.

    The function supports iterables, iterators, generators, lists, sets and `tuple[T, ...]`, all of
    them also with `| None`. For elements `T | tuple[OutputTag, V]` it returns the type of `T`: the
    tagged values go to a side output.
    """
    present = _present(annotation)
    origin, arguments = typing.get_origin(present), typing.get_args(present)
    if origin not in _ITERABLES or not arguments:
        return None
    if origin is tuple and (len(arguments) != len((tuple, ...)) or arguments[1] is not Ellipsis):
        return None
    element = arguments[0]
    if typing.get_origin(element) in (Union, types.UnionType):
        main = [part for part in typing.get_args(element) if not _is_tagged(part)]
        if len(main) != 1:
            return None
        element = main[0]
    return None if _is_tagged(element) else type_of_annotation(element)


_ITERABLES = frozenset(
    {
        abc.Iterable,
        abc.Iterator,
        abc.Generator,
        abc.Collection,
        abc.Sequence,
        list,
        set,
        frozenset,
        tuple,
    }
)


def _present(annotation: Any) -> Any:
    """Return `T` of `T | None`, else the annotation."""
    if typing.get_origin(annotation) not in (Union, types.UnionType):
        return annotation
    present = [part for part in typing.get_args(annotation) if part is not type(None)]
    return present[0] if len(present) == 1 else annotation


def _is_tagged(annotation: Any) -> bool:
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is not tuple or not arguments:
        return False
    return OutputTag in (arguments[0], typing.get_origin(arguments[0]))


@dataclass(frozen=True, slots=True, repr=False)
class InferredTypeInfo(PickledBytesTypeInfo):
    """Any Python object; an annotation describes its type.

    Values are pickled, neither coerced nor checked: a program with a wrong annotation works, and an
    object of the user's class keeps its class. A reader that needs a type, such as a file sink with
    columns, coerces values to `described`; a value that does not fit is an error there.
    """

    described: TypeInformation

    def __post_init__(self) -> None:
        """Check."""
        if not isinstance(self.described, TypeInformation):
            raise ArgumentError(
                f"an inferred type got {self.described!r}, which is not a type",
                hint="Call the factory, e.g. Types.LONG().",
            )

    def __repr__(self) -> str:
        return f"Inferred({self.described!r})"


def described(type_info: TypeInformation) -> TypeInformation:
    """Return the described type of an inferred type, else the type itself."""
    return type_info.described if isinstance(type_info, InferredTypeInfo) else type_info


def enforced(type_info: TypeInformation) -> TypeInformation:
    """Return the type that values certainly have: any object for an inferred type, else itself."""
    return PickledBytesTypeInfo() if isinstance(type_info, InferredTypeInfo) else type_info


def common_type(types: list[TypeInformation]) -> TypeInformation | None:
    """Return the type of a union of streams of `types`, None if they have none in common.

    Inferred types always have a common type; it is inferred too if they agree.
    """
    first = types[0]
    if all(other == first for other in types):
        return first
    held = enforced(first)
    return held if all(enforced(other) == held for other in types) else None
