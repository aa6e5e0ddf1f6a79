"""The replication slot and the publication of a source.

A slot makes the server keep its log from a position on. It belongs to one job: no reader can read confirmed changes
again.

    shop_totals@16412.745.5e1c0f7a      id of the split: slot, and number, version and tables of the publication

Every record of positions contains the id, so a starting driver and a job from a savepoint compare with it, too. A row
of the catalogue that was changed, or removed and put back, has another version (`xmin`): no range contains the changes
that were committed meanwhile.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from penstock.connectors.client_library import OfThisProcess
from penstock.connectors.postgres.client import PostgresAddress, library
from penstock.connectors.postgres.values import SourceTable, TableName, lsn_of, quoted, text_of
from penstock.errors import SourceError

KINDS = ("insert", "update", "delete", "truncate")
"""Kinds of changes of a publication, by the names of its parameter `publish`."""

_STATE = """\
select p.oid::text, p.xmin::text, array[p.pubinsert, p.pubupdate, p.pubdelete, p.pubtruncate], p.pubviaroot,
    (select array_agg(concat_ws(':', coalesce(c.oid::text, '-'), c.relnamespace,
            coalesce(r.oid || '.' || r.xmin, '-'), coalesce(n.oid || '.' || n.xmin, '-'),
            coalesce((select array_to_string((i.indkey::int2[])[:i.indnkeyatts - 1], ' ')
                from pg_catalog.pg_index i where i.indrelid = c.oid and
                case c.relreplident when 'i' then i.indisreplident else i.indisprimary end), '-'))
            order by t.number)
        from unnest(%s::text[], %s::text[]) with ordinality as t (schema, name, number)
        left join pg_catalog.pg_namespace s on s.nspname = t.schema
        left join pg_catalog.pg_class c on c.relnamespace = s.oid and c.relname = t.name
        left join pg_catalog.pg_publication_rel r on r.prpubid = p.oid and r.prrelid = c.oid
        left join pg_catalog.pg_publication_namespace n on n.pnpubid = p.oid and n.pnnspid = s.oid)
