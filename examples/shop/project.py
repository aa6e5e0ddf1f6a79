"""A folder of SQL: each file of `models/` is a query with the name of its file, in the order of their references.

python -m examples.shop.project

Seeds are CSV files. Their first half is history, and the rest is live.
"""

import csv
import re
from collections.abc import Callable
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from examples.results import Result, run
from penstock.common import Row, RowKind, TypeInformation, Types, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource, HybridSource

FOLDER = Path(__file__).parent
SEEDS: dict[str, list[tuple[str, TypeInformation, Callable[[str], Any]]]] = {
    "customers": [
        ("id", Types.LONG(), int),
        ("name", Types.STRING(), str),
        ("city", Types.STRING(), str),
    ],
    "orders": [
        ("id", Types.LONG(), int),
        ("customer", Types.LONG(), int),
        ("item", Types.STRING(), str),
        ("cents", Types.LONG(), int),
        ("status", Types.STRING(), str),
    ],
}
"""Seed to its columns: name, type, and how the text of a cell is read."""

TABLES = {
    "customer_totals": "id",
    "city_totals": "city",
    "best_items": "item",
    "unknown_customers": "id",
}
"""Models that are tables, with their keys; the others are views."""

_READS = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)", re.IGNORECASE)


def models(folder: Path = FOLDER / "models") -> dict[str, str]:
    """Return the queries by name, each behind those that it reads."""
    texts = {path.stem: path.read_text() for path in folder.glob("*.sql")}
    reads = {name: set(_READS.findall(text)) & texts.keys() for name, text in texts.items()}
    return {
        name: texts[name] for name in TopologicalSorter(dict(sorted(reads.items()))).static_order()
    }


def rows(seed: str) -> list[Row]:
    with (FOLDER / "seeds" / f"{seed}.csv").open(newline="") as file:
        return [
            Row(**{name: read(line[name]) for name, _, read in SEEDS[seed]})
            for line in csv.DictReader(file)
        ]


def build(env: StreamExecutionEnvironment) -> dict[str, Result]:
    for seed, columns in SEEDS.items():
        names, types, _ = zip(*columns, strict=True)
        row_type = Types.ROW_NAMED(list(names), list(types))
        found = rows(seed)
        history, live = found[: len(found) // 2], found[len(found) // 2 :]
        parts = HybridSource.builder(CollectionSource.of(history, row_type))
        source = parts.add_source(CollectionSource.of(live, row_type)).build()
        env.create_view(
            seed, env.from_source(source, WatermarkStrategy.no_watermarks(), seed).uid(seed)
        )
    for name, query in models().items():
        env.execute_sql(f"CREATE VIEW {name} AS {query}")
    return {name: table(env.sql(f"SELECT * FROM {name}"), key) for name, key in TABLES.items()}  # noqa: S608


def table(changes: DataStream[Row], key: str) -> Result:
    """Return a table of changes: a field says what the kind of a row says."""
    columns: Any = changes.get_type()
    flagged = Types.ROW_NAMED(
        [*columns.get_field_names(), "deleted"], [*columns.get_field_types(), Types.BOOLEAN()]
    )
    return Result(changes.map(with_deleted, flagged), key)


def with_deleted(row: Row) -> Row:
    return Row(
        **row.as_dict(), deleted=row.get_row_kind() in (RowKind.DELETE, RowKind.UPDATE_BEFORE)
    )


if __name__ == "__main__":
    run(build, "a folder of SQL")
