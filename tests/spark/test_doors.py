"""Every value that a file sink writes, of every type, is read by Spark's jobs as it was written, in history and live."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.datastream.connectors import FileSink, FileSource
from penstock.types import Instant
from tests.connectors.conftest import MakeContext, make_context  # noqa: F401 - a fixture
from tests.connectors.test_file_round_trips import EDGES, NESTED
from tests.connectors.test_file_sink import written
from tests.spark.conftest import Environment
from tests.spark.test_strict_files import read

LESS: dict[str, dict[str, list[Any]]] = {
    "json": {},
    "csv": {"line ends": []},
    "parquet": {
        "big_int": [-(10**37), 0, 10**37],
        "big_dec": [Decimal("0.123456789012345678"), Decimal(10**19)],
        "instant": [Instant(0, 0), Instant(-1, 5_000), Instant(253402300799, 999_999_000)],
        "row": [Row(n=10**37, at=Instant(0, 1_000)), Row(n=None, at=None)],
    },
}
"""Format to values in place of those that it has not; none leaves out the type."""
SINKS = {"json": FileSink.json, "csv": FileSink.csv, "parquet": FileSink.parquet}
FLAT = {"bytes", "line ends"}


def edges(kind: str) -> dict[str, tuple[Any, list[Any]]]:
    """Return the types that a format has, with values."""
    nested = {name: NESTED[name] for name in NESTED if kind != "csv" or name in FLAT}
    every = EDGES | nested
    found = {name: (type_, LESS[kind].get(name, values)) for name, (type_, values) in every.items()}
    return {name: each for name, each in found.items() if each[1]}


def shown(value: Any) -> str:
    """Return a text that is the same for equal values in one form: a column of decimals has digits of its own."""
    if isinstance(value, Decimal):
        return f"Decimal({value.normalize()})"
    return "nan" if isinstance(value, float) and math.isnan(value) else repr(value)


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize("kind", SINKS)
def test_what_is_written_is_read(
    environment: Environment,
    tmp_path: Path,
    make_context: MakeContext,  # noqa: F811 - the fixture
    kind: str,
    mode: str,
) -> None:
    columns = edges(kind)
    row_type = Types.ROW_NAMED(["k", *columns], [Types.INT(), *[t for t, _ in columns.values()]])
    count = max(len(values) for _, values in columns.values())
    rows = [
        (k, *[values[k] if k < len(values) else None for _, values in columns.values()])
        for k in range(count)
    ]
    (tmp_path / "in").mkdir()
    (path,) = written(SINKS[kind](tmp_path / "out"), make_context(row_type), rows)
    path.rename(tmp_path / "in" / path.name.lstrip("._"))
    found = read(environment, FileSource(str(tmp_path / "in"), kind, row_type, {"header": "true"} if kind == "csv" else {}), mode, count)  # fmt: skip
    assert sorted([*map(shown, row)] for row in found) == sorted([*map(shown, row)] for row in rows)
