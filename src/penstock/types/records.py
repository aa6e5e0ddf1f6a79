"""Types of records: named fields as `Row`, positions as `tuple`; and records of any accepted shape as values per field.

The accepted shapes are rows, tuples, lists, dicts, named tuples, dataclass instances and other
objects with attributes. Fields with names are matched by name, others by position. A field of a row may have had
another name in an earlier version of the program:

    renamed={"total": "totals"}                    rows that were stored with `total` have it as `totals`
    renamed={"total": "totals", "totals": "sum"}   so have rows of both earlier versions, as `sum`
    renamed={"note": None}                         `note` was removed, no new field took its place

A renaming is of no account for rows that were stored with the new name: they are younger than it. So it stays
in the program as long as older rows may be read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any

from penstock.errors import ArgumentError, UnknownFieldError, did_you_mean
from penstock.types.base import TypeInformation, coerce_one_by_one, fit_column, same_objects
from penstock.types.basic import refusal
from penstock.types.row import (
    Row,
    RowKind,
    names_of,
    only_rows,
    row_factory,
    rows_to_values,
    schemas_of,
)
from penstock.types.value_serializer import StoredForm, ValueSerializer

_POSITIONAL = {tuple, list}


def record_values(record: Any, names: tuple[str, ...]) -> Sequence[Any]:
    """Return the values of one record in the order of `names`.

    A name that a dict lacks is None; any other record must have all names. Unknown names are
    errors, except of an object, which may have more attributes. The fields of a named tuple with
    other names are matched by position.
    """
    if isinstance(record, Row):
        schema = names_of(record)
        if schema is None or schema == names:
            return _counted(record, tuple(record), names)
        return _by_name(record, record.as_dict(), names)
    if isinstance(record, (tuple, list)):
        own = getattr(record, "_fields", names)
        if own != names and set(own) == set(names):
            return [getattr(record, name) for name in names]
        return _counted(record, record, names)
    if isinstance(record, dict):
        return _by_name(record, dict.fromkeys(names) | record, names)
    fields = _attributes(record, names)
    if fields is None:
        accepted = "a Row, tuple, list, dict, named tuple, dataclass or object with these fields"
        raise refusal(record, accepted)
    return _by_name(record, fields, names)


def tuple_values(record: Any, n_fields: int) -> Sequence[Any]:
    """Return the values of a tuple, list or row."""
    if not isinstance(record, (tuple, list, Row)):
        raise refusal(record, "a tuple, list or Row")
    if len(record) != n_fields:
        raise refusal(record, f"of {n_fields} fields but {len(record)}")
    return record if isinstance(record, tuple) else tuple(record)


def bulk_values(
    records: Sequence[Any], kinds: set[type], names: tuple[str, ...], *, by_name: bool
) -> Sequence[Sequence[Any]] | None:
    """Return the values of every record, or None if each record must be checked alone.

    The result equals `record_values` (`by_name`) or `tuple_values` of every record. It contains
    the rows' own lists: do not change it.
    """
    lists: Sequence[Sequence[Any]]
    if only_rows(kinds):
        if by_name and not schemas_of(records) <= {names, None}:
            return None
        lists = rows_to_values(records)
    elif kinds <= _POSITIONAL or all(_is_tuple_of(kind, names) for kind in kinds):
        lists = records
    elif kinds == {dict} and by_name and set(chain.from_iterable(records)) <= set(names):
        lists = [list(map(record.get, names)) for record in records]
    elif by_name and len(kinds) == 1 and _is_dataclass_of(next(iter(kinds)), names):
        return list(map(attrgetter(*names), records))
    else:
        return None
    return lists if set(map(len, lists)) == {len(names)} else None


def _is_tuple_of(kind: type, names: tuple[str, ...]) -> bool:
    return issubclass(kind, tuple) and getattr(kind, "_fields", None) == names


def _is_dataclass_of(kind: type, names: tuple[str, ...]) -> bool:
    # For one name, `attrgetter` would not return a tuple.
    if not dataclasses.is_dataclass(kind) or len(names) == 1:
        return False
    own = [item.name for item in dataclasses.fields(kind)]
    return len(own) == len(names) and set(own) == set(names)


def _counted(record: Any, values: Sequence[Any], names: tuple[str, ...]) -> Sequence[Any]:
    if len(values) != len(names):
        raise refusal(record, f"of {len(names)} fields ({', '.join(names)}) but {len(values)}")
    return values


def _by_name(record: Any, fields: dict[str, Any], names: tuple[str, ...]) -> Sequence[Any]:
    if len(fields) != len(names) or not fields.keys() >= set(names):
        missing = [name for name in names if name not in fields]
        unknown = [name for name in fields if name not in names]
        near = did_you_mean(str(unknown[0]), names) if unknown else ""
        msg = f"{record!r} lacks fields {missing} and has unknown fields {unknown}{near}"
        raise ValueError(msg)
    return [fields[name] for name in names]


def _attributes(record: Any, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the fields of a dataclass instance, or the named attributes of an object."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {item.name: getattr(record, item.name) for item in dataclasses.fields(record)}
    attributes = getattr(record, "__dict__", None)
    if not isinstance(attributes, dict) or not attributes.keys() >= set(names):
        return None
    return {name: attributes[name] for name in names}


Renamed = tuple[tuple[str, str | None], ...]
"""(earlier name, name in a later version, or None of a removed field), distinct, ascending."""


def checked_renamed(names: tuple[str, ...], renamed: Mapping[str, str | None] | None) -> Renamed:
    """Return a declaration of renamed fields as a value."""
    later = dict(renamed or {})
    for name, following in later.items():
        if not isinstance(name, str) or not isinstance(following, str | None):
            hint = 'Pass names, e.g. renamed={"earlier": "later"}.'
            raise _refusal(f"{name!r}: {following!r}", "is no pair of names", hint)
    for name in later:
        _check_end(name, later, names)
    return tuple(sorted(later.items()))


def _check_end(name: str, later: Mapping[str, str | None], names: tuple[str, ...]) -> None:
    """Check that an earlier name leads to a field, or to none."""
    path = [name]
    while path[-1] in later:
        following = later[path[-1]]
        if following is None:
            if path[-1] in names:
                hint = f"Leave {path[-1]!r} out of renamed, or give the field a name that no earlier version had."
                raise _refusal(f"{path[-1]!r}: None", "removes a field that there is", hint)
            return
        if following in path:
            hint = "Give fields that exchange names new ones, which no earlier version had."
            raise _refusal(_arrows([*path, following]), "leads back to an earlier name", hint)
        path.append(following)
    if path[-1] not in names:
        reason = f"leads to {path[-1]!r}, which is not a field{did_you_mean(path[-1], names)}"
        hint = f"Use one of {', '.join(names)}, or None for a field that was removed."
        raise _refusal(_arrows(path), reason, hint)


def _arrows(path: list[str]) -> str:
    return " to ".join(map(repr, path))


def _refusal(what: str, reason: str, hint: str) -> ArgumentError:
    return ArgumentError(f"Row type got renamed with {what}, which {reason}", hint=hint)


@dataclass(frozen=True, slots=True, repr=False, init=False)
class RowTypeInfo(TypeInformation[Row]):
    """Records with named fields, as `Row`; any field may be None.

    Attributes:
        field_types: Type of each field.
        field_names: Name of each field, distinct; `f0`, `f1`, ... if none were given. Every
            coerced row holds this very tuple.
        renamed: Earlier names of fields, for rows that were stored by earlier versions of the program.

    Example:
        >>> order = Types.ROW_NAMED(["customer", "amount"], [Types.STRING(), Types.INT()])
        >>> order.get_field_names(), order.get_field_types(), order.get_field_index("amount")
        (['customer', 'amount'], [String, Integer], 1)
    """

    field_types: tuple[TypeInformation, ...]
    field_names: tuple[str, ...]
    renamed: Renamed

    def __init__(
        self,
        field_types: Sequence[TypeInformation],
        field_names: Sequence[str] | None = None,
        renamed: Mapping[str, str | None] | None = None,
    ) -> None:
        """Declare the fields.

        Raises:
            ArgumentError: There are no fields, a type is none, the names are not distinct
                strings, one per type, or `renamed` leads to no field.
        """
        types = _checked_types("Row", field_types)
        names = _default_names(len(types)) if field_names is None else tuple(field_names)
        proper = all(isinstance(name, str) for name in names)
        if not proper or len(set(names)) != len(names) or len(names) != len(types):
            raise ArgumentError(
                f"Row type got field names {list(names)} for {len(types)} fields",
                hint="Give as many distinct strings as there are field types.",
            )
        object.__setattr__(self, "field_types", types)
        object.__setattr__(self, "field_names", names)
        object.__setattr__(self, "renamed", checked_renamed(names, renamed))

    def get_field_names(self) -> list[str]:
        """Return the names in order."""
        return list(self.field_names)

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types in order."""
        return list(self.field_types)

    def get_field_index(self, field_name: str) -> int:
        """Return the position of a field.

        Raises:
            UnknownFieldError: There is no field of that name.
        """
        if field_name not in self.field_names:
            raise UnknownFieldError(
                f"{self!r} has no field {field_name!r}{did_you_mean(field_name, self.field_names)}",
                hint=f"Use one of {', '.join(self.field_names)}.",
            )
        return self.field_names.index(field_name)

    def has_form(self, value: Any) -> bool:
        """Return whether `value` is a row with the declared names."""
        return isinstance(value, Row) and names_of(value) == self.field_names

    def coerce(self, value: Any) -> Row:
        """Return a row with the declared names and the kind of `value`; fields are matched by name.

        Fields of a row without names, a tuple and a list are matched by position. A field that a
        dict lacks is None; any other record must have all fields. Unknown names are errors.
        """
        names = self.field_names
        values = record_values(value, names)
        fields = zip(names, self.field_types, values, strict=True)
        coerced = [None if v is None else _coerced_field(name, t, v) for name, t, v in fields]
        (row,) = row_factory(names)((coerced,))
        if isinstance(value, Row):
            if names_of(value) == names and same_objects(coerced, values):
                return value
            row.set_row_kind(value.get_row_kind())
        return row

    def fit(self, values: Sequence[Any], kinds: set[type]) -> Sequence[Any]:
        """Coerce column by column; coerce records of mixed shapes one by one."""
        if not kinds:
            return values
        parts = _fitted(self, values, kinds, is_row=True)
        if parts is None:
            return coerce_one_by_one(self, values)
        lists, fitted, unchanged = parts
        if unchanged and only_rows(kinds) and schemas_of(values) == {self.field_names}:
            return values
        # Unchanged values are copied too: two rows must not share a list of values.
        rows = row_factory(self.field_names)(
            map(list, lists if unchanged else zip(*fitted, strict=True))
        )
        if only_rows(kinds):
            for row, old in zip(rows, values, strict=True):
                if old.get_row_kind() is not RowKind.INSERT:
                    row.set_row_kind(old.get_row_kind())
        return rows

    def create_var_len_serializer(self, config: Any = None) -> ValueSerializer:
        """Return a serializer of coded rows."""
        return ValueSerializer(self, StoredForm.CODED)

    def __repr__(self) -> str:
        pairs = zip(self.field_names, self.field_types, strict=True)
        return f"Row({', '.join(f'{name}: {t!r}' for name, t in pairs)})"

    def __str__(self) -> str:
        return f"RowTypeInfo{repr(self).removeprefix('Row')}"


