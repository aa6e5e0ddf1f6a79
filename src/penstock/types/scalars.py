"""Types without component types: the basic types, and pickled objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any

from penstock.errors import ArgumentError
from penstock.types.base import TypeInformation, coerce_one_by_one
from penstock.types.basic import BASIC_RULES
from penstock.types.time import Instant
from penstock.types.type_parameters import T_co


class BasicType(Enum):
    """The basic types PyFlink lists, with the names they have here."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


@dataclass(frozen=True, slots=True, repr=False)
class BasicTypeInfo(TypeInformation[T_co]):
    """A type without component types: one row of `BASIC_RULES`.

    Attributes:
        name: Key of the rule, e.g. `Long`; a `BasicType` may be given instead.
        digits: Precision and scale of the columns of decimals; None are 38 and 18. They are not stored.

    Example:
        >>> BasicTypeInfo.BOOLEAN_TYPE_INFO(), BasicTypeInfo.STRING_TYPE_INFO()
        (Boolean, String)
        >>> BasicTypeInfo.CHAR_TYPE_INFO(), BasicTypeInfo.INSTANT_TYPE_INFO()
        (Char, Instant)
        >>> BasicTypeInfo.BYTE_TYPE_INFO(), BasicTypeInfo.SHORT_TYPE_INFO()
        (Byte, Short)
        >>> BasicTypeInfo.INT_TYPE_INFO(), BasicTypeInfo.LONG_TYPE_INFO()
        (Integer, Long)
        >>> BasicTypeInfo.FLOAT_TYPE_INFO(), BasicTypeInfo.DOUBLE_TYPE_INFO()
        (Float, Double)
        >>> BasicTypeInfo.BIG_INT_TYPE_INFO(), BasicTypeInfo.BIG_DEC_TYPE_INFO()
        (BigInteger, BigDecimal)
    """

    name: str
    digits: tuple[int, int] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Refuse unknown names."""
        if isinstance(self.name, BasicType):
            object.__setattr__(self, "name", self.name.value)
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
        """Check classes and extremes; walk the values only if a check fails."""
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

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo[str]:
        """As `Types.STRING`."""
        return BasicTypeInfo("String")

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo[bool]:
        """As `Types.BOOLEAN`."""
        return BasicTypeInfo("Boolean")

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo[int]:
        """As `Types.BYTE`."""
        return BasicTypeInfo("Byte")

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo[int]:
        """As `Types.SHORT`."""
        return BasicTypeInfo("Short")

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo[int]:
        """As `Types.INT`."""
        return BasicTypeInfo("Integer")

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo[int]:
        """As `Types.LONG`."""
        return BasicTypeInfo("Long")

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo[float]:
        """As `Types.FLOAT`."""
        return BasicTypeInfo("Float")

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo[float]:
        """As `Types.DOUBLE`."""
        return BasicTypeInfo("Double")

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo[str]:
        """As `Types.CHAR`."""
        return BasicTypeInfo("Char")

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo[int]:
        """As `Types.BIG_INT`."""
        return BasicTypeInfo("BigInteger")

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo[Decimal]:
        """As `Types.BIG_DEC`."""
        return BasicTypeInfo("BigDecimal")

    @staticmethod
    def INSTANT_TYPE_INFO() -> BasicTypeInfo[Instant]:
        """As `Types.INSTANT`."""
        return BasicTypeInfo("Instant")


def decimals_of(precision: int, scale: int) -> BasicTypeInfo[Decimal]:
    """Return the type of decimals whose columns have a precision and a scale."""
    type_info: BasicTypeInfo[Decimal] = BasicTypeInfo("BigDecimal")
    object.__setattr__(type_info, "digits", (precision, scale))
    return type_info


@dataclass(frozen=True, slots=True, repr=False)
class PickledBytesTypeInfo(TypeInformation[Any]):
    """Any Python object, pickled; the type of a stream without a declared type."""

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
        return "any object"
