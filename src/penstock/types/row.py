"""`Row`, the record with optional field names, and functions of batches of rows.

A row is two references: a tuple of field names shared by all rows of a schema, and a list of
values of its own. Sharing keeps pickles small: a pickled list of rows contains the names once and
refers to them afterwards.

Making rows, measured per row of three fields (CPython 3.11): a loop over `object.__new__`
with three slot stores 69 ns, a comprehension over a function 82 ns, `map` over the slot
descriptors' `__set__` 132 ns. Hence the loop in `row_factory`.
Pickling: a `__reduce__` to a module function 400 ns to write and 270 ns to read; the default
for slotted classes needs 1100 and 570, and half as many bytes again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from operator import attrgetter
from typing import Any, ClassVar

from penstock.errors import ArgumentError, UnknownFieldError, did_you_mean

_MAX_SCHEMAS = 4096


class RowKind(Enum):
    """The change that a row of a changelog describes."""

    INSERT = 0
    """`+I`: a new row; the default."""

    UPDATE_BEFORE = 1
    """`-U`: the former content of an updated row."""

    UPDATE_AFTER = 2
    """`+U`: the new content of an updated row."""

    DELETE = 3
    """`-D`: the last content of a removed row."""

    def __str__(self) -> str:
        return self.short_string

    @property
    def short_string(self) -> str:
        """Return the two characters that printed rows start with, e.g. `+I`."""
        return _SHORT_STRINGS[self]


_SHORT_STRINGS = {
    RowKind.INSERT: "+I",
    RowKind.UPDATE_BEFORE: "-U",
    RowKind.UPDATE_AFTER: "+U",
    RowKind.DELETE: "-D",
}
_INSERT = RowKind.INSERT

TAKEN_BACK = (RowKind.UPDATE_BEFORE, RowKind.DELETE)
"""Kinds of rows that are there no longer."""
SIGN = {kind: -1 if kind in TAKEN_BACK else 1 for kind in RowKind}
"""Weight of a row of a kind in the count of its values."""


class Row:
    """A record whose fields are reached by position, and by name if it has names.

    >>> row = Row(name="Alice", age=11)
    >>> row.name, row["age"], row[0]
    ('Alice', 11, 'Alice')
    >>> "name" in row
    True
    >>> Person = Row("name", "age")
    >>> Person("Bob", 12)
    Row(name='Bob', age=12)
    >>> Row(name="Al", age=11).as_dict(), Row(name="Al", age=11).get_fields_by_names(["age"])
    ({'name': 'Al', 'age': 11}, [11])
    >>> row = Row("Al", 11)
    >>> row.set_field_names(["name", "age"])
    >>> row.set_row_kind(RowKind.DELETE)
    >>> row.name, row.get_row_kind().name
    ('Al', 'DELETE')

    Without names, `in` searches the values. Two named rows are equal if they have the
    same kind and the same value for every name, whatever the order of the names. A row is
    mutable: it may be a key only while it is not changed.
    """

    __slots__ = ("_fields", "_kind", "_values")

    # Field names of all rows of a class that `_class_of` has made.
    _schema: ClassVar[tuple[str, ...] | None] = None

    _fields: tuple[str, ...] | None
    _values: list[Any]
    _kind: RowKind

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Make a row of values, or of names with values.

        Raises:
            ArgumentError: Both positional and keyword arguments were given.
        """
        if args and kwargs:
            raise ArgumentError(
                f"Row got {len(args)} positional and {len(kwargs)} keyword arguments",
                hint="Give all fields by position or all by name.",
            )
        if kwargs:
            self._values = list(kwargs.values())
            self._name_fields(tuple(kwargs))
        else:
            self._fields = None
            self._values = list(args)
        self._kind = _INSERT

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """Return a row of that kind.

        Raises:
            ArgumentError: Both positional and keyword arguments were given.
        """
        row = Row(*args, **kwargs)
        row._kind = row_kind
        return row

    def get_row_kind(self) -> RowKind:
        """Return the kind; INSERT unless it was set."""
        return self._kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Replace the kind."""
        self._kind = row_kind

    def set_field_names(self, field_names: Sequence[str]) -> None:
        """Give the fields names, or new ones.

        Raises:
            ArgumentError: There is not exactly one name per field.
        """
        if len(field_names) != len(self._values):
            raise ArgumentError(
                f"{len(field_names)} names for a row of {len(self._values)} fields",
                hint="Give one name per field.",
            )
        self._name_fields(tuple(field_names))

    def _name_fields(self, names: tuple[str, ...]) -> None:
        row_class = _class_of(names)
        self._fields = row_class._schema or names
        self.__class__ = row_class

    def get_fields_by_names(self, names: Sequence[str]) -> list[Any]:
        """Return the values of `names` in that order; all values if the row has no names.

        Raises:
            UnknownFieldError: The row has names, but not all of these.
        """
        if self._fields is None:
            return list(self._values)
        return [self._values[self._index(name)] for name in names]

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Return name to value.

        Args:
            recursive: Whether rows inside, also inside lists and dicts, become dicts too.

        Raises:
            ArgumentError: The row has no field names.
        """
        if self._fields is None:
            raise ArgumentError(
                f"{self!r} has no field names",
                hint="Make the row by keywords or call set_field_names first.",
            )
        values = map(_as_dicts, self._values) if recursive else self._values
        return dict(zip(self._fields, values, strict=True))

    def _index(self, name: str) -> int:
        if self._fields is not None and name in self._fields:
            return self._fields.index(name)
        known = ", ".join(self._fields) if self._fields else "none, it has positions only"
        meant = did_you_mean(name, self._fields) if self._fields and isinstance(name, str) else ""
        raise UnknownFieldError(
            f"row has no field {name!r}{meant}", hint=f"Use one of its field names: {known}."
        )

    def __call__(self, *args: Any) -> Row:
        """Use this row's values as field names: return a row of `args` that has them."""
        if len(args) != len(self._values):
            raise ArgumentError(
                f"{len(args)} values {args!r} for the {len(self._values)} fields of {self!r}",
                hint="Give one value per field name.",
            )
        return _restore(tuple(self._values), list(args), self._kind)

    def __contains__(self, item: object) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __getitem__(self, item: Any) -> Any:
        if type(item) is int or isinstance(item, (int, slice)):  # the first is the cheaper one
            return self._values[item]
        fields = self._fields
        if fields is not None and item in fields:
            return self._values[fields.index(item)]
        return self._values[self._index(item)]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, (int, slice)):
            self._values[key] = value
        else:
            self._values[self._index(key)] = value

    # Called only when normal lookup failed. Names with an underscore are refused first:
    # while a row is being copied or unpickled its slots are still empty.
    def __getattr__(self, name: str) -> Any:
        if name[:1] != "_":
            try:
                return self._values[self._fields.index(name)]  # type: ignore[union-attr]
            except (AttributeError, ValueError):  # no names at all, or not this one
                pass
            raise AttributeError(
                f"row has no field {name!r}{did_you_mean(name, self._fields or ())}"
            )
        raise AttributeError(f"row has no field {name!r}")

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        if self._kind is not other._kind:
            return False
        if self._fields == other._fields:
            return self._values == other._values
        if self._fields is None or other._fields is None:
            return False
        return len(self) == len(other) and self.as_dict() == other.as_dict()

    # Has to ignore the order of names, as equality does.
    def __hash__(self) -> int:
        if self._fields is None:
            return hash(tuple(self._values))
        return hash(frozenset(zip(self._fields, self._values, strict=True)))

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        pairs = zip(self._fields, self._values, strict=True)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in pairs)})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._kind is _INSERT:
            return _restore, (self._fields, self._values)
        return _restore, (self._fields, self._values, self._kind)

    # The default would go through `__reduce__` and share the list of values.
    def __copy__(self) -> Row:
        return _restore(self._fields, self._values.copy(), self._kind)


