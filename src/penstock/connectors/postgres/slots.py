"""The replication slot and the publication of a source.

A slot makes the server keep its log from a position on. It belongs to one job: what it has confirmed, nobody can
read again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from penstock.connectors.postgres.address import PostgresAddress, library
from penstock.connectors.postgres.values import lsn_of, text_of
from penstock.errors import SourceError

LEAST_VERSION = 150_000
"""The first one whose publications say which columns and rows they have."""

_FAILOVER_VERSION = 170_000
_RELEASE_SECONDS = 10.0
_WATCH_SECONDS = 1.0
_WAITS = """\
select pid, coalesce(nullif(application_name, ''), 'a client without a name'), usename, state, backend_xid::text, xact_start::text
from pg_catalog.pg_stat_activity where pid = any(pg_blocking_pids(%s)) order by pid"""
_WAITED = "transaction {4} of process {0} ({1}, user {2}, {3}, open since {5})"
_logger = logging.getLogger("penstock")
_PAUSE_SECONDS = 0.05

_SERVER = """\
select current_setting('wal_level'), pg_is_in_recovery(), current_setting('server_version'),
       (select rolsuper or rolreplication from pg_catalog.pg_roles where rolname = current_user)
       or exists (select from pg_catalog.pg_roles
                  where rolname = 'rds_replication' and pg_has_role(oid, 'member'))"""

_SLOT = """\
select s.confirmed_flush_lsn::text, s.wal_status, s.active_pid, s.plugin, s.database, current_database(),
       case when pg_is_in_recovery() then null else pg_current_wal_flush_lsn()::text end,
       (select application_name from pg_catalog.pg_stat_activity where pid = s.active_pid)
