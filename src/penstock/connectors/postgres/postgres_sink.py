"""The PostgreSQL sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from penstock.connectors.delivery import DeliveryGuarantee
from penstock.connectors.postgres.address import PostgresAddress, check_installed
from penstock.connectors.postgres.postgres_committer import PostgresCommitter
from penstock.connectors.postgres.staged_rows import StagedRowWriter
from penstock.connectors.postgres.statements import TableWrites
from penstock.connectors.postgres.values import TableName
from penstock.errors import ArgumentError
from penstock.graph.dataset import Dataset
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.graph.kept_outside import KeptOutside


class PostgresSinkBuilder:
    """Builds a `PostgresSink`.

    Example:
        >>> from penstock.datastream.connectors.postgres import PostgresSink
        >>> builder = PostgresSink.builder().set_dsn("dbname=shop").set_table("public.totals")
        >>> builder.set_columns("customer", "amount").set_upsert_keys("customer").build().describe()
        'postgres table public.totals by customer, exactly-once'
        >>> builder.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE).build().describe()
        'postgres table public.totals by customer, at-least-once'
    """

    def __init__(self) -> None:
        check_installed("PostgresSink")
        self._address: PostgresAddress | None = None
        self._table: TableName | None = None
        self._columns: tuple[str, ...] = ()
        self._keys: tuple[str, ...] = ()
        self._guarantee = DeliveryGuarantee.EXACTLY_ONCE

    def set_dsn(self, dsn: str) -> PostgresSinkBuilder:
        """Set how to connect.

        Args:
            dsn: As libpq understands it: `host=… dbname=… user=…`, or `postgresql://…`; no message shows its password.

        Raises:
            ArgumentError: It is malformed.
        """
        self._address = PostgresAddress.of(dsn)
        return self

    def set_table(self, table: str) -> PostgresSinkBuilder:
        """Set the table; it has to be there.

        Args:
            table: Its name, as `schema.table`; without a schema it is in `public`.

        Raises:
            ArgumentError: It is empty, or no string.
        """
        if not isinstance(table, str) or not table:
            raise ArgumentError.here(
                f"the table is {table!r}", hint="Pass a name, such as 'public.totals'."
            )
        self._table = TableName.of(table)
        return self

    def set_columns(self, *columns: str) -> PostgresSinkBuilder:
        """Set the columns that are written. A tuple has their values in this order; a Row or dict by its names.

        Args:
            columns: Names of columns of the table.

        Raises:
            ArgumentError: There is none, or one is there twice.
        """
        self._columns = _names(columns, "columns")
        return self

    def set_upsert_keys(self, *keys: str) -> PostgresSinkBuilder:
        """Write one row per key: the newest of an epoch replaces the one in the table; a Row of the kind DELETE removes it.

        Args:
            keys: Columns on which the table has a unique index.

        Raises:
            ArgumentError: There is none, or one is there twice.
        """
        self._keys = _names(keys, "keys")
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> PostgresSinkBuilder:
        """Set what is promised of each record; the default is EXACTLY_ONCE.

        Args:
            delivery_guarantee: `EXACTLY_ONCE` or `AT_LEAST_ONCE`.

        Raises:
            ArgumentError: It is neither.
        """
        wanted = (DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE)
        if delivery_guarantee not in wanted:
            raise ArgumentError.here(
                f"set_delivery_guarantee got {delivery_guarantee!r}",
                hint="Pass DeliveryGuarantee.EXACTLY_ONCE or AT_LEAST_ONCE.",
            )
        self._guarantee = delivery_guarantee
        return self

    def build(self) -> PostgresSink:
        """Return the sink.

        Raises:
            ArgumentError: Something that it needs was not set, or a key is no column.
        """
        missing = {
            "the database": (self._address, "set_dsn"),
            "its table": (self._table, "set_table"),
            "its columns": (self._columns, "set_columns"),
        }
        for what, (value, method) in missing.items():
            if not value:
                raise ArgumentError.here(
                    f"the builder of a PostgreSQL sink does not know {what}",
                    hint=f"Call {method} first.",
                )
        if not {*self._keys} <= {*self._columns}:
            raise ArgumentError.here(
                f"the keys {list(self._keys)} are not all among the columns {list(self._columns)}",
                hint="Write the columns of the keys, too.",
            )
        assert self._address is not None, "it was checked"
        assert self._table is not None, "it was checked"
        writes = TableWrites(self._table, self._columns, self._keys)
        return PostgresSink(self._address, writes, self._guarantee)


@dataclass(frozen=True, slots=True)
class PostgresSink(Sink):
    """Writes records to a table of PostgreSQL, as they come or by key. Build one with `PostgresSink.builder()`.

    With `EXACTLY_ONCE` tasks stage rows in tables of the schema `penstock`, and the driver moves those of an epoch into the
    table in one transaction, which also says which epoch that was. With `AT_LEAST_ONCE` each task writes to the table at
    its end, so what is repeated is written again, which changes nothing if rows are written by key.

    Attributes:
        address: The database.
        writes: The table, its columns and keys.
        guarantee: What is promised of each record.

    Example:
        >>> sink = PostgresSink.builder().set_dsn("host=db.example dbname=shop")
        >>> sink = sink.set_table("orders").set_columns("id", "amount").build()
        >>> sink.describe()
        'postgres table public.orders, exactly-once'
    """

    address: PostgresAddress
    writes: TableWrites
    guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE

    kind: ClassVar[str] = "postgres"

    @staticmethod
    def builder() -> PostgresSinkBuilder:
        """Return a builder."""
        return PostgresSinkBuilder()

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer, for the task of `context`."""
        is_direct = self.guarantee is DeliveryGuarantee.AT_LEAST_ONCE
        return StagedRowWriter(self.address, self.writes, context, is_direct=is_direct)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return a committer; if the tasks write, it prepares and has nothing to commit."""
        return PostgresCommitter(self.address, self.writes, context)

    def kept_outside(self, context: SinkContext) -> Sequence[KeptOutside]:
        """Return staged rows, and the mark of the sink, as far as they are there.

        Raises:
            SinkError: The server does not answer.
        """
        return PostgresCommitter(self.address, self.writes, context).kept_outside()

    def datasets(self) -> Sequence[Dataset]:
        """Return its table."""
        return (self.address.dataset(self.writes.table),)

    def describe(self) -> str:
        """Return e.g. `postgres table public.totals by customer, exactly-once`."""
        keys = f" by {', '.join(self.writes.keys)}" if self.writes.keys else ""
        return f"postgres table {self.writes.name}{keys}, {self.guarantee.value}"


def _names(names: tuple[str, ...], what: str) -> tuple[str, ...]:
    if not names or len({*names}) < len(names) or not all(isinstance(n, str) and n for n in names):
        raise ArgumentError.here(
            f"the {what} are {list(names)}", hint="Pass names of columns, each once."
        )
    return names