from pg_catalog.pg_publication p where p.pubname = %s"""

_UNPUBLISHED = """\
select t.schema || '.' || t.name from unnest(%s::text[], %s::text[]) as t (schema, name)
where not exists (select from pg_catalog.pg_publication_tables p
                  where p.pubname = %s and p.schemaname = t.schema and p.tablename = t.name)"""

_OIDS = """\
select c.oid::bigint, n.nspname, c.relname from unnest(%s::text[], %s::text[]) as t (schema, name)
join pg_catalog.pg_namespace n on n.nspname = t.schema
join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.name"""

_LOOK_SECONDS = 1.0
_looked: OfThisProcess = OfThisProcess()
_ANEW = "start in a new checkpoint directory with another slot, which captures the tables as they are now"


@dataclass(frozen=True, slots=True)
class Publication:
    """A publication as the catalogue has it.

    Attributes:
        version: Version of its row, which has its flags.
        tables: Digest of the rows that make the tables belong to it, and of their keys.
        lacks: Kinds of changes that it does not have.
        is_via_root: True if changes of partitions are those of the partitioned table.
    """

    oid: str
    version: str
    tables: str
    lacks: tuple[str, ...]
    is_via_root: bool

    @property
    def text(self) -> str:
        """Digest that differs as soon as changes may have been missed."""
        return f"{self.oid}.{self.version}.{self.tables}"


def publication_of(connection: Any, name: str, tables: Sequence[TableName]) -> Publication | None:
    """Return a publication with regard to some tables; None if it is not there."""
    row = connection.execute(_STATE, (*_split(tables), name)).fetchone()
    if row is None:
        return None
    oid, version, has, is_via_root, rows = row
    digest = hashlib.sha256("\n".join(rows).encode()).hexdigest()[:8]
    lacks = tuple(kind for kind, is_there in zip(KINDS, has, strict=True) if not is_there)
    return Publication(oid, version, digest, lacks, is_via_root)


def split_id(slot: str, publication: Publication) -> str:
    """Return the id of the split of a slot."""
    return f"{slot}@{publication.text}"


def known_id(slot: str, known: Iterable[str]) -> str | None:
    """Return the id that a job has recorded for a slot; None without one."""
    return next((split for split in known if split.partition("@")[0] == slot), None)


def check_kinds(publication: Publication, name: str, kinds: Sequence[str]) -> None:
    """Refuse a publication without a kind of changes that is to be read."""
    lacking = [kind for kind in kinds if kind in publication.lacks]
    if lacking:
        raise SourceError(
            f"publication {name!r} does not have {', '.join(lacking)}, so such changes would not come",
            hint=f"ALTER PUBLICATION {quoted(name)} SET (publish = 'insert, update, delete, truncate'); or name the kinds "
            "that are enough: set_publish('insert', …).",
        ).permanent()


def check_unchanged(
    connection: Any,
    address: PostgresAddress,
    name: str,
    tables: tuple[TableName, ...],
    known: str | None,
    accepted: str,
) -> str:
    """Refuse to go on if changes may have been missed; look once a second. Return the text of what there is."""
    key, now = (address, name, tables, known, accepted), time.monotonic()
    seen = _looked.get(key)
    if known is not None and seen is not None and now < seen:
        return known
    missing = connection.execute(_UNPUBLISHED, (*_split(tables), name)).fetchall()
    if missing:
        raise SourceError(
            f"publication {name!r} does not have {', '.join(table for (table,) in missing)} any more, so changes do not "
            "come",
            hint=f"If it was renamed: rename it back. If it was dropped and made anew, or taken out: {_ANEW}.",
        ).permanent()
    publication = publication_of(connection, name, tables)
    assert publication is not None, "it has tables"
    if known is not None and publication.text not in {known, accepted}:
        raise _changed(name, publication, known)
    _looked[key] = now + _LOOK_SECONDS
    return publication.text


def _changed(name: str, publication: Publication, known: str) -> SourceError:
    oid, version, _ = known.split(".")
    if oid != publication.oid:
        what, missed = "was dropped and made again", "all changes between the two"
    elif version != publication.version:
        what = "was altered (its parameters, name or owner)"
        missed = "changes of a kind that it did not publish for a while"
    else:
        what = "has a table that was taken out and added again, or whose key, columns or rows are others"
        missed = "changes of that table that were committed meanwhile"
    return SourceError(
        f"publication {name!r} {what} since the job began: {missed} are never read",
        hint=f"To be right, {_ANEW}. If nothing was missed, go on: set_publication_accepted({publication.text!r}).",
    ).permanent()


def table_oids(connection: Any, tables: Sequence[TableName]) -> dict[int, TableName]:
    """Return number to name of the tables that are there. A number stays if a table is renamed and renamed back."""
    rows = connection.execute(_OIDS, _split(tables)).fetchall()
    return {oid: TableName(schema, name) for oid, schema, name in rows}


def make_publication(
    connection: Any, name: str, tables: Sequence[SourceTable], kinds: Sequence[str]
) -> None:
    """Make a publication of tables: without those that inherit from them, and with all partitions."""
    sql = library().sql
    named = sql.SQL(", ").join(
        sql.SQL("only {}").format(sql.Identifier(t.name.schema, t.name.name)) for t in tables
    )
    statement = sql.SQL(
        "create publication {} for table {} with (publish = {}, publish_via_partition_root = true)"
    )
    connection.execute(statement.format(sql.Identifier(name), named, sql.Literal(", ".join(kinds))))


def _split(tables: Sequence[TableName]) -> tuple[list[str], list[str]]:
    return [table.schema for table in tables], [table.name for table in tables]


LEAST_VERSION = 150_000
"""The first version whose publications list their columns and rows."""

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
    """Refuse a server whose changes cannot be read."""
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
        active_pid: The process of the server that uses it; None if it is free.
        used_by: The name of its client.
    """

    confirmed: int
    head: int
    active_pid: int | None
    used_by: str | None


