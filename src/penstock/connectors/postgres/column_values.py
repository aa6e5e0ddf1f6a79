"""Makes Python values of the text that PostgreSQL writes, in changes and in COPY alike.

The loaders are psycopg's, so values are what a query with psycopg gives. A type without one is text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from penstock.connectors.postgres.address import library
from penstock.connectors.postgres.beyond import ERROR, load_context
from penstock.connectors.postgres.values import Column
from penstock.errors import SourceError

Load = Callable[[bytes], Any]

_FIRST_USERS_OID = 16_384

_BASES = """\
with recursive base(oid, type) as (
    select oid, oid from pg_catalog.pg_type where oid = any(%s)
    union all
    select base.oid, t.typbasetype from base join pg_catalog.pg_type t on t.oid = base.type
    where t.typtype = 'd')
select base.oid, base.type from base join pg_catalog.pg_type t on t.oid = base.type
where t.typtype <> 'd'"""


@lru_cache(maxsize=1024)
def loader(type_oid: int, beyond: str = ERROR) -> Load:
    """Return what makes a value of a type of its text."""
    context = load_context(beyond)
    found = context.adapters.get_loader(type_oid, library().pq.Format.TEXT)
    if found is None:
        return bytes.decode
    load: Load = found(type_oid, context).load
    return load


def base_types(connection: Any, type_oids: Sequence[int]) -> dict[int, int]:
    """Return type to type: a domain to what it is a domain of, any other type to itself."""
    found = {oid: oid for oid in type_oids}
    asked = [oid for oid in found if oid >= _FIRST_USERS_OID]
    if asked:
        found.update(connection.execute(_BASES, (asked,)).fetchall())
    return found


def loaded_columns(
    table: str, columns: Sequence[Column], texts: Sequence[Sequence[bytes | None]]
) -> list[list[Any]]:
    """Return the values of rows, column by column.

    Raises:
        SourceError: Python has no such value.
    """
    loads = [loader(column.type_oid, column.beyond) for column in columns]
    try:
        return [
            [None if text is None else load(text) for text in of]
            for load, of in zip(loads, texts, strict=True)
        ]
    except Exception:
        for row in zip(*texts, strict=True):
            loaded_row(table, columns, loads, row)
        raise


def loaded_row(
    table: str, columns: Sequence[Column], loads: Sequence[Load], texts: Sequence[bytes | None]
) -> list[Any]:
    """Return the values of a row.

    Raises:
        SourceError: Python has no such value.
    """
    values = list[Any]()
    for column, load, text in zip(columns, loads, texts, strict=True):
        try:
            values.append(None if text is None else load(text))
        except Exception as cause:
            key = ", ".join(
                f"{each.name} = {of.decode(errors='replace')}"
                for each, of in zip(columns, texts, strict=True)
                if each.is_key and of is not None
            )
            raise SourceError(
                f"a value of column {column.name!r} is none in Python: {cause}; its row in table {table} has "
                + (f"the key {key}" if key else "no key"),
                hint="Read it as None, as the nearest value that Python has, or as text, which a function may send elsewhere: "
                "set_values_beyond_python('none'), ('clamp') or ('text'). Or leave the column out of the publication.",
            ) from cause
    return values
