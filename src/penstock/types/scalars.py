"""Types that have no parts: the basic ones, and any object as a pickle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import ArgumentError
from penstock.types.base import TypeInformation, coerce_one_by_one
from penstock.types.basic import BASIC_RULES


@dataclass(frozen=True, slots=True, repr=False)
class BasicTypeInfo(TypeInformation):
    """An indivisible type, one row of `BASIC_RULES`.

    Attributes:
        name: Key of the rule, e.g. `Long`.
    """

    name: str

    def __post_init__(self) -> None:
        """Refuse unknown names.

        Raises:
            ArgumentError: There is no basic type of that name.
        """
        if self.name not in BASIC_RULES:
            raise ArgumentError(
                f"no basic type is named {self.name!r}",
                hint=f"Use one of {', '.join(BASIC_RULES)}.",
            )

    @property
    def python_class(self) -> type:
        """The exact class of values in the declared form."""
        return BASIC_RULES[self.name].python_class

    def coerce(self, value: Any) -> Any:
        """Return `value` as `python_class`, within the range of the type."""
        return BASIC_RULES[self.name].coerce(value)

    def fit(self, values: Sequence[Any], kinds: set[type]) -> Sequence[Any]:
        """Look at classes and extremes; walk the values only if those are unusual."""
        rule = BASIC_RULES[self.name]
        if not kinds:
            return values
        if kinds == {rule.python_class}:
            settled = rule.settle(values) if rule.settle else values
            if settled is not None:
                return settled
        return coerce_one_by_one(self, values)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, repr=False)
class PickledBytesTypeInfo(TypeInformation):
    """Any Python object, moved by pickle; the type of everything nobody declared."""

    def coerce(self, value: Any) -> Any:
        """Return `value`."""
        return value

    def fit(self, values: Sequence[Any], kinds: set[type]) -> Sequence[Any]:
        """Return `values`."""
        return values

    def need_conversion(self) -> bool:
        """Return False."""
        return False

    def __repr__(self) -> str:
        return "PickledByteArray"
