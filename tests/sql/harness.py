"""Queries in a harness: the rows of every table are pushed, and time is what the test says."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from penstock.common import Configuration, Row, RowKind
from penstock.sql.streams import StreamTable
from penstock.testing import OperatorHarness

START = datetime(1970, 1, 1)  # noqa: DTZ001 - a TIMESTAMP has no zone


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def query_harness(
    query: str, tables: dict[str, tuple[Any, dict[str, Any]]], **settings: Any
) -> OperatorHarness:
    """Open a harness of a query.

    Args:
        query: The text.
        tables: Name to the type of its rows, and what `StreamTable` is told of it; in order of the inputs.
        settings: Of the harness; `options` are those of the job.
    """
    options = settings.pop("options", None)
    if options is not None:
        settings["configuration"] = Configuration.from_dict(options)

    def build(*streams: Any) -> Any:
        environment = streams[0].get_execution_environment()
        pairs = zip(tables.items(), streams, strict=True)
        given = {name: StreamTable(stream, **facts) for (name, (_, facts)), stream in pairs}
        return environment.sql(query, given)

    # The number of parameters says how many inputs there are.
    forms = {1: lambda a: build(a), 2: lambda a, b: build(a, b)}  # noqa: PLW0108
    kinds = [kind for kind, _ in tables.values()]
    return OperatorHarness.of(forms[len(tables)], input_types=kinds, **settings)


def changed(kind: RowKind, **values: Any) -> Row:
    row = Row(**values)
    row.set_row_kind(kind)
    return row


def shown(rows: list[Row]) -> list[tuple[Any, ...]]:
    """Return rows as tuples with their kind before them, sorted."""
    made = [
        (
            row.get_row_kind().short_string,
            *(
                (each - START).total_seconds() if isinstance(each, datetime) else each
                for each in row
            ),
        )
        for row in rows
    ]
    return sorted(made, key=repr)


def state_bytes(harness: OperatorHarness) -> int:
    """Return how much state there is."""
    return sum(len(blob) for blob in harness.snapshot().state)
