"""Runs an example on Spark and prints its results as tables. What an example computes is in its `build`."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.showing import environment, say
from penstock.common import Row
from penstock.datastream import DataStream, DataStreamSink, StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, Sink

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """A stream of an example, and how its rows make a table.

    Attributes:
        stream: Its records are rows of a declared type.
        key: The field of which the table has one row per value, the last one; None if it has every row. A row
            whose `deleted` is true removes that of its key.
    """

    stream: DataStream[Row]
    key: str | None = None


Build = Callable[[StreamExecutionEnvironment], Mapping[str, Result]]


def run(build: Build, title: str) -> None:
    """Run an example: its results become files of JSON, and then tables on the terminal.

    Args:
        build: Makes the streams of a program, by name.
        title: What the example shows.
    """
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument(
        "directory", nargs="?", type=Path, help="for results and checkpoints; a temporary one"
    )
    directory = parser.parse_args().directory
    with tempfile.TemporaryDirectory(prefix="penstock-example-") as scratch:
        out = (directory or Path(scratch)).resolve()
        env = environment(out)
        results = build(env)
        for name, result in results.items():
            written(name, result, FileSink.json(out / name))
        env.execute(title)
        for name, result in results.items():
            say(table(name, final_rows(_lines(out / name), result.key)))


def written(name: str, result: Result, sink: Sink) -> DataStreamSink:
    """Let a sink write a result: every row, or the last row of each key."""
    if result.key is None:
        made = result.stream.sink_to(sink)
    else:
        made = result.stream.upsert_to(sink, key=_field(result.key))
    return made.name(name).uid(f"{name} table")


def final_rows(rows: Iterable[Fields], key: str | None) -> list[Fields]:
    """Return the rows of a table, sorted: all, or the last of each key that was not deleted."""
    if key is not None:
        rows = {row[key]: row for row in rows}.values()
    left = [
        {name: row[name] for name in row if name != "deleted"}
        for row in rows
        if not row.get("deleted")
    ]
    return sorted(left, key=lambda row: [_in_order(value) for value in row.values()])


def table(name: str, rows: list[Fields]) -> str:
    """Return rows as aligned text below a name."""
    if not rows:
        return f"{name}\n  none\n"
    columns = list(rows[0])
    cells = [columns, *([str(row[column]) for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
    return "\n".join([name, *lines, ""])


def _in_order(value: Any) -> tuple[float, str]:
    return (value, "") if isinstance(value, (int, float)) else (0, str(value))


def _field(name: str) -> Callable[[Row], Any]:
    return lambda row: row[name]


def _lines(folder: Path) -> list[Fields]:
    files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]
