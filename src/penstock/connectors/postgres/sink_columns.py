"""Columns of a sink's table: values as an INSERT with psycopg writes them, and the constraints of the table.

COPY gives the server texts, and a text loses what psycopg's types say: a zone in a `timestamp`, a list in a `jsonb`. The
constraints are added to the staged rows, so that a task refuses a row, and not the commit of an epoch that is decided.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite, isnan
from typing import Any

from penstock.connectors.postgres.column_values import base_types
from penstock.connectors.postgres.values import TableName

_COLUMNS = """\
select a.attname, a.atttypid::bigint, a.attnotnull,
    exists (select from pg_catalog.pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal and t.tgtype & 2 = 2)
from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = %s and c.relname = %s and a.attnum > 0 and not a.attisdropped"""
"""A trigger BEFORE INSERT may change the row, so its table is only checked at the commit."""

_CHECKS = """\
select k.conname, pg_catalog.pg_get_expr(k.conbin, k.conrelid)
from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = %s and c.relname = %s and k.contype = 'c'
    and coalesce((to_jsonb(k) ->> 'conenforced')::boolean, true)
    and not exists (select from pg_catalog.pg_attribute a where a.attrelid = c.oid
                    and a.attnum = any(k.conkey) and a.attname <> all(%s))
order by k.conname"""

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class SinkColumns:
    """The columns of a sink.

    Attributes:
        converts: Position of a column to what makes a value for it, where psycopg's text is not enough.
        checks: Name and condition of each constraint that a row must fulfil.
    """

    converts: Mapping[int, Convert]
    checks: Sequence[tuple[str, str]]


def sink_columns(connection: Any, table: TableName, columns: Sequence[str]) -> SinkColumns:
    """Return the columns of a sink, as the table has them now.

    Args:
        connection: To the database.
        table: The table.
        columns: The columns that are written, in order.
    """
    found = connection.execute(_COLUMNS, (table.schema, table.name)).fetchall()
    types = {name: oid for name, oid, _, _ in found}
    bases = base_types(connection, list(types.values()))
    of_columns = ((at, bases[types[each]]) for at, each in enumerate(columns) if each in types)
    converts = {at: _CONVERTS[base] for at, base in of_columns if base in _CONVERTS}
    if any(has_trigger for *_, has_trigger in found):
        return SinkColumns(converts, ())
    asked = (table.schema, table.name, list(columns))
    required = [name for name, _, is_required, _ in found if is_required and name in columns]
    checks = [(f"not null {n}: {name}", _is_there(name)) for n, name in enumerate(required)]
    return SinkColumns(converts, [*checks, *connection.execute(_CHECKS, asked).fetchall()])


def _is_there(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}" is not null'


def _as_json(value: Any) -> Any:
    """Return JSON; a text is JSON already, as in psycopg."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _without_zone(value: Any) -> Any:
    """Return a time in UTC, which is the zone of the session, without the zone."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def _as_text(value: Any) -> Any:
    """Return what the server makes of a value that becomes text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime) and value.tzinfo is not None:
        return f"{_without_zone(value)}+00"
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, float) and value.is_integer() and abs(value) < _LONG_FLOAT:
        return f"{value:.0f}"
    return value


_LONG_FLOAT = 1e15
_CONVERTS: dict[int, Convert] = {
    **dict.fromkeys((114, 3802), _as_json),
    **dict.fromkeys((1114, 1082, 1083), _without_zone),
    **dict.fromkeys((25, 1042, 1043), _as_text),
}
"""Number of a type (`json`, `jsonb`; `timestamp`, `date`, `time`; texts) to what makes its values."""
