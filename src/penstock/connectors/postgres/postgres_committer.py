"""The committer of a PostgreSQL sink: one transaction per epoch has its rows and the mark of the epoch.

    update penstock.epochs …      the epoch is visible with the commit, or nothing of it
    insert into … select …        rows of all tasks, or the newest one of each key
    drop table …                  what was staged

The row of the sink in `penstock.epochs` has the driver that may write it. A driver that was replaced finds another one
there; whoever takes over waits for the end of its transaction.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from penstock.connectors.epoch_marks import EpochMark, EpochMarks
from penstock.connectors.postgres.address import PostgresAddress, library
from penstock.connectors.postgres.client import new_session, patiently, postgres_errors
from penstock.connectors.postgres.staged_rows import StagedRows, stage_prefix
from penstock.connectors.postgres.statements import (
    HAS_MARKS,
    IS_MARKED,
    MARK,
    OWN,
    RAISE,
    SCHEMA,
    SET_UP,
    STAGED,
    UNMARK,
    TableWrites,
    drop_stage,
)
from penstock.connectors.postgres.values import quoted
from penstock.errors import JobFencedError, SinkError
from penstock.failpoint import failpoint
from penstock.graph.endpoints import Committer, SinkContext
from penstock.graph.kept_outside import KeptOutside


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
        directory = context.mounted_scratch / "postgres" / context.sink_id
        self._marks = EpochMarks("postgres", directory, context, self._visible)

    def recover(self) -> None:
        """Take over from earlier drivers, drop what they have staged, and check the table.

        Raises:
            SinkError: The server does not answer, the table cannot be written, or its mark is lost.
        """
        with self._errors("prepare"):
            patiently(self._recover)

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        """Make the rows of an epoch visible, unless they are.

        Raises:
            SinkError: The server does not answer, or refuses a row.
            JobFencedError: Another driver has taken over.
        """
        staged: list[StagedRows] = sorted(committables, key=lambda each: each.subtask)
        if not staged:
            return  # a mark would be a change of the database, and so another epoch of a source of it
        with self._errors(f"commit epoch {epoch} of"):
            patiently(partial(self._commit, epoch, [each.table for each in staged]))

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def kept_outside(self) -> list[KeptOutside]:
        """Return staged rows, and the mark of the sink, as far as they are there.

        Raises:
            SinkError: The server does not answer.
        """
        asked = (SCHEMA, stage_prefix(self._context))
        where = self._address.describe()
        with self._errors("look for what is kept for"), self._new_session() as session:
            stages = [name for (name,) in session.execute(STAGED, asked).fetchall()]
            has_marks = session.execute(HAS_MARKS).fetchone() == (True,)
            is_marked = has_marks and session.execute(IS_MARKED, (self._writer,)).fetchone()
        found = [
            KeptOutside(
                f"staged rows {SCHEMA}.{name} of {where}", partial(self._drop, drop_stage(name), ())
            )
            for name in stages
        ]
        if is_marked:
            row = f"row {self._writer!r} of {SCHEMA}.epochs of {where}"
            found.append(KeptOutside(row, partial(self._drop, UNMARK, (self._writer,))))
        return found

    def _drop(self, statement: Any, values: tuple[Any, ...]) -> None:
        with self._errors("drop what is kept for"), self._new_session() as session:
            session.execute(statement, values)

    @contextmanager
    def _new_session(self) -> Iterator[Any]:
        made = new_session(self._address, "drop")
        try:
            yield made
        finally:
            made.close()

    def _recover(self) -> None:
        self._marks.recover()
        with self._session() as session:
            try:
                session.execute(self._writes.check())
            except library().errors.InvalidColumnReference:
                raise self._no_index() from None
            asked = (SCHEMA, stage_prefix(self._context))
            for (name,) in session.execute(STAGED, asked).fetchall():
                session.execute(drop_stage(name))
        failpoint("postgres.recovered")

    def _commit(self, epoch: str, stages: list[str]) -> None:
        self._marks.commit(epoch, partial(self._write, stages))
        with self._session() as session:
            for stage in stages:  # of an epoch that was visible, and computed again
                session.execute(drop_stage(stage))

    def _write(self, stages: list[str], mark: EpochMark) -> None:
        with self._session() as session, session.transaction():
            asked = (mark.value, self._writer, self._owner)
            if session.execute(RAISE, asked).fetchone() is None:
                raise self._fenced()
            failpoint("postgres.marked")
            for statement in self._writes.commit(stages):
                session.execute(statement)
            for stage in stages:
                session.execute(drop_stage(stage))
            failpoint("postgres.written")

    def _visible(self) -> int | None:
        """Return the mark in the database; become the only driver that writes, if this one is not yet.

        Raises:
            JobFencedError: Another driver has taken over.
        """
        with self._session() as session:
            if not self._is_owner:
                self._context.may_commit()
                with session.transaction():
                    for statement in SET_UP:
                        session.execute(statement)
                    session.execute(OWN, (self._writer, self._owner))
                self._is_owner = True
            found = session.execute(MARK, (self._writer, self._owner)).fetchone()
        if found is None:
            raise self._fenced()
        mark: int | None = found[0]
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
