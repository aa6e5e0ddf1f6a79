"""The tables that a source reads, as the catalogue has them, and whether their changes can be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from penstock.connectors.postgres.beyond import base_types
from penstock.connectors.postgres.values import Column, SourceTable, TableName, quoted
from penstock.errors import SourceError

_TABLE = """\
select c.oid::bigint, c.relkind::text, c.relpersistence::text, c.relreplident::text
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = %s and c.relname = %s"""

_COLUMNS = """\
select a.attname, a.atttypid::bigint,
       coalesce(a.attnum = any((i.indkey::int2[])[:i.indnkeyatts - 1]), false)
from pg_catalog.pg_attribute a
left join pg_catalog.pg_class c on c.oid = a.attrelid
left join pg_catalog.pg_index i on i.indrelid = a.attrelid
    and case c.relreplident when 'i' then i.indisreplident else i.indisprimary end
where a.attrelid = %s and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
order by a.attnum"""
"""Columns, and whether they are of the key: behind its columns an index may INCLUDE others, which are not."""

_PUBLISHED = """\
select attnames, rowfilter from pg_catalog.pg_publication_tables
where pubname = %s and schemaname = %s and tablename = %s"""

_KINDS = {
    "v": "is a view",
    "m": "is a materialized view",
    "f": "is a foreign table",
    "S": "is a sequence",
    "i": "is an index",
}
_FULL = "f"


def table_of(connection: Any, name: TableName, *, has_changes: bool) -> SourceTable:
    """Return a table."""
    row = connection.execute(_TABLE, (name.schema, name.name)).fetchone()
    if row is None:
        raise SourceError(
            f"there is no table {name}",
            hint="Pass the name with its schema, as in set_tables('shop.orders'), in the case in which the "
            "catalogue has it, and check the database.",
        )
    oid, kind, persistence, identity = row
    if kind not in "rp":
        raise SourceError(
            f"{name} {_KINDS.get(kind, 'is no table')}, which cannot be read",
            hint="Pass tables.",
        )
    if has_changes and persistence != "p":
        raise SourceError(
            f"table {name} is unlogged or temporary, so its changes are not in the database's log",
            hint="Make it logged: ALTER TABLE … SET LOGGED.",
        )
    rows = connection.execute(_COLUMNS, (oid,)).fetchall()
    bases = base_types(connection, [type_oid for _, type_oid, _ in rows])
    columns = tuple(
        Column(column_name, bases[type_oid], is_key) for column_name, type_oid, is_key in rows
    )
    if has_changes:
        _check_identity(name, identity, columns)
    if not any(column.is_key for column in columns):
        columns = tuple(Column(c.name, c.type_oid, is_key=True) for c in columns)
    return SourceTable(oid, name, columns, is_partitioned=kind == "p")


def _check_identity(name: TableName, identity: str, columns: Sequence[Column]) -> None:
    """Refuse a table whose changes would not identify their row."""
    if identity == _FULL or (identity in "di" and any(column.is_key for column in columns)):
        return
    lacks = "has REPLICA IDENTITY NOTHING" if identity == "n" else "has no primary key"
    raise SourceError(
        f"table {name} {lacks}, so its changes do not identify their row, and the database would "
        "refuse UPDATE and DELETE of a published table",
        hint=f"Add a primary key, or: ALTER TABLE {name.quoted} REPLICA IDENTITY FULL, or USING INDEX.",
    )


def published(connection: Any, publication: str, table: SourceTable) -> SourceTable:
    """Return a table with the columns and rows that a publication has of it."""
    parameters = (publication, table.name.schema, table.name.name)
    row = connection.execute(_PUBLISHED, parameters).fetchone()
    if row is None:
        raise SourceError(
            f"publication {publication!r} does not have table {table.name}, or is not there",
            hint=f"ALTER PUBLICATION {quoted(publication)} ADD TABLE {table.name.quoted}; or leave set_publication out, so "
            "that the source makes one of its own.",
        )
    names, row_filter = row
    columns = tuple(column for column in table.columns if column.name in (names or ()))
    return replace(table, columns=columns, row_filter=row_filter)


def key_columns(connection: Any, oid: int) -> list[str] | None:
    """Return the columns of the primary key of a table whose replica identity is the whole row."""
    rows = connection.execute(_COLUMNS, (oid,)).fetchall()
    return [name for name, _, is_key in rows if is_key] or None
