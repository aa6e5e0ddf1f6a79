"""Hints: `STATE_TTL('orders' = '1d')` of a SELECT, and `OPTIONS('key' = 'value')` of a table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from penstock.config.parse import parse_duration
from penstock.errors import ConfigError
from penstock.sql.dialect import hints_of, options_of
from penstock.sql.place import unsupported, wrong
from penstock.sql.sqlglot_source import exp

_MILLISECOND = timedelta(milliseconds=1)


def state_ttls(query: exp.Select) -> dict[str, int | None]:
    """Return name or alias of a table to the milliseconds that state of its rows is kept.

    Raises:
        SqlError: There is another hint, or a time that cannot be read.
    """
    found: dict[str, int | None] = {}
    for hint in hints_of(query):
        if hint.name != "STATE_TTL":
            raise unsupported(
                f"the hint {hint.name} ({hint.place})", None, hint="Remove it: the planner decides."
            )
        for table, text in hint.arguments:
            try:
                length = parse_duration(text or "")
            except (ConfigError, ValueError) as cause:
                raise wrong(
                    f"the hint STATE_TTL has {text!r} for {table!r} ({hint.place})",
                    None,
                    hint="Write a length such as '1d' or '30 min'.",
                ) from cause
            found[table] = length // _MILLISECOND or None
    return found


def check_names(ttls: Mapping[str, int | None], names: list[str | None], query: exp.Expr) -> None:
    """Refuse hints about tables that FROM does not have.

    Raises:
        SqlError: There is no such table.
    """
    for each in ttls:
        if each not in names:
            known = ", ".join(name for name in names if name)
            raise wrong(
                f"the hint STATE_TTL is about {each!r}, which FROM does not have",
                query,
                hint=f"Use one of: {known}.",
            )


def check_used(ttls: Mapping[str, int | None], used: frozenset[str], query: exp.Select) -> None:
    """Refuse hints about tables whose rows the query keeps nothing of.

    Raises:
        SqlError: There is one.
    """
    unused = sorted(set(ttls) - used)
    if unused:
        raise wrong(
            f"the hint STATE_TTL of {unused[0]!r} in a query without a join of it or groups is not supported"
            f" ({hints_of(query)[0].place})",
            None,
            hint="Remove it, or SET 'table.exec.state.ttl'.",
        )


def with_options(table: object, node: exp.Table) -> object:
    """Return a table with the options of its hints.

    Raises:
        SqlError: It takes no options, or there is another hint.
    """
    hints = hints_of(node)
    if not hints:
        return table
    options = options_of(hints)
    change = getattr(table, "with_options", None)
    if change is None:
        raise wrong("the table has no options", node, hint="Remove the hint OPTIONS.")
    made: object = change(options)
    return made