def slot_state(connection: Any, slot: str) -> SlotState:
    """Return a slot."""
    row = connection.execute(_SLOT, (slot,)).fetchone()
    confirmed, status, pid, plugin, database, here, head, user = row
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
        hint="Before PostgreSQL 17 a slot does not survive a failover. The changes since then are lost: "
        "start in a new checkpoint directory, which captures the tables anew.",
    )


def in_use(slot: str, state: SlotState) -> SourceError:
    """Return the error about a slot that is in use."""
    return SourceError(
        f"replication slot {slot!r} is used by process {state.active_pid} of the server "
        f"({state.used_by or 'a client without a name'})",
        hint="A slot is of one job: give each source one of its own with set_slot, or end the other client.",
    )


def drop_hint(slot: str) -> str:
    """Return the hint to drop a slot."""
    return f"drop the slot (`penstock drop JOB.PY JOB_DIR` of its job, or SELECT pg_drop_replication_slot('{slot}'))"


def has_slot(connection: Any, slot: str) -> bool:
    """Return whether there is a slot of a name."""
    query = "select from pg_catalog.pg_replication_slots where slot_name = %s"
    return connection.execute(query, (slot,)).fetchone() is not None


def drop_slot(connection: Any, slot: str) -> None:
    """Drop a slot, if it is there. A client that uses it is waited for, since it may be ending."""
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
    query = "select from pg_catalog.pg_publication where pubname = %s"
    return connection.execute(query, (name,)).fetchone() is not None


def drop_publication(connection: Any, name: str) -> None:
    """Drop a publication, if it is there."""
    sql = library().sql
    connection.execute(sql.SQL("drop publication if exists {}").format(sql.Identifier(name)))


@dataclass(frozen=True, slots=True)
class ExportedSnapshot:
    """Content of the database at a position, for as long as its connection is open.

    Attributes:
        name: Its name in other connections.
    """

    name: str
    position: int


@contextmanager
def _watched(address: PostgresAddress, slot: str, pid: int) -> Iterator[None]:
    """Log for which transactions the process that makes a slot waits: those that were open when it began."""
    is_made = threading.Event()

    def watch() -> None:
        logged: list[Any] = []
        try:
            with address.connect(application_name="penstock watcher") as connection:
                while not is_made.wait(_WATCH_SECONDS):
                    rows = connection.execute(_WAITS, (pid,)).fetchall()
                    if rows and rows != logged:
                        logged = rows
                        words = ", ".join(_WAITED.format(*row) for row in rows)
                        _logger.warning("replication slot %r waits for the end of %s", slot, words)
        except library().Error:
            return  # the watch only logs

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
        # The name was checked: the command takes no parameters.
        statement = f"CREATE_REPLICATION_SLOT {slot} LOGICAL pgoutput ({options})"
        with _watched(address, slot, connection.info.backend_pid):
            _, position, name, _ = connection.execute(statement).fetchone()
        yield ExportedSnapshot(name, lsn_of(position))


@contextmanager
def snapshot_now(address: PostgresAddress) -> Iterator[ExportedSnapshot]:
    """Yield a snapshot of now, without a slot."""
    with address.connect(application_name="penstock snapshot") as connection:
        connection.execute("begin isolation level repeatable read read only")
        (name,) = connection.execute("select pg_export_snapshot()").fetchone()
        yield ExportedSnapshot(name, 0)


def advance(connection: Any, slot: str, position: int) -> None:
    """Confirm what is before a position, unless that was done."""
    if slot_state(connection, slot).confirmed < position:
        connection.execute(
            "select pg_replication_slot_advance(%s, %s::pg_lsn)", (slot, text_of(position))
        )
