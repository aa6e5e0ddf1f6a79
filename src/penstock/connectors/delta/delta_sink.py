"""The Delta sink and its committer.

Each epoch is one version of the table, with the mark of the epoch as application transaction. One file of the log
writes a version, and no writer replaces that file, so rows and mark become visible together. If two drivers write a
mark of one sink at the same time, one of them fails.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

from penstock.connectors.delta.staged_tables import (
    DELETED,
    StagedTable,
    StagedTableWriter,
    staging_of,
    table_schema,
    unkept_rules,
)
from penstock.connectors.delta.table_log import check_installed, delta_errors, library
from penstock.connectors.epoch_marks import EpochMark, EpochMarks
from penstock.connectors.local_path import local_path, sink_errors
from penstock.connectors.staged import SHARED, make_empty, remove_files, wrong_size
from penstock.errors import ArgumentError, CallSite, SinkError
from penstock.failpoint import failpoint
from penstock.graph.dataset import Dataset, files_at
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.types import TypeInformation
from penstock.wire.atomic_file import sync_directory


@dataclass(frozen=True, slots=True)
class TableForm:
    """The table that a sink writes.

    Attributes:
        partition_by: Columns by which it is partitioned.
        keys: Columns by which rows are merged; empty if they are appended.
        configuration: Properties that it gets if the sink makes it.
    """

    directory: Path
    partition_by: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    configuration: tuple[tuple[str, str], ...] = ()


class DeltaCommitter(Committer):
    """Adds or merges staged files, each epoch as one version."""

    def __init__(self, form: TableForm, context: SinkContext) -> None:
        self._form = form
        self._context = context
        self._staging = staging_of(form.directory, context)
        self._app = f"penstock-{context.job_id}-{context.sink_id}"
        self._compared: Any = None
        self._marks = EpochMarks("delta", context, self._visible)

    def recover(self) -> None:
        """Make the table if there is none, check it, and drop staged files."""
        directory, origin = self._form.directory, self._context.origin
        with sink_errors(directory, "prepare for staging", origin):
            make_empty(self._staging)
        with delta_errors(SinkError, directory, "make", origin):
            if not library().DeltaTable.is_deltatable(str(directory)):
                self._context.may_commit()
                library().DeltaTable.create(
                    str(directory),
                    schema=self._schema(),
                    partition_by=list(self._form.partition_by),
                    configuration=dict(self._form.configuration),
                )
        self._check(self._table())
        self._marks.recover()

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        """Make the rows of an epoch visible, unless they are."""
        staged: list[StagedTable] = sorted(
            committables, key=lambda file: (file.subtask, file.number)
        )
        write = self._merge if self._form.keys else self._append
        self._marks.commit(epoch, partial(write, staged) if staged else None)
        with sink_errors(self._form.directory, "remove staged files", self._context.origin):
            remove_files(self._staging, staged)

    def _append(self, staged: list[StagedTable], mark: EpochMark) -> None:
        directory = self._form.directory
        with sink_errors(directory, f"commit epoch {mark.epoch}", self._context.origin):
            for file in staged:
                path = self._staging / file.name
                if path.exists():
                    self._check_size(path, file)
                    path.replace(directory / file.name)
                else:
                    self._check_size(directory / file.name, file)
            sync_directory(directory)
        failpoint("delta.renamed")
        make = library().transaction.AddAction
        now_ms = time.time_ns() // 1_000_000
        actions = [
            make(
                path=file.name,
                size=file.size_bytes,
                partition_values=dict(file.partition),
                modification_time=now_ms,
                data_change=True,
                stats=json.dumps({"numRecords": file.row_count}),
            )
            for file in staged
        ]
        table = self._compared
        with self._errors(mark):
            self._context.may_commit()
            table.create_write_transaction(
                actions,
                mode="append",
                schema=table.schema(),
                partition_by=list(self._form.partition_by),
                commit_properties=self._properties(mark),
            )

    def _merge(self, staged: list[StagedTable], mark: EpochMark) -> None:
        rows = self._newest(staged)
        failpoint("delta.read")
        keys = " and ".join(f"t.{_quoted(name)} = s.{_quoted(name)}" for name in self._form.keys)
        values = {
            _in_backticks(name): f"s.{_quoted(name)}"
            for name in rows.column_names
            if name != DELETED
        }
        with self._errors(mark):
            self._context.may_commit()
            self._compared.merge(
                rows,
                keys,
                source_alias="s",
                target_alias="t",
                commit_properties=self._properties(mark),
            ).when_matched_delete(f"s.{DELETED}").when_matched_update(
                values
            ).when_not_matched_insert(values, f"not s.{DELETED}").execute()

    def _newest(self, staged: list[StagedTable]) -> pa.Table:
        """Return the last row of every key, in the order of tasks and of writing."""
        tables = []
        with sink_errors(self._form.directory, "read staged files", self._context.origin):
            for file in staged:
                self._check_size(self._staging / file.name, file)
                tables.append(pyarrow.parquet.read_table(self._staging / file.name))
        rows = pa.concat_tables(tables)
        order = rows.select(list(self._form.keys)).append_column(
            DELETED, pa.array(range(rows.num_rows), pa.int64())
        )
        last = order.group_by(list(self._form.keys)).aggregate([(DELETED, "max")])
        return rows.take(last.column(f"{DELETED}_max"))

    def _properties(self, mark: EpochMark) -> Any:
        transaction = library().Transaction(self._app, mark.value)
        return library().CommitProperties(
            custom_metadata={"penstock.epoch": mark.epoch}, app_transactions=[transaction]
        )

    def _visible(self) -> int | None:
        with delta_errors(SinkError, self._form.directory, "open", self._context.origin):
            # A commit is based on this version: a mark that another driver writes behind it is a
            # conflict, which the library refuses. A table that is opened later would have that mark already.
            self._compared = self._table()
            version: int | None = self._compared.transaction_version(self._app)
            return version

    def _table(self) -> Any:
        with delta_errors(SinkError, self._form.directory, "open", self._context.origin):
            return library().DeltaTable(str(self._form.directory))

    def _schema(self) -> pa.Schema:
        form, context = self._form, self._context
        return table_schema(context.type_info, form.partition_by, form.keys, context.origin)

    def _check(self, table: Any) -> None:
        """Refuse a table that has other columns."""
        there, ours = pa.schema(table.schema().to_arrow()), self._schema()
        wrong = [
            f"its column {field.name!r} is "
            + (
                "missing"
                if field.name not in there.names
                else f"{there.field(field.name).type}, and the stream's {field.type}"
            )
            for field in ours
            if field.name not in there.names or there.field(field.name).type != field.type
        ]
        partition_by = tuple(table.metadata().partition_columns)
        if partition_by != self._form.partition_by:
            wrong.append(f"it is partitioned by {partition_by}, and not {self._form.partition_by}")
        rules = [] if self._form.keys else unkept_rules(table)
        if rules:
            raise SinkError(
                f"the rules of the Delta table {self._form.directory} would not check appended rows: "
                f"{'; '.join(rules)}",
                hint="Use DeltaSink.upsert, which checks rows, drop the rules, or append to a table without rules.",
                origin=self._context.origin,
            )
        if wrong:
            raise SinkError(
                f"the Delta table {self._form.directory} does not fit the stream: {'; '.join(wrong)}",
                hint="Map the records to the columns of the table, or name another path.",
                origin=self._context.origin,
            )

    def _check_size(self, path: Path, staged: StagedTable) -> None:
        size = path.stat().st_size
        if size != staged.size_bytes:
            origin = self._context.origin
            raise wrong_size(path, size, staged.size_bytes, SHARED.format("table"), origin)

    def _errors(self, mark: EpochMark) -> Any:
        doing = f"commit epoch {mark.epoch} of sink {self._context.name!r} to"
        return delta_errors(SinkError, self._form.directory, doing, self._context.origin)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _in_backticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True)
class DeltaSink(Sink):
    """Writes rows to a Delta table, each exactly once: an epoch is one version of the table.

    The stream needs a declared row or tuple type. A table that is not there is made with its columns.

    Attributes:
        form: The table.

    Example:
        >>> DeltaSink.append("/data/orders", partition_by=["day"]).describe()
        'delta table /data/orders'
    """

    form: TableForm

    kind: ClassVar[str] = "delta"

    @staticmethod
    def append(
        path: str | os.PathLike[str],
        partition_by: Sequence[str] = (),
        configuration: Mapping[str, str] | None = None,
    ) -> DeltaSink:
        """Return a sink that adds rows.

        Args:
            path: Directory of the table: a path or a `file:` URI that the driver and all workers see.
            partition_by: Columns by which it is partitioned, of strings, integers, booleans or dates.
            configuration: Properties of the table, if it is made.

        Raises:
            ArgumentError: The path names another kind of storage, or the columns are no names.
            MissingConnectorError: The package `deltalake` is not installed.

        Example:
            >>> DeltaSink.append("/data/orders").form.keys
            ()
        """
        return _sink(path, partition_by, (), configuration)

    @staticmethod
    def upsert(
        path: str | os.PathLike[str],
        keys: Sequence[str],
        partition_by: Sequence[str] = (),
        configuration: Mapping[str, str] | None = None,
    ) -> DeltaSink:
        """Return a sink that merges rows by key: the newest row of a key replaces the one before.

        A row of kind `DELETE` deletes its key, and one of kind `UPDATE_BEFORE` is left out.

        Args:
            path: Directory of the table: a path or a `file:` URI that the driver and all workers see.
            keys: Columns by which rows are merged; they are never null.
            partition_by: Columns by which it is partitioned, of strings, integers, booleans or dates.
            configuration: Properties of the table, if it is made.

        Raises:
            ArgumentError: There is no key, the path names another kind of storage, or the columns are no names.
            MissingConnectorError: The package `deltalake` is not installed.

        Example:
            >>> DeltaSink.upsert("/data/totals", keys=["customer"]).form.keys
            ('customer',)
        """
        if not keys:
            raise ArgumentError.here(
                "upsert got no keys", hint="Name the columns by which rows are merged."
            )
        return _sink(path, partition_by, keys, configuration)

    def check(self, type_info: TypeInformation, origin: CallSite | None) -> None:
        """Check that a table can hold records of a type.

        Args:
            type_info: Type of the records.
            origin: The user's line, for the error.

        Raises:
            GraphError: It cannot.
        """
        table_schema(type_info, self.form.partition_by, self.form.keys, origin)

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer of staged files, for the task of `context`."""
        form = self.form
        return StagedTableWriter(form.directory, context, form.partition_by, form.keys)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return the committer that writes versions."""
        return DeltaCommitter(self.form, context)

    def beside(self, directory: str) -> DeltaSink:
        """Return the sink with a table in another directory.

        Args:
            directory: The directory.
        """
        return DeltaSink(replace(self.form, directory=local_path(directory)))

    def datasets(self) -> Sequence[Dataset]:
        """Return the directory of the table."""
        written = files_at(self.form.directory)
        return (replace(written, format=self.kind, keys=self.form.keys),)

    def describe(self) -> str:
        """Return e.g. `delta table /data/orders by customer`."""
        by = f" by {', '.join(self.form.keys)}" if self.form.keys else ""
        return f"delta table {self.form.directory}{by}"


def _sink(
    path: str | os.PathLike[str],
    partition_by: Sequence[str],
    keys: Sequence[str],
    configuration: Mapping[str, str] | None,
) -> DeltaSink:
    check_installed("DeltaSink")
    for names in (partition_by, keys):
        if isinstance(names, str) or any(not isinstance(name, str) for name in names):
            raise ArgumentError.here(
                f"columns of a Delta table are {names!r}", hint="Pass a list of names."
            )
    properties = tuple(sorted((configuration or {}).items()))
    form = TableForm(local_path(path), tuple(partition_by), tuple(keys), properties)
    return DeltaSink(form)