from (select) as one left join pg_catalog.pg_replication_slots s on s.slot_name = %s"""


def check_server(connection: Any) -> None:
    """Refuse a server whose changes cannot be read.

    Raises:
        SourceError: It is too old, a standby, does not write what decoding needs, or the user may not.
    """
    level, is_standby, version, may = connection.execute(_SERVER).fetchone()
    if connection.info.server_version < LEAST_VERSION:
        raise SourceError(
            f"the server is PostgreSQL {version}, and changes are read from 15 on",
            hint="Upgrade the server, or read the table once: set_bounded().",
        )
    if is_standby:
        raise SourceError(
            "the server is a standby",
            hint="Connect to the primary, for example with target_session_attrs=primary.",
        )
    if level != "logical":
        raise SourceError(
            f"the server has wal_level={level}, so its log does not have what changes need",
            hint="ALTER SYSTEM SET wal_level = logical; then restart the server. Or read the table once: "
            "set_bounded().",
        )
    if not may:
        raise SourceError(
            "the user of the source may not make replication slots",
            hint="ALTER ROLE … REPLICATION (on RDS: GRANT rds_replication TO …).",
        )


@dataclass(frozen=True, slots=True)
class SlotState:
    """A slot as it is now.

    Attributes:
        confirmed: Up to where changes were confirmed.
        head: Position behind everything that was committed.
        active_pid: The process of the server that uses it; None if nobody does.
        used_by: The name of its client.
    """

    confirmed: int
    head: int
    active_pid: int | None
    used_by: str | None


def slot_state(connection: Any, slot: str) -> SlotState:
    """Return a slot.

    Raises:
        SourceError: It is gone or lost, or is of something else.
    """
    found = connection.execute(_SLOT, (slot,)).fetchone()
    confirmed, status, pid, plugin, database, here, head, user = found
    if plugin is None:
        raise gone(slot)
    if plugin != "pgoutput" or database != here:
        raise SourceError(
            f"replication slot {slot!r} is one of {plugin} in database {database!r}, not of this source",
            hint="Choose another name with set_slot.",
        )
    if status == "lost" or confirmed is None:
        raise SourceError(
            f"replication slot {slot!r} is lost: the server has removed log that it had not confirmed",
            hint="The job stood still for longer than max_slot_wal_keep_size allows. Raise it, "
            f"{drop_hint(slot)}, and start in a new checkpoint directory, which captures the tables anew.",
        )
    if head is None:
        raise SourceError(
            "the server has become a standby",
            hint="Connect to the primary, for example with target_session_attrs=primary.",
        )
    return SlotState(lsn_of(confirmed), lsn_of(head), pid, user)


def gone(slot: str) -> SourceError:
    """Return the error about a slot that is not there."""
    return SourceError(
        f"replication slot {slot!r} is gone: it was dropped, or the server is another one",
        hint="Before PostgreSQL 17 a slot does not survive a failover. What was changed since is known to nobody: "
        "start in a new checkpoint directory, which captures the tables anew.",
    )


def in_use(slot: str, state: SlotState) -> SourceError:
    """Return the error about a slot that somebody else uses."""
    return SourceError(
        f"replication slot {slot!r} is used by process {state.active_pid} of the server "
        f"({state.used_by or 'a client without a name'})",
        hint="A slot is of one job: give each source one of its own with set_slot, or end the other client.",
    )


def drop_hint(slot: str) -> str:
    """Return how to drop a slot, in words."""
    return f"drop the slot (`penstock drop JOB.PY JOB_DIR` of its job, or SELECT pg_drop_replication_slot('{slot}'))"


def has_slot(connection: Any, slot: str) -> bool:
    """Return whether there is a slot of a name."""
    asked = "select from pg_catalog.pg_replication_slots where slot_name = %s"
    return connection.execute(asked, (slot,)).fetchone() is not None


def drop_slot(connection: Any, slot: str) -> None:
    """Drop a slot, if it is there. A client that uses it is waited for, since it may be ending.

    Raises:
        SourceError: It is used by somebody.
    """
    until = time.monotonic() + _RELEASE_SECONDS
    while has_slot(connection, slot):
        try:
            connection.execute("select pg_drop_replication_slot(%s)", (slot,))
        except library().errors.UndefinedObject:
            return
        except library().errors.ObjectInUse:
            if time.monotonic() >= until:
                raise in_use(slot, slot_state(connection, slot)) from None
            time.sleep(_PAUSE_SECONDS)


def has_publication(connection: Any, name: str) -> bool:
    """Return whether there is a publication of a name."""
    asked = "select from pg_catalog.pg_publication where pubname = %s"
    return connection.execute(asked, (name,)).fetchone() is not None


def drop_publication(connection: Any, name: str) -> None:
    """Drop a publication, if it is there."""
    sql = library().sql
    connection.execute(sql.SQL("drop publication if exists {}").format(sql.Identifier(name)))


@dataclass(frozen=True, slots=True)
class ExportedSnapshot:
    """Content of the database at a position, for as long as its connection is open.

    Attributes:
        name: What other connections call it.
        position: Its position.
    """

    name: str
    position: int


@contextmanager
def _watched(address: PostgresAddress, slot: str, pid: int) -> Iterator[None]:
    """Log for which transactions the process that makes a slot waits: those that were open when it began."""
    is_made = threading.Event()

    def watch() -> None:
        told: list[Any] = []
        try:
            with address.connect(application_name="penstock watcher") as connection:
                while not is_made.wait(_WATCH_SECONDS):
                    found = connection.execute(_WAITS, (pid,)).fetchall()
                    if found and found != told:
                        told = found
                        words = ", ".join(_WAITED.format(*row) for row in found)
                        _logger.warning("replication slot %r waits for the end of %s", slot, words)
        except library().Error:
            return  # it is only told

    thread = threading.Thread(target=watch, name="penstock-slot", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_made.set()
        thread.join()


@contextmanager
def snapshot_of_slot(address: PostgresAddress, slot: str) -> Iterator[ExportedSnapshot]:
    """Make a slot, and yield the snapshot at which it begins."""
    with address.connect(
        replication="database", application_name="penstock snapshot"
    ) as connection:
        has_failover = connection.info.server_version >= _FAILOVER_VERSION
        options = "SNAPSHOT 'export', FAILOVER true" if has_failover else "SNAPSHOT 'export'"
        # The name was checked: the command knows no parameters.
        made = f"CREATE_REPLICATION_SLOT {slot} LOGICAL pgoutput ({options})"
        with _watched(address, slot, connection.info.backend_pid):
            _, position, name, _ = connection.execute(made).fetchone()
        yield ExportedSnapshot(name, lsn_of(position))


@contextmanager
def snapshot_now(address: PostgresAddress) -> Iterator[ExportedSnapshot]:
    """Yield a snapshot of now, without a slot."""
    with address.connect(application_name="penstock snapshot") as connection:
        connection.execute("begin isolation level repeatable read read only")
        (name,) = connection.execute("select pg_export_snapshot()").fetchone()
        yield ExportedSnapshot(name, 0)


def advance(connection: Any, slot: str, position: int) -> None:
    """Confirm what is before a position, unless that was done.

    Raises:
        SourceError: The slot is gone or lost.
    """
    if slot_state(connection, slot).confirmed < position:
        connection.execute(
            "select pg_replication_slot_advance(%s, %s::pg_lsn)", (slot, text_of(position))
        )
