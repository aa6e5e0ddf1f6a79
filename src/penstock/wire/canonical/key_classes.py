"""Which equality the keys of a class have.

State is a dictionary in one place and addressed by bytes in another, so a class can be that of a key only
if its `==` is known: the one it inherits from a type whose values have a form, or the one `dataclass`
makes of its fields. A class that defines `__eq__` or `__hash__` itself would be grouped by it in a dictionary and
by its fields elsewhere. To ask it everywhere is no way out: bytes and key groups need a form of
the *class* of equal keys, which nobody but its author knows.

    class UserId(str): ...                      as str
    namedtuple, IntEnum, StrEnum                as tuple, int, str
    Enum                                        its members, by name
    @dataclass(frozen=True)                     its compared fields
    __eq__ or __hash__ of its own               refused
    identity (object, @dataclass(eq=False))     refused: no two records would have one key
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, make_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np

from penstock.errors import KeyTypeError
from penstock.types.list_key import ListKey
from penstock.types.row import Row

PLAIN: tuple[type, ...] = (
    *(int, float, complex, Decimal, Fraction, str, bytes, tuple, Row, ListKey, frozenset),
    *(datetime, date, time, timedelta, UUID),
)
"""Types whose values have a form; classes that inherit their equality are written as they are."""

_INTEGERS = (np.dtype(code).type for code in "bhilqBHILQ")
_NUMPY: dict[type, type] = {
    **dict.fromkeys((np.bool_, *_INTEGERS), int),
    **dict.fromkeys((np.float16, np.float32, np.float64), float),
    np.str_: str,
    np.bytes_: bytes,
}
"""Scalars of numpy equal Python's and have their hashes."""

_ENUM_BASES = frozenset({int, float, str, bytes})
_RULES = (
    "Return a number, string, bytes, None, enum, date, UUID, or a tuple, list or frozen dataclass "
    "of these from the key selector."
)


@dataclass(frozen=True, slots=True)
class KeyClass:
    """What keys of one class are equal to.

    Attributes:
        family: The type of `PLAIN` whose equality they have, `Enum`, or None for a dataclass.
        compared: Names of the fields a dataclass compares.
    """

    family: type | None
    compared: tuple[str, ...] = ()


def key_class(cls: Any) -> KeyClass | str:
    """Return what keys of a class are equal to, or why it is no class of keys."""
    owner = _owner(cls, "__eq__")
    if cls.__hash__ is None:
        return "its instances can be changed"
    if owner in PLAIN:
        return _of_plain(cls, owner)
    if owner in _NUMPY:
        return KeyClass(_NUMPY[owner])
    if owner is object:
        return _of_identity(cls)
    return _of_fields(cls, owner)


def _of_fields(cls: Any, owner: type) -> KeyClass | str:
    made = [_has_made(cls, owner, method) for method in ("__eq__", "__hash__")]
    if not all(made):
        return _defines(cls, "__hash__" if made[0] else "__eq__")
    if issubclass(cls, Enum):
        return KeyClass(Enum)
    return KeyClass(None, tuple(each.name for each in fields(cls) if each.compare))


def _of_plain(cls: type, owner: type) -> KeyClass | str:
    if _owner(cls, "__hash__") is not owner:
        return _defines(cls, "__hash__")
    if issubclass(cls, Enum) and owner not in _ENUM_BASES:
        return f"its members are {owner.__name__}s as well"
    return KeyClass(owner)


def _of_identity(cls: type) -> KeyClass | str:
    if not issubclass(cls, Enum):
        return "an instance equals only itself"
    return KeyClass(Enum) if _owner(cls, "__hash__") is Enum else _defines(cls, "__hash__")


def _defines(cls: type, method: str) -> str:
    return f"{_owner(cls, method).__name__} defines {method} itself"


def no_key_class(key: Any, reason: str) -> KeyTypeError:
    """Return the error for a key of a class that is none of keys."""
    return KeyTypeError(
        f"{key!r} of type {type(key).__name__} cannot be a key: {reason}", hint=hint_for(reason)
    )


def hint_for(reason: str) -> str:
    """Return what to do about a class that is none of keys."""
    if "defines" not in reason:
        return _RULES
    return (
        "Keys are compared as Python compares numbers, text, tuples and the like, in every mode; a "
        "rule of a class's own cannot be stored. Return what the rule compares from the key "
        "selector, for example a tuple or a frozen dataclass of it."
    )


def _owner(cls: type, method: str) -> type:
    return next(base for base in cls.__mro__ if method in vars(base))


def _has_made(cls: type, owner: Any, method: str) -> bool:
    """Return whether a class has the method `dataclass` makes of its fields.

    It is compared with what `dataclass` makes of the same fields: where it comes from is not kept.
    """
    if (
        "__dataclass_fields__" not in vars(owner)
        or _owner(cls, "__dataclass_fields__") is not owner
    ):
        return False
    same = make_dataclass(
        owner.__name__,
        [
            (each.name, object, field(compare=each.compare, hash=each.hash))
            for each in fields(owner)
        ],
        frozen=True,
    )
    return _code(getattr(owner, method)) == _code(getattr(same, method))


def _code(function: Any) -> tuple[Any, ...]:
    code = getattr(function, "__code__", None)
    return () if code is None else (code.co_code, code.co_names, code.co_consts)
