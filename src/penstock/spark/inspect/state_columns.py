"""State entries as columns: their names, types and values.

    value, reducing, aggregating    key, value, key_group
    list                            key, list_index, value, key_group
    map                             key, map_key, value, key_group
    timers                          key, timestamp_ms, key_group
    broadcast                       map_key, value
    with a time-to-live             the same and last_access_ms

A declared type has the column type of files (`penstock.types.arrow`). Types without a column type,
mostly undeclared ones, become text: JSON, or `repr` of a value without JSON. Keys have no declared
type; if all of them have the same simple type, it is the column type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain
from operator import itemgetter
from typing import Any

import pyarrow as pa

from penstock.errors import ArgumentError, StateError, TypeMismatchError
from penstock.state.log.blob import Section
from penstock.state.replay import GroupReplay
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.state.schema.evolution import common_schema, migration
from penstock.state.schema.stored_form import plain_codec
from penstock.types import PickledBytesTypeInfo, RowTypeInfo, TypeInformation, Types
from penstock.types.arrow import arrow_columns, arrow_type
from penstock.types.value_serializer import StoredForm
from penstock.wire.text.json_tree import json_text

_KEY_TYPES: dict[str, TypeInformation] = {
    "text": Types.STRING(),
    "integer": Types.LONG(),
    "float": Types.DOUBLE(),
    "boolean": Types.BOOLEAN(),
    "bytes": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "date": Types.SQL_DATE(),
}
"""Kind of key to the type of a column whose keys all have this kind."""

_KIND_OF_CLASS: dict[type, str] = {
    str: "text",
    int: "integer",
    float: "float",
    bool: "boolean",
    bytes: "bytes",
    date: "date",
}
_OTHER = "other"
_OF_USER = {"key", "map_key", "value"}
_LONG = 1 << 63
_ENTRIES_PER_BATCH = 4096


def kinds_of(values: list[Any]) -> set[str]:
    """Return the kinds of key that occur among values."""
    classes = set(map(type, values))
    kinds = {_KIND_OF_CLASS.get(cls, _OTHER) for cls in classes}
    if int in classes:
        integers = [value for value in values if type(value) is int]
        if not (min(integers) >= -_LONG and max(integers) < _LONG):
            kinds.add(_OTHER)
    return kinds


def type_of_kinds(kinds: set[str]) -> TypeInformation | None:
    """Return the type of a column of keys of these kinds; None means text."""
    return _KEY_TYPES.get(next(iter(kinds))) if len(kinds) == 1 else None


def value_text(value: Any) -> str:
    """Return the JSON of a value, its `repr` if it has none."""
    text = json_or_none(value)
    return safe_repr(value) if text is None else text


def json_or_none(value: Any) -> str | None:
    """Return the JSON of a value, None if it has none."""
    try:
        return json_text(value)
    except (TypeError, ValueError, RecursionError):
        return None


def safe_repr(value: Any) -> str:
    """Return the `repr` of a value, or its class if the user's `__repr__` fails."""
    try:
        return repr(value)
    except Exception as failed:  # noqa: BLE001 - one value must not hide the others
        return f"<{type(value).__name__} whose repr fails: {failed}>"


@dataclass(frozen=True, slots=True)
class EntryColumn:
    """One column of entries.

    Attributes:
        type_info: Type of the values; None for text.
    """

    name: str
    type_info: TypeInformation | None

    @property
    def arrow(self) -> pa.DataType:
        """The column type."""
        return pa.string() if self.type_info is None else arrow_type(self.type_info)

    def array(self, values: Iterable[Any]) -> pa.Array:
        """Return the column of `values`."""
        if self.type_info is None:
            return pa.array(map(value_text, values), pa.string())
        row = RowTypeInfo([self.type_info], [self.name])
        return arrow_columns(row, [(value,) for value in values])[0]


def declared_column(name: str, type_info: TypeInformation) -> EntryColumn:
    """Return the column of a declared type, of text if Spark has no column type for it."""
    return EntryColumn(name, type_info if _has_column(type_info) else None)


def _has_column(type_info: TypeInformation) -> bool:
    try:
        return "time64" not in str(arrow_type(type_info))  # Spark has no type for a time of day
    except ArgumentError:
        return False


def entry_columns(
    schema: StateSchema,
    key: TypeInformation | None,
    subkey: TypeInformation | None,
    *,
    as_text: bool = False,
) -> tuple[EntryColumn, ...]:
    """Return the columns of a state."""
    long = Types.LONG()
    columns = []
    if schema.kind is not StateKind.BROADCAST:
        columns.append(EntryColumn("key", key))
    name = schema.kind.subkey
    if name is not None:
        columns.append(_subkey_column(name, schema, subkey))
    if schema.kind is not StateKind.TIMERS:
        columns.append(declared_column("value", schema.value_type))
    if schema.has_ttl:
        columns.append(EntryColumn("last_access_ms", long))
    if schema.kind is not StateKind.BROADCAST:
        columns.append(EntryColumn("key_group", Types.INT()))
    if as_text:
        return tuple(replace(c, type_info=None) if c.name in _OF_USER else c for c in columns)
    return tuple(columns)


