"""The publication of a source: as it was when the job began, and whether it has been that all the time.

    shop_totals@16412.745.5e1c0f7a      id of the split: slot, and number, version and tables of the publication

The id is in every record of positions, so a driver that starts, and a job from a savepoint, compare with it, too. A row of the
catalogue that was changed, or removed and put back, has another version (`xmin`): what was committed meanwhile is in no range.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.connectors.client_library import OfThisProcess
from penstock.connectors.postgres.address import PostgresAddress, library
from penstock.connectors.postgres.values import SourceTable, TableName, quoted
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
        oid: Its number.
        version: Of its row, which has its flags.
        tables: Digest of the rows that make the tables belong to it, and of their keys.
        lacks: Kinds of changes that it does not have.
        is_via_root: Whether changes of partitions are those of the partitioned table.
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
    found = connection.execute(_STATE, (*_split(tables), name)).fetchone()
    if found is None:
        return None
    oid, version, has, is_via_root, rows = found
    digest = hashlib.sha256("\n".join(rows).encode()).hexdigest()[:8]
    lacks = tuple(kind for kind, is_there in zip(KINDS, has, strict=True) if not is_there)
    return Publication(oid, version, digest, lacks, is_via_root)


def split_id(slot: str, publication: Publication) -> str:
    """Return the id of the split of a slot."""
    return f"{slot}@{publication.text}"


def known_id(slot: str, known: Iterable[str]) -> str | None:
    """Return the id under which a job knows a slot; None if it does not."""
    return next((each for each in known if each.partition("@")[0] == slot), None)


def check_kinds(found: Publication, name: str, wanted: Sequence[str]) -> None:
    """Refuse a publication without a kind of changes that is to be read.

    Raises:
        SourceError: It lacks one.
    """
    lacking = [kind for kind in wanted if kind in found.lacks]
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
    """Refuse to go on if changes may have been missed; look once a second. Return the text of what there is.

    Raises:
        SourceError: The publication or a table is another one, or was one meanwhile.
    """
    key, now = (address, name, tables, known, accepted), time.monotonic()
    seen = _looked.get(key)
    if known is not None and seen is not None and now < seen:
        return known
    missing = connection.execute(_UNPUBLISHED, (*_split(tables), name)).fetchall()
    if missing:
        raise SourceError(
            f"publication {name!r} does not have {', '.join(each for (each,) in missing)} any more, so changes do not "
            "come",
            hint=f"If it was renamed: rename it back. If it was dropped and made anew, or taken out: {_ANEW}.",
        ).permanent()
    found = publication_of(connection, name, tables)
    assert found is not None, "it has tables"
    if known is not None and found.text not in {known, accepted}:
        raise _changed(name, found, known)
    _looked[key] = now + _LOOK_SECONDS
    return found.text


def _changed(name: str, found: Publication, known: str) -> SourceError:
    oid, version, _ = known.split(".")
    if oid != found.oid:
        what, missed = "was dropped and made again", "all changes between the two"
    elif version != found.version:
        what = "was altered (its parameters, name or owner)"
        missed = "changes of a kind that it did not publish for a while"
    else:
        what = "has a table that was taken out and added again, or whose key, columns or rows are others"
        missed = "changes of that table that were committed meanwhile"
    return SourceError(
        f"publication {name!r} {what} since the job began: {missed} are never read",
        hint=f"To be right, {_ANEW}. If nothing was missed, go on: set_publication_accepted({found.text!r}).",
    ).permanent()


def table_oids(connection: Any, tables: Sequence[TableName]) -> dict[int, TableName]:
    """Return number to name of the tables that are there. A number stays if a table is renamed and renamed back."""
    found = connection.execute(_OIDS, _split(tables)).fetchall()
    return {oid: TableName(schema, name) for oid, schema, name in found}


def make_publication(
    connection: Any, name: str, tables: Sequence[SourceTable], kinds: Sequence[str]
) -> None:
    """Make a publication of tables: without those that inherit from them, and with all partitions."""
    sql = library().sql
    named = sql.SQL(", ").join(
        sql.SQL("only {}").format(sql.Identifier(t.name.schema, t.name.name)) for t in tables
    )
    made = sql.SQL(
        "create publication {} for table {} with (publish = {}, publish_via_partition_root = true)"
    )
    connection.execute(made.format(sql.Identifier(name), named, sql.Literal(", ".join(kinds))))


def _split(tables: Sequence[TableName]) -> tuple[list[str], list[str]]:
    return [each.schema for each in tables], [each.name for each in tables]
