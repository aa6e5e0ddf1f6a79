"""The PostgreSQL sink and its committer: one transaction per epoch has the rows and the mark of the epoch.

    update penstock.epochs …      the commit makes the whole epoch visible
    insert into … select …        rows of all tasks, or the newest one of each key
    drop table …                  the staged rows

The row of the sink in `penstock.epochs` names the driver that may write it. A replaced driver finds another one
there; the driver that takes over waits for the end of its transaction. The server ends one that is open and idle for ten
seconds, because its driver is frozen, or its machine is gone. A driver that was only slow repeats it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from penstock.connectors.client_library import check_set
from penstock.connectors.epoch_marks import DeliveryGuarantee, EpochMark, EpochMarks
from penstock.connectors.postgres.client import (
    PostgresAddress,
    check_installed,
    library,
    new_session,
    patiently,
    postgres_errors,
)
from penstock.connectors.postgres.staged_rows import (
    HAS_MARKS,
    IS_MARKED,
    LIMIT,
    MARK,
    OWN,
    RAISE,
    SCHEMA,
    SET_UP,
    STAGED,
    UNMARK,
    StagedRows,
    StagedRowWriter,
    TableWrites,
    drop_stage,
    stage_prefix,
)
from penstock.connectors.postgres.values import TableName, quoted
from penstock.errors import ArgumentError, JobFencedError, SinkError
from penstock.failpoint import failpoint
from penstock.graph.dataset import Dataset
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.graph.log_values import KeptOutside


class PostgresCommitter(Committer):
    """Makes staged rows visible, each epoch in one transaction."""

    def __init__(self, address: PostgresAddress, writes: TableWrites, context: SinkContext) -> None:
        """Begin without a connection."""
        self._address = address
        self._writes = writes
        self._context = context
        self._writer = f"{context.job_id}/{context.sink_id}"
        self._owner = uuid.uuid4().hex
        self._connection: Any = None
        self._is_owner = False
        self._marks = EpochMarks("postgres", context, self._visible)

    def recover(self) -> None:
        """Take over from earlier drivers, drop what they have staged, and check the table."""
        with self._errors("prepare"):
            patiently(self._recover)

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        """Make the rows of an epoch visible, unless they are."""
        staged: list[StagedRows] = sorted(committables, key=lambda rows: rows.subtask)
        if not staged:
            return  # a mark would be a change of the database, and so another epoch of a source of it
        with self._errors(f"commit epoch {epoch} of"):
            patiently(partial(self._commit, epoch, [rows.table for rows in staged]))

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def kept_outside(self) -> list[KeptOutside]:
        """Return staged rows, and the mark of the sink, as far as they are there."""
        of_sink = (SCHEMA, stage_prefix(self._context))
        where = self._address.describe()
        with self._errors("find the resources for"), self._new_session() as session:
            stages = [name for (name,) in session.execute(STAGED, of_sink).fetchall()]
            has_marks = session.execute(HAS_MARKS).fetchone() == (True,)
            is_marked = has_marks and session.execute(IS_MARKED, (self._writer,)).fetchone()
        kept = [
            KeptOutside(
                f"staged rows {SCHEMA}.{name} of {where}", partial(self._drop, drop_stage(name), ())
            )
            for name in stages
        ]
        if is_marked:
            row = f"row {self._writer!r} of {SCHEMA}.epochs of {where}"
            kept.append(KeptOutside(row, partial(self._drop, UNMARK, (self._writer,))))
        return kept

    def _drop(self, statement: Any, values: tuple[Any, ...]) -> None:
        with self._errors("drop the resources for"), self._new_session() as session:
            session.execute(statement, values)

    @contextmanager
    def _new_session(self) -> Iterator[Any]:
        session = new_session(self._address, "drop")
        try:
            yield session
        finally:
            session.close()

    def _recover(self) -> None:
        self._marks.recover()
        with self._session() as session:
            try:
                session.execute(self._writes.check())
            except library().errors.InvalidColumnReference:
                raise self._no_index() from None
            of_sink = (SCHEMA, stage_prefix(self._context))
            for (name,) in session.execute(STAGED, of_sink).fetchall():
                session.execute(drop_stage(name))
        failpoint("postgres.recovered")

    def _commit(self, epoch: str, stages: list[str]) -> None:
        self._marks.commit(epoch, partial(self._write, stages))
        with self._session() as session:
            for stage in stages:  # of an epoch that was visible, and computed again
                session.execute(drop_stage(stage))

    def _write(self, stages: list[str], mark: EpochMark) -> None:
        with self._session() as session, session.transaction():
            session.execute(LIMIT)
            mark_of_writer = (mark.value, self._writer, self._owner)
            if session.execute(RAISE, mark_of_writer).fetchone() is None:
                raise self._fenced()
            failpoint("postgres.marked")
            for statement in self._writes.commit(stages):
                session.execute(statement)
            for stage in stages:
                session.execute(drop_stage(stage))
            failpoint("postgres.written")

    def _visible(self) -> int | None:
        """Return the mark in the database; become the only driver that writes, if this one is not yet."""
        with self._session() as session:
            if not self._is_owner:
                self._context.may_commit()
                with session.transaction():
                    for statement in SET_UP:
                        session.execute(statement)
                    session.execute(OWN, (self._writer, self._owner))
                self._is_owner = True
            row = session.execute(MARK, (self._writer, self._owner)).fetchone()
        if row is None:
            raise self._fenced()
        mark: int | None = row[0]
        return mark

    @contextmanager
    def _session(self) -> Iterator[Any]:
        """Yield the connection, which is closed if the block fails."""
        if self._connection is None or self._connection.closed:
            self._connection = new_session(self._address, "committer")
        try:
            yield self._connection
        except BaseException:
            self.close()
            raise

    def _fenced(self) -> JobFencedError:
        return JobFencedError(
            f"another driver writes the epochs of sink {self._context.name!r}, or its row in penstock.epochs was removed",
            hint="If another driver has taken the job over, this one may end. Otherwise start the job again.",
        )

    def _no_index(self) -> SinkError:
        writes, keys = self._writes, ", ".join(self._writes.keys)
        return SinkError(
            f"table {writes.name} has no unique index on the keys ({keys}) of sink {self._context.name!r}",
            hint=f"ALTER TABLE {writes.table.quoted} ADD UNIQUE ({', '.join(map(quoted, writes.keys))}); or name the columns of another index.",
            origin=self._context.origin,
        )

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        described = f"{doing} table {self._writes.name} (sink {self._context.name!r})"
        return postgres_errors(SinkError, self._address, described, self._context.origin)


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
        accepted = (DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE)
        if delivery_guarantee not in accepted:
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
        needed = {
            "the database": (self._address, "set_dsn"),
            "its table": (self._table, "set_table"),
            "its columns": (self._columns, "set_columns"),
        }
        check_set("a PostgreSQL sink", needed)
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

    With `EXACTLY_ONCE` tasks stage rows in tables of the schema `penstock`. The driver moves the rows of an epoch into
    the table in one transaction, which also records the epoch. With `AT_LEAST_ONCE` each task writes to the table at
    its end. A repeated task writes its rows again, which leaves the table unchanged if rows are written by key.

    Attributes:
        address: The database.
        writes: The table, its columns and keys.
        guarantee: The delivery guarantee.

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
