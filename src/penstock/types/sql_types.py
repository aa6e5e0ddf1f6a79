"""Types of SQL, and their type information.

    BOOLEAN  TINYINT  SMALLINT  INT  BIGINT  FLOAT  DOUBLE  DECIMAL(p, s)  STRING  BYTES
    DATE  TIME  TIMESTAMP  TIMESTAMP_LTZ  ARRAY<t>  MAP<k, v>  ROW<name t, …>  ANY

`TIMESTAMP` has no zone, `TIMESTAMP_LTZ` is an instant. Times have microseconds. `CHAR(n)` and `VARCHAR(n)` are
`STRING`: a length is neither padded nor cut. `ANY` is a value that is only passed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.types import TypeInformation, Types
from penstock.types.containers import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from penstock.types.records import RowTypeInfo, TupleTypeInfo
from penstock.types.scalars import BasicTypeInfo, decimals_of

MOST_DIGITS = 38


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type of SQL.

    Attributes:
        name: Such as `INT`.
        scale: Number of them behind the point.
        components: Types of elements, of keys and values, or of fields.
        stored: Type information of an ANY.
    """

    name: str
    precision: int = 0
    scale: int = 0
    components: tuple[SqlType, ...] = ()
    fields: tuple[str, ...] = ()
    stored: TypeInformation | None = None

    @property
    def type_info(self) -> TypeInformation:
        """The type of its values in records."""
        simple = _TYPE_INFO.get(self.name)
        if simple is not None:
            return simple
        if self.stored is not None:
            return self.stored
        parts = [component.type_info for component in self.components]
        if self.name == "ARRAY":
            return Types.LIST(parts[0])
        if self.name == "MAP":
            return Types.MAP(parts[0], parts[1])
        if self.name == "ROW":
            return Types.ROW_NAMED(list(self.fields), parts)
        return Types.PICKLED_BYTE_ARRAY()

    @property
    def column_type(self) -> TypeInformation:
        """The type of its values in columns: decimals with their precision and scale."""
        if self.name == "DECIMAL":
            return decimals_of(self.precision, self.scale)
        return self.type_info

    def __str__(self) -> str:
        if self.name == "DECIMAL":
            return f"DECIMAL({self.precision}, {self.scale})"
        if self.name == "ROW":
            inside = zip(self.fields, self.components, strict=True)
            return f"ROW<{', '.join(f'{name} {kind}' for name, kind in inside)}>"
        if self.components:
            return f"{self.name}<{', '.join(map(str, self.components))}>"
        return self.name


BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP = map(
    SqlType,
    (
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "FLOAT",
        "DOUBLE",
        "STRING",
        "BYTES",
        "DATE",
        "TIME",
        "TIMESTAMP",
    ),
)
TIMESTAMP_LTZ = SqlType("TIMESTAMP_LTZ")
NULL = SqlType("NULL")
"""Type of a NULL that no context has given a type yet."""

_TYPE_INFO: Mapping[str, TypeInformation] = {
    "BOOLEAN": Types.BOOLEAN(),
    "TINYINT": Types.BYTE(),
    "SMALLINT": Types.SHORT(),
    "INT": Types.INT(),
    "BIGINT": Types.LONG(),
    "FLOAT": Types.FLOAT(),
    "DOUBLE": Types.DOUBLE(),
    "DECIMAL": Types.BIG_DEC(),
    "STRING": Types.STRING(),
    "BYTES": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "DATE": Types.SQL_DATE(),
    "TIME": Types.SQL_TIME(),
    "TIMESTAMP": Types.SQL_TIMESTAMP(),
    "TIMESTAMP_LTZ": Types.TIMESTAMP_LTZ(),
}

WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
"""Names of the types of whole numbers, narrow ones first."""

FLOATS = ("FLOAT", "DOUBLE")
NUMBERS = frozenset({*WHOLE, *FLOATS, "DECIMAL"})
TIMESTAMPS = frozenset({"TIMESTAMP", "TIMESTAMP_LTZ"})
DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
"""Digits of the whole numbers, when they are computed with as decimals."""


def decimal(precision: int, scale: int) -> SqlType:
    """Return a decimal type; one of too many digits loses those behind the point, of which six stay."""
    if precision > MOST_DIGITS:
        before = precision - scale
        scale = max(MOST_DIGITS - before, min(scale, 6))
        precision = MOST_DIGITS
    return SqlType("DECIMAL", precision, scale)