def _subkey_column(
    name: str, schema: StateSchema, type_info: TypeInformation | None
) -> EntryColumn:
    declared = schema.subkey_type
    if schema.kind.is_list:
        return EntryColumn(name, Types.LONG())
    if declared is None or isinstance(declared, PickledBytesTypeInfo):
        return EntryColumn(name, type_info)
    return declared_column(name, declared)


def newest_schema(texts: Iterable[str], subject: str) -> StateSchema:
    """Return the schema among `texts` with which entries of all others can be read."""
    # The stored form is irrelevant here: values are shown as plain ones.
    parsed = map(StateSchema.parse, sorted(texts))
    return common_schema([replace(schema, form=StoredForm.PLAIN) for schema in parsed], subject)


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of one state, as columns of equal length.

    Attributes:
        subkeys: Map keys, list indexes or timestamps; None for single kinds.
        last_access_ms: None without a time-to-live.
    """

    keys: list[Any]
    subkeys: list[Any] | None
    values: list[Any]
    last_access_ms: list[int] | None

    def batches(self, size: int) -> Iterator[Entries]:
        """Yield the entries in batches of at most `size`."""
        for start in range(0, len(self.keys), size):
            some = slice(start, start + size)
            yield Entries(
                self.keys[some],
                None if self.subkeys is None else self.subkeys[some],
                self.values[some],
                None if self.last_access_ms is None else self.last_access_ms[some],
            )


def entries_of(sections: Iterable[Section], schema: StateSchema, subject: str) -> Entries:
    """Return the entries of one state in one key group, migrated to a schema."""
    keys: list[Any] = []
    subkeys: list[Any] = []
    values: list[Any] = []
    for section in sections:
        change = migration(StateSchema.parse(section.schema), schema, subject)
        keys += section.keys
        subkeys += section.subkeys or ()
        values += change(section.values) if change else section.values
    if schema.kind.is_list:
        keys, subkeys, values = _elements(keys, subkeys, values)
    accessed = None
    if schema.has_ttl:
        accessed = [stored[0] for stored in values]
        values = [stored[1] for stored in values]
    codec = plain_codec(schema.value_type)
    if codec is not None:
        values = codec.from_plain(values)
    return Entries(keys, subkeys if schema.kind.is_nested else None, values, accessed)


def _elements(
    keys: list[Any], numbers: list[Any], chunks: list[Any]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return key, index in the whole list, and value of each element of lists that are stored in chunks."""
    of_key: dict[Any, list[tuple[int, list[Any]]]] = {}
    for key, number, chunk in zip(keys, numbers, chunks, strict=True):
        of_key.setdefault(key, []).append((number, chunk))
    columns: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for key, numbered in of_key.items():
        numbered.sort(key=itemgetter(0))
        elements = list(chain.from_iterable(chunk for _, chunk in numbered))
        columns[0].extend([key] * len(elements))
        columns[1].extend(range(len(elements)))
        columns[2].extend(elements)
    return columns


@dataclass(frozen=True, slots=True)
class EntryBatches:
    """Makes Arrow batches of the entries of one state.

    Attributes:
        schema: Schema with which all entries are read.
        columns: Result of `entry_columns`.
    """

    uid: str
    state: str
    schema: StateSchema
    columns: tuple[EntryColumn, ...]

    def __call__(self, key_group: int, replayed: GroupReplay) -> Iterator[pa.RecordBatch]:
        """Yield the entries of a key group."""
        subject = f"state {self.state!r} of operator {self.uid!r}"
        sections = [section for section in replayed.sections() if section.state == self.state]
        for some in entries_of(sections, self.schema, subject).batches(_ENTRIES_PER_BATCH):
            yield self._batch(subject, key_group, some)

    def _batch(self, subject: str, key_group: int, entries: Entries) -> pa.RecordBatch:
        columns = {
            "key": entries.keys,
            "value": entries.values,
            "key_group": [key_group] * len(entries.keys),
            "last_access_ms": entries.last_access_ms,
            self.schema.kind.subkey or "": entries.subkeys,
        }
        try:
            arrays = [column.array(columns[column.name] or ()) for column in self.columns]
        except TypeMismatchError as cause:
            raise StateError(
                f"{subject} has a value that no column can hold: {cause.problem}",
                hint="Read the state with as_text=True.",
            ) from cause
        return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in self.columns])