def _restore(fields: tuple[str, ...] | None, values: list[Any], kind: RowKind = _INSERT) -> Row:
    row_class = Row if fields is None else _classes.get(fields) or _class_of(fields)
    row = object.__new__(row_class)
    row._fields = row_class._schema or fields
    row._values = values
    row._kind = kind
    return row


_classes: dict[tuple[str, ...], type[Row]] = {}


def _class_of(names: tuple[str, ...]) -> type[Row]:
    """Return the class of rows with these field names: a `Row` with a property per field.

    One class, and one tuple of names, per schema, so that pickle's memo finds the tuple. The
    number of classes is bounded, because names may come from data. Beyond the bound it returns
    `Row`, whose `__getattr__` returns the same values.
    """
    row_class = _classes.get(names)
    if row_class is None:
        if len(_classes) >= _MAX_SCHEMAS:
            return Row
        readers: dict[str, Any] = {}
        for position, name in enumerate(names):
            if name[:1] != "_" and not hasattr(Row, name):
                readers.setdefault(name, property(_reader(position)))
        hidden = {"__slots__": (), "_schema": names, "__module__": __name__, "__doc__": Row.__doc__}
        row_class = _classes.setdefault(names, type("Row", (Row,), readers | hidden))
    return row_class


def _reader(position: int) -> Callable[[Row], Any]:
    return lambda row: row._values[position]