@dataclass(frozen=True, slots=True, repr=False, init=False)
class TupleTypeInfo(TypeInformation[tuple[Any, ...]]):
    """Records with positions, as `tuple`; no field may be None.

    Attributes:
        field_types: Type of each field.

    Example:
        >>> Types.TUPLE([Types.STRING(), Types.INT()]).get_field_types()
        [String, Integer]
    """

    field_types: tuple[TypeInformation, ...]

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        """Declare the fields.

        Raises:
            ArgumentError: There are no fields, or a type is none.
        """
        object.__setattr__(self, "field_types", _checked_types("Tuple", field_types))

    @property
    def field_names(self) -> tuple[str, ...]:
        """The names of columns: `f0`, `f1`, ..."""
        return _default_names(len(self.field_types))

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types in order."""
        return list(self.field_types)

    def has_form(self, value: Any) -> bool:
        """Return whether `value` is a plain tuple with as many fields."""
        return type(value) is tuple and len(value) == len(self.field_types)

    def coerce(self, value: Any) -> tuple[Any, ...]:
        """Return a plain tuple of a tuple, list or row, by position."""
        values = tuple_values(value, len(self.field_types))
        coerced = tuple(
            _coerced_field(f"f{position}", t, v)
            for position, (t, v) in enumerate(zip(self.field_types, values, strict=True))
        )
        same = same_objects(coerced, values)
        return value if same and type(value) is tuple else coerced

    def fit(self, values: Sequence[Any], kinds: set[type]) -> Sequence[Any]:
        """Coerce column by column; coerce records of mixed shapes one by one."""
        if not kinds:
            return values
        parts = _fitted(self, values, kinds, is_row=False)
        if parts is None:
            return coerce_one_by_one(self, values)
        lists, fitted, unchanged = parts
        if unchanged:
            return values if kinds == {tuple} else list(map(tuple, lists))
        return list(zip(*fitted, strict=True))

    def create_var_len_serializer(self, config: Any = None) -> ValueSerializer:
        """Return a serializer of coded rows."""
        return ValueSerializer(self, StoredForm.CODED)

    def __repr__(self) -> str:
        return f"Tuple({', '.join(map(repr, self.field_types))})"

    def __str__(self) -> str:
        return f"TupleTypeInfo{repr(self).removeprefix('Tuple')}"


def _default_names(n_fields: int) -> tuple[str, ...]:
    return tuple(f"f{position}" for position in range(n_fields))


def _checked_types(
    family: str, field_types: Sequence[TypeInformation]
) -> tuple[TypeInformation, ...]:
    types = tuple(field_types)
    for position, field_type in enumerate(types):
        if not isinstance(field_type, TypeInformation):
            raise ArgumentError(
                f"field {position} of a {family} type is {field_type!r}, which is not a type",
                hint="Call the factory, e.g. Types.LONG().",
            )
    if not types:
        raise ArgumentError(f"a {family} type got no fields", hint="Give at least one type.")
    return types


def _coerced_field(name: str, field_type: TypeInformation, value: Any) -> Any:
    try:
        return field_type.coerce(value)
    except ValueError as refused:
        msg = f"field {name!r}: {refused}"
        raise ValueError(msg) from refused


def _fitted(
    type_info: RowTypeInfo | TupleTypeInfo, values: Sequence[Any], kinds: set[type], *, is_row: bool
) -> tuple[Sequence[Sequence[Any]], list[Sequence[Any]], bool] | None:
    """Return the values of every record, their coerced columns, and whether none has changed.

    None if each record must be checked alone.
    """
    lists = bulk_values(values, kinds, type_info.field_names, by_name=is_row)
    if lists is None:
        return None
    columns = list(zip(*lists, strict=True))
    fitted = [
        fit_column(t, column, nullable=is_row)
        for t, column in zip(type_info.field_types, columns, strict=True)
    ]
    return lists, fitted, same_objects(fitted, columns)
