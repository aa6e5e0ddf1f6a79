"""The Delta sink."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from penstock.connectors.delta.delta_committer import DeltaCommitter, TableForm
from penstock.connectors.delta.library import check_installed
from penstock.connectors.delta.staged_tables import StagedTableWriter
from penstock.connectors.delta.table_types import table_schema
from penstock.connectors.local_path import local_path
from penstock.errors import ArgumentError, CallSite
from penstock.graph.dataset import Dataset, files_at
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.types.information import TypeInformation


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

    def datasets(self) -> Sequence[Dataset]:
        """Return the directory of the table."""
        return (files_at(self.form.directory),)

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
