"""Types whose values in a column have the declared form, so that a row of the column is the record."""

from __future__ import annotations

from penstock.types import (
    BasicTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

_OTHER_FORM = frozenset({"Instant", "BigInteger", "Char"})
"""Basic types whose values come out of a column as another class, or unchecked."""


def has_form_of_columns(type_info: TypeInformation) -> bool:
    """Return whether values that come out of columns of a type are in its declared form."""
    if isinstance(type_info, BasicTypeInfo):
        return type_info.name not in _OTHER_FORM
    return not isinstance(type_info, TupleTypeInfo) and all(
        map(has_form_of_columns, _components(type_info))
    )


def keeps_values_in_columns(type_info: TypeInformation) -> bool:
    """Return whether every value of a type comes back out of a column as it was.

    A column of decimals has 18 digits behind the point.
    """
    return has_form_of_columns(type_info) and not _has_decimals(type_info)


def has_times_of_day(type_info: TypeInformation) -> bool:
    """Return whether a type is, or has inside, a time of day, for which few formats of Spark have a column."""
    if isinstance(type_info, BasicTypeInfo):
        return type_info.name == "SqlTime"
    return any(map(has_times_of_day, _components(type_info)))


def _has_decimals(type_info: TypeInformation) -> bool:
    if isinstance(type_info, BasicTypeInfo):
        return type_info.name == "BigDecimal"
    return any(map(_has_decimals, _components(type_info)))


def _components(type_info: TypeInformation) -> list[TypeInformation]:
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return list(type_info.field_types)
    inside = [getattr(type_info, name, None) for name in ("element_type", "key_type", "value_type")]
    return [component for component in inside if component is not None]
