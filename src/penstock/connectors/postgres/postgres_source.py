"""The source of PostgreSQL: tables as they are when the job starts, then their changes."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from penstock.connectors.postgres.beyond import ERROR
from penstock.connectors.postgres.capture import Capture, captured_rows
from penstock.connectors.postgres.changes import ChangeReader
from penstock.connectors.postgres.client import (
    PATIENCE_SECONDS,
    PostgresAddress,
    library,
    patiently,
    postgres_errors,
    session,
)
from penstock.connectors.postgres.deserializing import ChangeDeserializer, PlainChanges
from penstock.connectors.postgres.postgres_source_builder import PostgresSourceBuilder
from penstock.connectors.postgres.slots import (
    KINDS,
    advance,
    check_kinds,
    check_server,
    check_unchanged,
    drop_hint,
    drop_publication,
    drop_slot,
    has_publication,
    has_slot,
    in_use,
    known_id,
    make_publication,
    publication_of,
    slot_state,
    snapshot_now,
    snapshot_of_slot,
    split_id,
    table_oids,
)
from penstock.connectors.postgres.tables import published, table_of
from penstock.connectors.postgres.values import Run, SourceTable, TableName, TableRows, quoted
from penstock.errors import SourceError
from penstock.failpoint import failpoint
from penstock.graph.dataset import Dataset
from penstock.graph.log_source import LogSource
from penstock.graph.log_values import KeptOutside, LogBatch, LogSnapshot, LogSplit
from penstock.types import TypeInformation

_ATTEMPT = "attempt"
"""File in the directory of a snapshot: from here on slot and publication are ours."""

_ONCE = "rows"
"""Id of the only split of a source without changes."""

_OF_SHADOW = "_shadow"
_SLOT_LENGTH = 63 - len(_OF_SHADOW)
"""Characters that PostgreSQL keeps of the name of a slot, but for the end."""


@dataclass(frozen=True, slots=True)
class PostgresSource(LogSource):
    """Reads tables of PostgreSQL: their rows when the job starts, and every change since, each once.

    Build one with `PostgresSource.builder()`. Records are `Change`s unless the builder has another deserializer. Their
    timestamps are those of commits; rows of the snapshot have the time of the snapshot.

    The source captures the rows in the job's directory, which is the history of the job. Then it reads changes from its
    own replication slot, in order of commits. It reads the changes of one transaction together.

    Attributes:
        address: The database.
        tables: The tables.
        slot: Name of the replication slot; empty without changes.
        publication: Name of the publication; empty is one of the slot's name, which the source makes.
        deserializer: Makes records of changes.
        is_once: True if changes are not read.
        connections: Number of connections that capture at the same time.
        is_truncate_ignored: True if a TRUNCATE of a table is passed over.
        kinds: Kinds of changes that are published.
        beyond: Policy for dates and times that Python does not have: one of `beyond.POLICIES`.
        accepted: Text of a publication that was changed, with which the job goes on all the same.
        records_per_second: Limit of the rate of a live run; None reads as fast as it can.

    Example:
        >>> source = PostgresSource.builder().set_dsn("host=db.example dbname=shop user=etl")
        >>> source = source.set_tables("public.orders").set_slot("shop_orders").build()
        >>> source.describe()
        'postgres table public.orders'
    """

    address: PostgresAddress
    tables: tuple[TableName, ...]
    slot: str = ""
    publication: str = ""
    deserializer: ChangeDeserializer = field(default_factory=PlainChanges)
    is_once: bool = False
    connections: int = 4
    is_truncate_ignored: bool = False
    kinds: tuple[str, ...] = KINDS
    accepted: str = ""
    beyond: str = ERROR
    records_per_second: int | None = None

    kind: ClassVar[str] = "postgres"
    is_single: ClassVar[bool] = False
    counts_records: ClassVar[bool] = False
    discovery_seconds: ClassVar[float] = 0.02

    @staticmethod
    def builder() -> PostgresSourceBuilder[PostgresSource]:
        """Return a builder."""
        return PostgresSourceBuilder(PostgresSource)

    @property
    def is_bounded(self) -> bool:
        """True if it ends: with the rows that there are."""
        return self.is_once

    @property
    def is_confirmed(self) -> bool:
        """True if there is a slot to advance."""
        return not self.is_once

    @property
    def has_declared_form(self) -> bool:  # type: ignore[override]
        """True if records have the declared form already: values are the database's."""
        return False

    @property
    def makes_records_anew(self) -> bool:  # type: ignore[override]
        """True if records are new every time."""
        return self.deserializer.is_ours

    def get_produced_type(self) -> TypeInformation:
        """Return that of the deserializer."""
        return self.deserializer.get_produced_type()

    def snapshot(self, directory: Path) -> LogSnapshot:
        """Capture the tables; make slot and publication.

        It first removes leftovers of an earlier call in the directory and the database.

        Args:
            directory: Where files are written.
        """
        described = f"capture {self.describe()}"
        with postgres_errors(SourceError, self.address, described):
            with session(self.address, "driver") as connection:
                tables = self._begin(connection, directory)
            if self.is_once:
                with snapshot_now(self.address) as taken:
                    files = self._captured(taken.name, taken.position, directory, tables)
                return LogSnapshot(files, {_ONCE: 0})
            try:
                return self._with_slot(directory, tables)
            except library().errors.DuplicateObject:
                # Without the file, the next attempt does not claim objects of another user.
                (directory / _ATTEMPT).unlink()
                raise
            except BaseException:
                # A slot keeps the server's log, so it must not stay if the job never starts again.
                with contextlib.suppress(SourceError, library().Error):
                    self._remove()
                raise

    def sample_snapshot(self, directory: Path, records: int) -> LogSnapshot:
        """Capture the first rows of each table in read-only transactions, without slot and publication.

        Args:
            directory: Where files are written.
            records: Most rows of a table.
        """
        with postgres_errors(SourceError, self.address, f"sample {self.describe()}"):
            with session(self.address, "driver") as connection:
                tables = self._tables(connection)
            with snapshot_now(self.address) as taken:
                capture = Capture(self.address, taken.name, taken.position, directory)
                return LogSnapshot(capture.first_files(tables, records), {})

    def read_snapshot(self, file: Path, start: int, end: int) -> LogBatch:
        """Return rows of a captured file; see `LogSource.read_snapshot`."""
        rows = captured_rows(file, start, end, self.beyond)
        records, times = self.deserializer.deserialized_rows(rows)
        return LogBatch(records, start + len(rows), times)

    def discover(self, known: Mapping[str, int]) -> Sequence[LogSplit]:
        """Return the slot as the only split: from what is confirmed to what is committed."""
        if self.is_once:
            return [LogSplit(_ONCE, 0, 0)]
        with self._errors("look at"):
            name, state = patiently(partial(self._state, known_id(self.slot, known)))
        return [LogSplit(name, state.confirmed, max(state.head, state.confirmed))]

    def read(self, split: str, start: int, end: int) -> LogBatch:
        """Return the changes of a range; see `LogSource.read`."""
        with self._errors("read"):
            changes, following = patiently(partial(self._read, start, end))
        return self._made(changes, following)

    def confirm(self, positions: Mapping[str, int]) -> None:
        """Advance the slot, so that the server may remove its log up to there.

        Args:
            positions: The slot, and the position that the job has read to.
        """
        if self.is_once:
            return
        with self._errors("advance"):
            patiently(
                partial(self._advance, positions[known_id(self.slot, positions) or self.slot])
            )

    def kept_outside(self) -> Sequence[KeptOutside]:
        """Return the slot, and the publication if the source made it, as far as they are there.

        Raises:
            SourceError: The server does not answer.
        """
        if self.is_once:
            return ()
        kept, where = list[KeptOutside](), self.address.describe()
        with self._errors("look for"), session(self.address, "driver") as connection:
            if has_slot(connection, self.slot):
                kept.append(KeptOutside(f"replication slot {self.slot!r} of {where}", self.drop))
            if not self.publication and has_publication(connection, self._publication):
                what = f"publication {self._publication!r} of {where}"
                kept.append(KeptOutside(what, self.drop))
        return kept

    def drop(self) -> None:
        """Drop the slot, and the publication if the source made it. No job of it can go on then.

        Raises:
            SourceError: The server does not answer, or the slot is used.
        """
        with self._errors("drop"):
            self._remove()

    def beside(self) -> PostgresSource:
        """Return the source with a slot of its own, which begins with a snapshot of its own."""
        slot = self.slot if self.is_once else f"{self.slot[:_SLOT_LENGTH]}{_OF_SHADOW}"
        return replace(self, slot=slot)

    def datasets(self) -> Sequence[Dataset]:
        """Return its tables."""
        return tuple(self.address.dataset(table) for table in self.tables)

    def describe(self) -> str:
        """Return e.g. `postgres table public.orders`."""
        named = ", ".join(map(str, self.tables))
        return f"postgres table{'s' if len(self.tables) > 1 else ''} {named}"

    @property
    def _publication(self) -> str:
        return self.publication or self.slot

    def _begin(self, connection: Any, directory: Path) -> list[SourceTable]:
        """Check everything, and remove what an earlier call has left."""
        attempt = directory / _ATTEMPT
        if not self.is_once:
            check_server(connection)
            if attempt.exists():
                self._remove_from(connection)
            elif has_slot(connection, self.slot):
                raise self._taken(connection)
            elif not self.publication and has_publication(connection, self._publication):
                raise self._published_by_others()
        tables = self._tables(connection)
        for left_over in directory.iterdir():
            if left_over != attempt:
                left_over.unlink()
        attempt.touch()
        failpoint("postgres.begun")
        return tables

    def _tables(self, connection: Any) -> list[SourceTable]:
        """Return the tables, with the columns and rows of a publication that is not the source's own."""
        tables = [table_of(connection, name, has_changes=not self.is_once) for name in self.tables]
        if self.is_once or not self.publication:
            return tables
        self._check_publication(connection, tables)
        return [published(connection, self.publication, table) for table in tables]

    def _check_publication(self, connection: Any, tables: Sequence[SourceTable]) -> None:
        publication = publication_of(connection, self.publication, self.tables)
        if publication is None:
            return  # `published` reports it
        check_kinds(publication, self.publication, self.kinds)
        partitioned = [str(table.name) for table in tables if table.is_partitioned]
        if partitioned and not publication.is_via_root:
            raise SourceError(
                f"publication {self.publication!r} has changes of {', '.join(partitioned)} as those of partitions",
                hint=f"ALTER PUBLICATION {quoted(self.publication)} SET (publish_via_partition_root = true).",
            ).permanent()

    def _taken(self, connection: Any) -> SourceError:
        state = slot_state(connection, self.slot)
        if state.active_pid is not None:
            return in_use(self.slot, state)
        return SourceError(
            f"replication slot {self.slot!r} is there already, and this job has not made it",
            hint="It belongs to another job, or to an abandoned one. Choose another name with set_slot, start from "
            f"a savepoint of that job, or {drop_hint(self.slot)}",
        )

    def _published_by_others(self) -> SourceError:
        return SourceError(
            f"publication {self._publication!r} is there already, and this job has not made it",
            hint="Choose another name with set_slot; or read by it: set_publication. If an abandoned job has left it: "
            f"DROP PUBLICATION {self._publication}.",
        )

    def _with_slot(self, directory: Path, tables: Sequence[SourceTable]) -> LogSnapshot:
        if not self.publication:
            with session(self.address, "driver") as connection:
                make_publication(connection, self._publication, tables, self.kinds)
            failpoint("postgres.published")
        with session(self.address, "driver") as connection:
            begun = publication_of(connection, self._publication, self.tables)
        if begun is None:
            raise SourceError(
                f"publication {self._publication!r} was dropped meanwhile", hint="Start again."
            )
        with snapshot_of_slot(self.address, self.slot) as taken:
            failpoint("postgres.slot-made")
            files = self._captured(taken.name, taken.position, directory, tables)
        failpoint("postgres.captured")
        return LogSnapshot(files, {split_id(self.slot, begun): taken.position})

    def _captured(
        self, snapshot: str, position: int, directory: Path, tables: Sequence[SourceTable]
    ) -> dict[str, int]:
        capture = Capture(self.address, snapshot, position, directory)
        return capture.files(tables, self.connections)

    def _made(self, runs: list[Run], following: int) -> LogBatch:
        records: list[Any] = []
        times: list[int] = []
        deserializer = self.deserializer
        for run in runs:
            if isinstance(run, TableRows):
                some, some_times = deserializer.deserialized_rows(run)
            else:
                some, some_times = deserializer.deserialized(run)
            records += some
            times += some_times
        return LogBatch(records, following, times)

    def _state(self, known: str | None) -> tuple[str, Any]:
        """Return the id of the split, and the slot."""
        where = self.address, self._publication, self.tables
        with session(self.address, "driver") as connection:
            state = slot_state(connection, self.slot)
            begun = None if known is None else known.partition("@")[2] or None
            text = check_unchanged(connection, *where, begun, self.accepted)
            return known or f"{self.slot}@{text}", state

    def _read(self, start: int, end: int) -> tuple[list[Run], int]:
        with session(self.address, f"reader of {self.slot}") as connection:
            return ChangeReader(
                connection,
                self.address,
                self.slot,
                self._publication,
                table_oids(connection, self.tables),
                ignores_truncate=self.is_truncate_ignored,
                owns_publication=not self.publication,
                beyond=self.beyond,
            ).read(start, end)

    def _advance(self, position: int) -> None:
        with session(self.address, "driver") as connection:
            advance(connection, self.slot, position)

    def _remove(self) -> None:
        with session(self.address, "driver") as connection:
            self._remove_from(connection)

    def _remove_from(self, connection: Any) -> None:
        drop_slot(connection, self.slot)
        if not self.publication:
            drop_publication(connection, self._publication)

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        return postgres_errors(
            SourceError,
            self.address,
            f"{doing} replication slot {self.slot!r} (after {PATIENCE_SECONDS:g} s, if it was in use)",
        )