def array(component: SqlType) -> SqlType:
    """Return the type of lists of values of a type."""
    return SqlType("ARRAY", components=(component,))


def row(names: tuple[str, ...], types: tuple[SqlType, ...]) -> SqlType:
    """Return the type of rows."""
    return SqlType("ROW", components=types, fields=names)


@dataclass(frozen=True, slots=True)
class Promotion:
    """Pairs of types that have a type in common in one dialect, and not in another.

    Attributes:
        decimals_with_floats: Whether DECIMAL and a float are DOUBLE.
        dates_with_timestamps: Whether DATE and a timestamp are that timestamp.
    """

    decimals_with_floats: bool
    dates_with_timestamps: bool


FLINK = Promotion(decimals_with_floats=True, dates_with_timestamps=True)
OF_COLUMNS = Promotion(decimals_with_floats=False, dates_with_timestamps=False)
"""Columns lose no digits and no zone without a cast."""


def common_type(left: SqlType, right: SqlType, promotion: Promotion = FLINK) -> SqlType | None:
    """Return the type that two types have in common, None if they have none.

    TINYINT < SMALLINT < INT < BIGINT     the wider one
    a whole number with DECIMAL           DECIMAL, of enough digits
    a whole number with a float           DOUBLE
    FLOAT with DOUBLE                     DOUBLE
    DECIMAL with a float                  DOUBLE of Flink
    DATE with a timestamp                 the timestamp of Flink
    NULL with t                           t
    """
    if NULL in (left, right) or left == right:
        return right if left == NULL else left
    names = {left.name, right.name}
    if names <= set(WHOLE):
        return max(left, right, key=lambda kind: WHOLE.index(kind.name))
    if names <= {*WHOLE, "DECIMAL"}:
        one, other = as_decimal(left), as_decimal(right)
        scale = max(one.scale, other.scale)
        whole = max(one.precision - one.scale, other.precision - other.scale)
        return decimal(whole + scale, scale)
    if names <= NUMBERS:
        return DOUBLE if promotion.decimals_with_floats or "DECIMAL" not in names else None
    if "DATE" in names and names <= {"DATE", *TIMESTAMPS} and promotion.dates_with_timestamps:
        return left if right == DATE else right
    return _common_inside(left, right, promotion)


def _common_inside(left: SqlType, right: SqlType, promotion: Promotion) -> SqlType | None:
    if left.name != right.name or len(left.components) != len(right.components):
        return None
    pairs = zip(left.components, right.components, strict=True)
    inside = tuple(kind for pair in pairs if (kind := common_type(*pair, promotion)))
    if len(inside) < len(left.components):
        return None
    if left.name == "ARRAY":
        return array(inside[0])
    return row(left.fields, inside) if left.name == "ROW" else None


def as_decimal(kind: SqlType) -> SqlType:
    """Return the decimal type that has all values of a type of exact numbers."""
    return kind if kind.name == "DECIMAL" else decimal(DIGITS[kind.name], 0)


_OF_BASIC = {
    "Boolean": BOOLEAN,
    "Byte": TINYINT,
    "Short": SMALLINT,
    "Integer": INT,
    "Long": BIGINT,
    "Float": FLOAT,
    "Double": DOUBLE,
    "String": STRING,
    "Char": STRING,
    "BigDecimal": decimal(38, 18),
    "BigInteger": decimal(38, 0),
    "SqlDate": DATE,
    "SqlTime": TIME,
    "SqlTimestamp": TIMESTAMP,
    "TimestampLtz": TIMESTAMP_LTZ,
}


def of_type_info(type_info: TypeInformation) -> SqlType:
    """Return the type of SQL of values of a type; `ANY` of values that are only passed on."""
    if isinstance(type_info, BasicTypeInfo) and type_info.name in _OF_BASIC:
        return _OF_BASIC[type_info.name]
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes:
        return BYTES
    if isinstance(
        type_info, ListTypeInfo | BasicArrayTypeInfo | ObjectArrayTypeInfo | PrimitiveArrayTypeInfo
    ):
        return array(of_type_info(type_info.element_type))
    if isinstance(type_info, MapTypeInfo):
        return SqlType(
            "MAP", components=(of_type_info(type_info.key_type), of_type_info(type_info.value_type))
        )
    if isinstance(type_info, RowTypeInfo | TupleTypeInfo):
        types = tuple(map(of_type_info, type_info.field_types))
        return row(tuple(type_info.field_names), types)
    return SqlType("ANY", stored=type_info)