def _as_dicts(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(recursive=True)
    if isinstance(value, list):
        return [_as_dicts(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_dicts(item) for key, item in value.items()}
    return value


def row_factory(
    field_names: Sequence[str] | None,
) -> Callable[[Iterable[list[Any]]], list[Row]]:
    """Return a function that makes INSERT rows of one schema from lists of values.

    A row owns its list afterwards; the list is not copied, and its length is not checked. The
    caller guarantees one value per name. None makes rows without names.
    """
    names_of_all = None if field_names is None else tuple(field_names)
    row_class = Row if names_of_all is None else _class_of(names_of_all)
    names = row_class._schema or names_of_all

    def make(value_lists: Iterable[list[Any]]) -> list[Row]:
        new = object.__new__
        rows: list[Row] = []
        append = rows.append
        for values in value_lists:
            row = new(row_class)
            row._fields = names
            row._values = values
            row._kind = _INSERT
            append(row)
        return rows

    return make


values_of_row: Callable[[Row], list[Any]] = attrgetter("_values")
"""Returns the list of values of a row: its own list, not a copy."""

_kind_of: Callable[[Row], RowKind] = attrgetter("_kind")

names_of: Callable[[Row], tuple[str, ...] | None] = attrgetter("_fields")
"""Returns the field names of a row, the shared tuple itself; None if it has none."""


def rows_to_values(rows: Iterable[Row]) -> list[list[Any]]:
    """Return the value list of every row: the rows' own lists, not copies (15 ns a row)."""
    return list(map(values_of_row, rows))


def class_of(value: Any) -> type:
    """Return the class of a value, `Row` for a row of any schema; for tables by class."""
    return Row if isinstance(value, Row) else type(value)


def only_rows(kinds: Iterable[type]) -> bool:
    """Return whether every class among `kinds` is `Row` or one made for a schema."""
    return all(issubclass(kind, Row) for kind in kinds)


def rows_of_one_schema(values: list[Any]) -> tuple[tuple[str, ...] | None] | None:
    """Return, in a tuple of one, the field names that all values share; names may be None.

    Returns None if the values are not all INSERT rows of one schema.
    """
    kinds = set(map(type, values))
    if len(kinds) != 1 or not only_rows(kinds):
        return None
    if list(map(_kind_of, values)).count(_INSERT) != len(values):  # a set would hash enum members
        return None
    if values[0]._schema is not None:
        return (values[0]._schema,)
    schemas = schemas_of(values)
    return (schemas.pop(),) if len(schemas) == 1 else None


def schemas_of(rows: Iterable[Row]) -> set[tuple[str, ...] | None]:
    """Return the distinct tuples of field names among `rows`; None stands for no names."""
    return set(map(names_of, rows))


def copy_flat_row(row: Row) -> Row:
    """Return a row with the same values in a list of its own."""
    return row_like(row, row._values.copy())


def is_row_class(kind: type) -> bool:
    """Return whether a class is `Row` or one made for a schema, not a subclass of a user's."""
    return kind is Row or (issubclass(kind, Row) and kind._schema is not None)


def row_like(row: Row, values: list[Any]) -> Row:
    """Return a row with the names and the kind of `row` that owns `values`."""
    result = object.__new__(row.__class__)
    result._fields = row._fields
    result._values = values
    result._kind = row._kind
    return result
