"""The equality of the keys of a class.

One state backend finds keys in a dictionary, another by their bytes. So a class can be a class of keys only
if its `==` is known: that of a base class whose values have an encoding, or the generated `==` of a
`dataclass`. A class that defines `__eq__` or `__hash__` itself would be grouped by these in a dictionary and by
its fields elsewhere. Calling its methods everywhere does not help: bytes and key groups need one
representative of each set of equal keys, which only the author of the class knows.

    class UserId(str): ...                      as str
    namedtuple, IntEnum, StrEnum                as tuple, int, str
    Enum                                        its members, by name
    @dataclass(frozen=True)                     its compared fields
    a class that defines __eq__ or __hash__     refused
    identity (object, @dataclass(eq=False))     refused: no two records would have the same key
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
"""Types whose values have an encoding; it is also that of classes that inherit their equality."""

_INTEGERS = (np.dtype(code).type for code in "bhilqBHILQ")
_NUMPY: dict[type, type] = {
    **dict.fromkeys((np.bool_, *_INTEGERS), int),
    **dict.fromkeys((np.float16, np.float32, np.float64), float),
    np.str_: str,
    np.bytes_: bytes,
}
"""NumPy's scalars; they equal Python's numbers and have the same hashes."""

_ENUM_BASES = frozenset({int, float, str, bytes})
_RULES = (
    "Return a number, string, bytes, None, enum, date, UUID, or a tuple, list or frozen dataclass "
    "of these from the key selector."
)


@dataclass(frozen=True, slots=True)
class KeyClass:
    """The equality of the keys of one class.

    Attributes:
        family: The type of `PLAIN` whose equality they have, `Enum`, or None for a dataclass.
        compared: Names of the fields that a dataclass compares.
    """

    family: type | None
    compared: tuple[str, ...] = ()


def key_class(cls: Any) -> KeyClass | str:
    """Return the equality of the keys of a class, or the reason why it is no class of keys."""
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
    """Return the error about a key whose class is no class of keys."""
    return KeyTypeError(
        f"{key!r} of type {type(key).__name__} cannot be a key: {reason}", hint=hint_for(reason)
    )


def hint_for(reason: str) -> str:
    """Return the hint about a class that is no class of keys."""
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
    """Return whether `dataclass` generated a method of a class.

    It compares the method with that of a new dataclass with the same fields, because Python does not
    record which decorator made a method.
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
