"""Rows of records of Kafka, and records of rows: key, value and metadata."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.connectors.kafka.values import KafkaRecord
from penstock.sql.tables.definition import TableDefinition
from penstock.types.row import Row, RowKind
from penstock.types.sql_types import SqlType

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class KeyedFormat:
    """A format of keys or values, with the columns that it has.

    Attributes:
        positions: Positions of its columns in the rows of the table.
        is_changelog: True if it reads changes.
    """

    positions: tuple[int, ...]
    decode: Callable[[Any], Any]
    encode: Callable[..., Any]
    is_changelog: bool


def _moment(milliseconds: int | None) -> dt.datetime | None:
    if milliseconds is None:
        return None
    return _EPOCH + dt.timedelta(milliseconds=milliseconds)


METADATA: Mapping[str, Callable[[KafkaRecord], Any]] = {
    "topic": lambda record: record.topic,
    "partition": lambda record: record.partition,
    "offset": lambda record: record.offset,
    "timestamp": lambda record: _moment(record.timestamp),
    "headers": lambda record: dict(record.headers),
}
"""Key of metadata to what reads it."""

WRITTEN = ("timestamp", "headers")
"""Keys of metadata that can be written."""


def _metadata_reader(key: str, kind: SqlType) -> Callable[[KafkaRecord], Any]:
    read = METADATA[key]
    if kind.name != "TIMESTAMP":
        return read

    def without_zone(record: KafkaRecord) -> Any:
        moment = read(record)
        return None if moment is None else moment.replace(tzinfo=None)

    return without_zone


class RowsOfRecords:
    """Makes rows of records.

    A value that is missing is a tombstone. In an upsert table it is a row of kind DELETE which has only the key.
    Elsewhere it is left out.
    """

    def __init__(
        self,
        table: TableDefinition,
        key: KeyedFormat | None,
        value: KeyedFormat,
        *,
        is_upsert: bool,
    ) -> None:
        """Prepare for the rows of a table."""
        self._names = tuple(stored.column.name for stored in table.stored)
        self._key, self._value, self._is_upsert = key, value, is_upsert
        self._metadata = [
            (position, _metadata_reader(stored.metadata_key, stored.column.type))
            for position, stored in enumerate(table.stored)
            if stored.metadata_key is not None
        ]

    def __call__(self, record: KafkaRecord) -> Any:
        """Return a row, None to leave the record out; of a changelog format a list of rows."""
        if record.value is None:
            return self._row(record, RowKind.DELETE, None) if self._is_upsert else None
        decoded = self._value.decode(record.value)
        if self._value.is_changelog:
            return [self._row(record, kind, values) for kind, values in decoded]
        if decoded is None:
            return None
        kind = RowKind.UPDATE_AFTER if self._is_upsert else RowKind.INSERT
        return self._row(record, kind, decoded)

    def _row(self, record: KafkaRecord, kind: RowKind, values: Sequence[Any] | None) -> Row:
        fields: list[Any] = [None] * len(self._names)
        if self._key is not None and record.key is not None:
            key_fields = self._key.decode(record.key)
            for position, field in zip(self._key.positions, key_fields or (), strict=False):
                fields[position] = field
        if values is not None:
            for position, field in zip(self._value.positions, values, strict=True):
                fields[position] = field
        for position, read in self._metadata:
            fields[position] = read(record)
        row = Row(*self._names)(*fields)
        row.set_row_kind(kind)
        return row


class RecordsOfRows:
    """Makes records of rows. In an upsert table a row that is removed becomes a tombstone of its key."""

    def __init__(
        self,
        table: TableDefinition,
        topic: str,
        key: KeyedFormat | None,
        value: KeyedFormat,
        *,
        is_upsert: bool,
    ) -> None:
        """Prepare for the rows of a table."""
        self._topic, self._key, self._value, self._is_upsert = topic, key, value, is_upsert
        places = {written.metadata_key: position for position, written in enumerate(table.written)}
        self._timestamp, self._headers = (places.get(key) for key in WRITTEN)

    def __call__(self, row: Row) -> KafkaRecord:
        """Return the record of a row."""
        fields, kind = list(row), row.get_row_kind()
        key = None if self._key is None else _bytes(self._key.encode(_chosen(fields, self._key)))
        if self._is_upsert and kind is RowKind.DELETE:
            value = None
        elif self._value.is_changelog:
            value = _bytes(self._value.encode(_chosen(fields, self._value), kind))
        else:
            value = _bytes(self._value.encode(_chosen(fields, self._value)))
        moment = None if self._timestamp is None else fields[self._timestamp]
        headers = None if self._headers is None else fields[self._headers]
        return KafkaRecord(
            key,
            value,
            self._topic,
            timestamp=None if moment is None else _milliseconds(moment),
            headers=tuple((headers or {}).items()),
        )


def _chosen(fields: list[Any], keyed: KeyedFormat) -> list[Any]:
    return [fields[position] for position in keyed.positions]


def _bytes(text: str | bytes | None) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def _milliseconds(moment: dt.datetime) -> int:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
    return (aware - _EPOCH) // dt.timedelta(milliseconds=1)
