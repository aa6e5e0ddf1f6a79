"""Types of collections: lists, arrays and maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import NoneType
from typing import Any, ClassVar

from penstock.errors import ArgumentError
from penstock.types.base import TypeInformation, coerce_one_by_one, fit_column, same_objects
from penstock.types.basic import refusal
from penstock.types.value_serializer import StoredForm, ValueSerializer, stored_form

_PRIMITIVES = frozenset({"Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double", "Char"})


@dataclass(frozen=True, slots=True, repr=False)
class _SequenceTypeInfo(TypeInformation[Any]):
    """Base of the types of lists and arrays, whose declared form is a Python list.

    Attributes:
        element_type: Type of every element.
    """

    label: ClassVar[str]
    allows_none: ClassVar[bool] = True
    allowed_elements: ClassVar[frozenset[str] | None] = None

    element_type: TypeInformation

    def __post_init__(self) -> None:
        """Refuse an element type that the class does not allow."""
        _check_type(self.label, self.element_type)
        allowed = self.allowed_elements
        if allowed is not None and repr(self.element_type) not in allowed:
            raise ArgumentError(
                f"{self.label} cannot hold {self.element_type!r}",
                hint=f"Use Types.OBJECT_ARRAY, or one of {', '.join(sorted(allowed))}.",
            )

    @property
    def elem_type(self) -> TypeInformation:
        """The type of every element, by PyFlink's name."""
        return self.element_type

    def coerce(self, value: Any) -> Any:
        """Return a list of a list, tuple, `array.array` or NumPy array, elements coerced."""
        if isinstance(value, (list, tuple)):
            elements = value
        elif hasattr(value, "tolist") and hasattr(value, "__len__"):
            elements = value.tolist()
        else:
            raise refusal(value, "a list, tuple or array")
        fitted = fit_column(self.element_type, elements, nullable=self.allows_none)
        return value if fitted is value and type(value) is list else list(fitted)

    def fit(self, values: Sequence[Any], kinds: set[type]) -> Sequence[Any]:
        """Coerce all elements of all lists as one column; usually nothing changes."""
        if kinds == {list}:
            elements = list(chain.from_iterable(values))
            fitted = fit_column(self.element_type, elements, nullable=self.allows_none)
            if fitted is elements:
                return values
        return coerce_one_by_one(self, values)

    def create_var_len_serializer(self, config: Any = None) -> ValueSerializer:
        """Return a serializer of coded rows if the elements are coded rows."""
        return ValueSerializer(
            self, stored_form(self.element_type.create_var_len_serializer(config))
        )

    def __repr__(self) -> str:
        return f"{self.label}({self.element_type!r})"


class ListTypeInfo(_SequenceTypeInfo):
    """Lists of any length; elements may be None."""

    __slots__ = ()
    label = "List"


class BasicArrayTypeInfo(_SequenceTypeInfo):
    """Arrays of a basic type, as lists; elements may be None."""

    __slots__ = ()
    label = "BasicArray"
    allowed_elements = _PRIMITIVES | {"String"}


class ObjectArrayTypeInfo(_SequenceTypeInfo):
    """Arrays of any type, as lists; elements may be None."""

    __slots__ = ()
    label = "ObjectArray"


class PrimitiveArrayTypeInfo(_SequenceTypeInfo):
    """Arrays of numbers, bools or characters, as lists; of bytes, as `bytes`. No None."""

    __slots__ = ()
    label = "PrimitiveArray"
    allows_none = False
    allowed_elements = _PRIMITIVES

    @property
    def is_bytes(self) -> bool:
        """True if the declared form is `bytes` instead of a list."""
        return repr(self.element_type) == "Byte"

    def coerce(self, value: Any) -> Any:
        """Return a list, or `bytes` of anything bytes-like if the elements are bytes."""
        if not self.is_bytes:
            return _SequenceTypeInfo.coerce(self, value)
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise refusal(value, "bytes")
        return value if type(value) is bytes else bytes(value)

    def fit(self, values: Sequence[Any], kinds: set[type]) -> Sequence[Any]:
        """Check classes only if the elements are bytes; else coerce as a list."""
        if not self.is_bytes:
            return _SequenceTypeInfo.fit(self, values, kinds)
        return values if kinds <= {bytes} else coerce_one_by_one(self, values)


@dataclass(frozen=True, slots=True, repr=False)
class MapTypeInfo(TypeInformation[dict[Any, Any]]):
    """Maps, as `dict`; values may be None, keys may not.

    Attributes:
        key_type: Type of the keys; not a collection, since Python could not look it up.
        value_type: Type of the values.
    """

    key_type: TypeInformation
    value_type: TypeInformation

    def __post_init__(self) -> None:
        """Refuse keys that Python cannot hash."""
        _check_type("Map", self.key_type)
        _check_type("Map", self.value_type)
        keys = self.key_type
        is_bytes = isinstance(keys, PrimitiveArrayTypeInfo) and keys.is_bytes
        if isinstance(keys, (_SequenceTypeInfo, MapTypeInfo)) and not is_bytes:
            raise ArgumentError(
                f"Map cannot have keys of type {keys!r}: they are not hashable",
                hint="Use a Tuple or a basic type as key.",
            )

    def coerce(self, value: Any) -> dict[Any, Any]:
        """Return a dict of a mapping or of a list of pairs, keys and values coerced."""
        pairs = value
        if isinstance(value, list) and all(map(_is_pair, value)):
            pairs = dict(value)
        if not isinstance(pairs, Mapping):
            raise refusal(value, "a dict")
        keys, items = tuple(pairs.keys()), tuple(pairs.values())
        if NoneType in set(map(type, keys)):
            raise refusal(value, "a dict without None as key")
        new_keys = fit_column(self.key_type, keys, nullable=False)
        new_items = fit_column(self.value_type, items, nullable=True)
        if type(value) is dict and new_keys is keys and new_items is items:
            return value
        return dict(zip(new_keys, new_items, strict=True))

    def fit(self, values: Sequence[Any], kinds: set[type]) -> Sequence[Any]:
        """Coerce all keys as one column and all values as another; usually nothing changes."""
        if kinds == {dict}:
            keys = list(chain.from_iterable(values))
            items = list(chain.from_iterable(value.values() for value in values))
            parts = (
                fit_column(self.key_type, keys, nullable=False),
                fit_column(self.value_type, items, nullable=True),
            )
            if NoneType not in set(map(type, keys)) and same_objects(parts, (keys, items)):
                return values
        return coerce_one_by_one(self, values)

    def create_var_len_serializer(self, config: Any = None) -> ValueSerializer:
        """Return a serializer of coded rows."""
        return ValueSerializer(self, StoredForm.CODED)

    def __repr__(self) -> str:
        return f"Map({self.key_type!r}, {self.value_type!r})"


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2  # noqa: PLR2004 - a pair


def _check_type(family: str, candidate: object) -> None:
    if not isinstance(candidate, TypeInformation):
        raise ArgumentError(
            f"{family} got {candidate!r}, which is not a type",
            hint="Call the factory, e.g. Types.LONG().",
        )
