"""Writers of staged Parquet files, which the driver adds to a Delta table or merges into it, and the types of such a table.

They are in `_penstock/<job_id>/<sink_id>/staging` below the table, where no reader looks: a file that is added
is moved within one file system.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from penstock.connectors.files.file_formats import SPECS, FileFormat
from penstock.connectors.files.file_writers import (
    ParquetRecordFile,
    columns_of_files,
    is_whole_column,
    record_batch,
)
from penstock.connectors.files.partitions import partition_text
from penstock.connectors.files.staged_files import LocalPartFile, MountedFiles
from penstock.errors import CallSite, GraphError, SinkError
from penstock.failpoint import failpoint
from penstock.graph.endpoints import SinkContext
from penstock.types import TypeInformation
from penstock.types.arrow import arrow_schema
from penstock.types.row import Row, RowKind

_REFUSED_CHARACTERS = frozenset(" ,;{}()\n\t=")
"""Characters refused in names of columns without column mapping."""

_CONSTRAINT = "delta.constraints."
_RULES_OF_A_COLUMN = ("delta.invariants", "delta.generationExpression", "delta.identity.")

_PARTITIONED_BY: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_string,
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_date,
)


def table_schema(
    type_info: TypeInformation,
    partition_by: Sequence[str],
    keys: Sequence[str],
    origin: CallSite | None,
) -> pa.Schema:
    """Return the columns of a table of records."""
    SPECS[FileFormat.PARQUET].check(type_info, origin)
    schema = arrow_schema(type_info)
    for problem, hint in (*_of_columns(schema), *_of_choice(schema, partition_by, keys)):
        raise GraphError(
            f"a Delta table cannot hold {type_info!r}: {problem}", hint=hint, origin=origin
        )
    return schema


def _of_columns(schema: pa.Schema) -> Iterator[tuple[str, str]]:
    rename = "Name the field with letters, digits and underscores."
    lower = [name.lower() for name in schema.names]
    for name in schema.names:
        if _REFUSED_CHARACTERS & set(name) or not name:
            yield f"a column cannot be called {name!r}", rename
        if lower.count(name.lower()) > 1:
            yield f"the name {name!r} differs from another one by case only", rename
    for field in schema:
        if _has_time(field.type):
            yield (
                f"field {field.name!r} has a time of day, which Delta does not have",
                "Map it to a string, or to a timestamp.",
            )


def _of_choice(
    schema: pa.Schema, partition_by: Sequence[str], keys: Sequence[str]
) -> Iterator[tuple[str, str]]:
    unknown = [name for name in (*partition_by, *keys) if name not in schema.names]
    if unknown:
        yield f"there is no field {unknown[0]!r}", f"Name one of {', '.join(schema.names)}."
        return
    for name in partition_by:
        if not any(holds(schema.field(name).type) for holds in _PARTITIONED_BY):
            yield (
                f"it cannot be partitioned by {name!r} of type {schema.field(name).type}",
                "Partition by strings, integers, booleans or dates.",
            )
    if len(partition_by) == len(schema):
        yield "every column is one of the partition", "Leave one out."
    for name in keys:
        if pa.types.is_nested(schema.field(name).type):
            yield f"the key {name!r} is {schema.field(name).type}", "Merge by simple values."


def _has_time(arrow: pa.DataType) -> bool:
    if pa.types.is_nested(arrow):
        return any(_has_time(arrow.field(n).type) for n in range(arrow.num_fields))
    return bool(pa.types.is_time(arrow))


def unkept_rules(table: Any) -> list[str]:
    """Return the rules of a table that remain unchecked in files that are appended as they are.

    The library checks the rows that it writes itself, as in a merge. It accepts finished files unchecked.
    """
    configuration = table.metadata().configuration
    rules = [
        f"it has the constraint {key.removeprefix(_CONSTRAINT)!r}"
        for key in configuration
        if key.startswith(_CONSTRAINT)
    ]
    if configuration.get("delta.columnMapping.mode", "none") != "none":
        rules.append("it maps columns to other names")
    for field in table.schema().fields:
        if not field.nullable:
            rules.append(f"its column {field.name!r} must not be null")
        if any(key.startswith(_RULES_OF_A_COLUMN) for key in field.metadata):
            rules.append(f"its column {field.name!r} is checked or computed")
    return rules


DELETED = "_penstock_deleted"
_INSERTS = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER})

Partition = tuple[tuple[str, str | None], ...]
"""Partition column to its value, as the log has it."""


@dataclass(frozen=True, slots=True)
class StagedTable:
    """Handle of one file.

    Attributes:
        name: Name in the directory of staged files.
        subtask: Index of the task that wrote it.
        partition: Values of the partition columns of all of its rows.
    """

    name: str
    subtask: int
    number: int
    row_count: int
    size_bytes: int
    partition: Partition = ()


def staging_of(directory: Path, context: SinkContext) -> Path:
    """Return the directory of the staged files of a sink."""
    return directory / "_penstock" / context.job_id / context.sink_id / "staging"


class StagedTableWriter(MountedFiles[Partition, StagedTable]):
    """Writes the rows of one task: a file per partition, made on its first row."""

    def __init__(
        self,
        directory: Path,
        context: SinkContext,
        partition_by: tuple[str, ...],
        keys: tuple[str, ...],
    ) -> None:
        super().__init__(directory, context)
        self._staging = staging_of(directory, context)
        # A merge writes the files anew.
        self._partition_by = () if keys else partition_by
        self._keys = keys
        self._columns = columns_of_files(context.type_info, is_whole_column)

    def write(self, values: list[Any]) -> None:
        """Append rows; those of a changelog delete if they are merged."""
        values, deleted = self._split_kinds(values)
        if not values:
            return
        self._append(record_batch(self._context, values), deleted)

    def write_columns(self, batch: pa.RecordBatch) -> bool:
        """Append the rows of an Arrow batch, if it has the columns of the table."""
        rows = None if self._columns is None else self._columns.declared(batch)
        if rows is None:
            return False
        if rows.num_rows:
            self._append(rows, [False] * rows.num_rows)
        return True

    def _append(self, batch: pa.RecordBatch, deleted: list[bool]) -> None:
        if self._keys:
            self._check_keys(batch)
            batch = batch.append_column(DELETED, pa.array(deleted, pa.bool_()))
        with self._os_errors("write"):
            failpoint("delta.write")
            for partition, rows in self._divided(batch):
                begun = partial(self._begun, partition, rows.schema)
                self._file(partition, begun).write_columns(rows)

    def _split_kinds(self, values: list[Any]) -> tuple[list[Any], list[bool]]:
        """Return the records that are written, and which of them delete."""
        kinds = [
            value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT for value in values
        ]
        if self._keys:
            kept = [n for n, kind in enumerate(kinds) if kind is not RowKind.UPDATE_BEFORE]
            return [values[n] for n in kept], [kinds[n] is RowKind.DELETE for n in kept]
        if not _INSERTS.issuperset(kinds):
            raise SinkError(
                f"sink {self._context.name!r} appends rows, but got one that removes or replaces another: "
                f"{next(v for v, kind in zip(values, kinds, strict=True) if kind not in _INSERTS)!r}",
                hint="Use DeltaSink.upsert with the keys of the stream, or filter such rows out.",
                origin=self._context.origin,
            )
        return values, []

    def _check_keys(self, batch: pa.RecordBatch) -> None:
        for name in self._keys:
            if batch.column(batch.schema.get_field_index(name)).null_count:
                raise SinkError(
                    f"sink {self._context.name!r} merges by {name!r}, but a record has a null there, which "
                    "equals nothing",
                    hint="Filter such records out, or merge by fields that have values.",
                    origin=self._context.origin,
                )

    def _divided(self, batch: pa.RecordBatch) -> list[tuple[Partition, pa.RecordBatch]]:
        if not self._partition_by:
            return [((), batch)]
        names = batch.schema.names
        columns = [batch.column(names.index(name)).to_pylist() for name in self._partition_by]
        rows_by_key: dict[tuple[Any, ...], list[int]] = {}
        for row, key in enumerate(zip(*columns, strict=True)):
            rows_by_key.setdefault(key, []).append(row)
        kept = batch.select([name for name in names if name not in self._partition_by])
        return [
            (self._partition(key), kept.take(pa.array(rows, pa.int64())))
            for key, rows in rows_by_key.items()
        ]

    def _partition(self, key: tuple[Any, ...]) -> Partition:
        origin = self._context.origin
        return tuple(
            (name, partition_text(name, value, origin))
            for name, value in zip(self._partition_by, key, strict=True)
        )

    def _begun(self, partition: Partition, schema: pa.Schema) -> LocalPartFile[StagedTable]:
        def handle(name: str, row_count: int, size_bytes: int) -> StagedTable:
            number = len(self._finished)
            subtask = self._context.subtask
            return StagedTable(name, subtask, number, row_count, size_bytes, partition)

        def opened(file: BinaryIO, context: SinkContext) -> ParquetRecordFile:
            return ParquetRecordFile(file, context, schema)

        path = self._staging / f"part-{uuid.uuid4()}.parquet"
        return LocalPartFile(path, opened, self._context, handle)
