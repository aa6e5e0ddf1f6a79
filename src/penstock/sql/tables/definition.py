"""Interface of connectors: the definition of a table, and its source and sink."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from penstock.graph.endpoints import Sink, Source
from penstock.relation.tree import Changelog, SqlColumn
from penstock.sql.tables.options import TableOption, TableOptions
from penstock.types import TypeInformation
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row
from penstock.types.sql_types import SqlType
from penstock.types.types import Types


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column whose values are in the system: all but computed ones.

    Attributes:
        metadata_key: Its name in the system if it is metadata, else None.
        is_virtual: True if it is not written.
    """

    column: SqlColumn
    metadata_key: str | None = None
    is_virtual: bool = False


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table as its connector sees it.

    Attributes:
        name: For messages.
        stored: Its columns without computed ones, in order.
        partitioned_by: Names of columns that files are divided by.
    """

    name: str
    stored: tuple[StoredColumn, ...]
    primary_key: tuple[str, ...]
    partitioned_by: tuple[str, ...]
    options: TableOptions

    @property
    def columns(self) -> tuple[tuple[str, SqlType], ...]:
        """Names and types of the columns of the rows of its source."""
        return tuple((stored.column.name, stored.column.type) for stored in self.stored)

    @property
    def physical(self) -> tuple[tuple[str, SqlType], ...]:
        """Names and types of the columns that are no metadata."""
        return tuple(
            (stored.column.name, stored.column.type)
            for stored in self.stored
            if stored.metadata_key is None
        )

    @property
    def written(self) -> tuple[StoredColumn, ...]:
        """The columns of the rows that its sink gets."""
        return tuple(stored for stored in self.stored if not stored.is_virtual)

    @property
    def row_type(self) -> RowTypeInfo:
        """Type of the rows of its source."""
        return Types.ROW_NAMED(
            [stored.column.name for stored in self.stored],
            [stored.column.type.type_info for stored in self.stored],
        )


@dataclass(frozen=True, slots=True)
class TableSource:
    """Source of a table.

    Attributes:
        source: Its records are rows of `TableDefinition.row_type`, or `rows` makes some of each.
        rows: From a record to rows; None if the records are rows.
    """

    source: Source
    rows: Callable[[Any], Any] | None = None


class Takes(Enum):
    """Rows that a sink can take."""

    INSERTS = "rows that are only added"
    UPSERTS = "rows that are added, and with a PRIMARY KEY rows that change"
    CHANGES = "rows that change"


@dataclass(frozen=True, slots=True)
class TableSink:
    """Sink of a table.

    Attributes:
        sink: Takes the rows, or what `records` makes of them.
        records: From a row to a record; None if it takes rows.
        record_type: Type of what `records` makes.
    """

    sink: Sink
    takes: Takes
    records: Callable[[Row], Any] | None = None
    record_type: TypeInformation | None = None


def inserts_only(_: TableDefinition) -> Changelog:
    """Return the changelog of tables whose rows are only added."""
    return Changelog.INSERT_ONLY


def upserts(_: TableDefinition) -> Changelog:
    """Return the changelog of tables whose rows replace the ones of their keys."""
    return Changelog.UPSERT


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector.

    Attributes:
        name: As in the option `connector`.
        summary: For docs/sql.md.
        options: Its options, without those of formats.
        source: Makes what a table is read from; None if it cannot be read.
        sink: Makes what a table is written to; None if it cannot be written.
        formats: Names of the formats that it may have; empty if it has none.
        metadata: Key of metadata to its types, of which the first is for docs/sql.md.
        changelog: Changelog mode of the rows that are read.
        is_partitioned: True if it divides its files by PARTITIONED BY.
    """

    name: str
    summary: str
    options: tuple[TableOption[Any], ...]
    source: Callable[[TableDefinition], TableSource] | None
    sink: Callable[[TableDefinition], TableSink] | None
    formats: tuple[str, ...] = ()
    metadata: Mapping[str, tuple[SqlType, ...]] | None = None
    changelog: Callable[[TableDefinition], Changelog] = inserts_only
    is_partitioned: bool = False
