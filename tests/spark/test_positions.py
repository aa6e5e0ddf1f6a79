"""The positions stream, without Spark: when it says that a source has ended, and what it imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.physical import RunPlan
from penstock.program.run_settings import RunKind
from penstock.spark.job.run_outline import outline_of
from penstock.spark.live.bounded_inputs import BoundedInputs
from penstock.spark.sources.positions import ControlLog, PositionsReader
from tests.spark.test_recovery import BOUNDED, plan_of

SOURCE = 7


def reader_of(directory: Path, splits: list[Any], most: int, *, ends: bool = True) -> Any:
    sources = [{"source": SOURCE, "splits": splits, "rate": None, "ends": ends}]
    return PositionsReader(
        {"control": str(directory), "sources": json.dumps(sources), "max_records": str(most)}
    )


def micro_batches(reader: Any, count: int) -> list[list[tuple[Any, ...]]]:
    """Return the rows of each of the first micro-batches."""
    at = reader.initialOffset()
    found = []
    for _ in range(count):
        end = reader.latestOffset(at)
        rows = [row for part in reader.partitions(at, end) for row in reader.read(part)]
        again = [row for part in reader.partitions(at, end) for row in reader.read(part)]
        assert rows == again, "a micro-batch that is repeated has the same rows"
        found.append(rows)
        at = end
    return found


@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=4),
    most=st.integers(1, 9),
    ends=st.booleans(),
)
def test_an_end_comes_once_with_the_last_records_or_not_at_all(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], most: int, *, ends: bool
) -> None:
    directory = tmp_path_factory.mktemp("control")
    reader = reader_of(directory, [[5, 5 + length] for length in lengths], most, ends=ends)
    batches = micro_batches(reader, sum(lengths) + 2)
    told = [number for number, rows in enumerate(batches) if ("end", SOURCE) in heads(rows)]
    read = [number for number, rows in enumerate(batches) if ("range", SOURCE) in heads(rows)]
    assert told == (read[-1:] if ends else [])
    ranges = [row for rows in batches for row in rows if row[0] == "range"]
    assert sum(last - first for *_, first, last, _ in ranges) == sum(lengths)


def heads(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [row[:2] for row in rows]


def test_an_end_comes_before_what_the_driver_asks_for_and_beside_a_tick(tmp_path: Path) -> None:
    control = ControlLog(tmp_path)
    reader = reader_of(tmp_path, [[0, 3]], 9)
    control.set_tick(1_000)
    (rows,) = micro_batches(reader, 1)
    assert heads(rows) == [("range", SOURCE), ("end", SOURCE), ("tick", -1)]
    control.append("start")
    (rows,) = micro_batches(reader, 1)
    assert heads(rows) == [("range", SOURCE), ("end", SOURCE), ("start", -1)]


class Progress:
    """What a progress report says of the positions stream."""

    def __init__(self, **offset: Any) -> None:
        self.endOffset = json.dumps(offset)

    @property
    def sources(self) -> list[Any]:
        return [self]


@pytest.mark.parametrize(("first", "asked"), [(0, 0), (3, 1)])
def test_the_driver_tells_the_end_of_a_source_that_had_nothing_to_read(
    tmp_path: Path, first: int, asked: int
) -> None:
    plan = plan_of({"numbers": BOUNDED})
    (run,) = plan.runs
    assert isinstance(run, RunPlan)
    assert run.kind is RunKind.LIVE
    source = run.readings[0].source
    control = ControlLog(tmp_path)
    outline = outline_of(plan, run, "job", "name")
    inputs = BoundedInputs(plan, run, {(source, 0): [(first, 3)]}, control, outline)
    read = Progress(control=0, **{str(source): [3]})
    assert inputs.complete(read) == (not asked)
    assert [event["event"] for event in control.events()] == ["end"] * asked
    assert inputs.complete(Progress(control=asked, **{str(source): [3]}))


def test_processes_that_only_serve_the_stream_import_nothing_of_the_tasks() -> None:
    code = (
        "import sys, penstock.spark.sources.positions;"
        "print([m for m in sys.modules if m in ('pyarrow', 'numpy', 'asyncio')"
        " or m.startswith('penstock.runtime')])"
    )
    # Spark's own modules bring some of these along; what counts is what comes on top.
    before = "import pyspark.sql.datasource, sys; known = set(sys.modules);"
    code = before + code.replace("sys.modules if", "set(sys.modules) - known if")
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("tasks", [None, 1, 2, 3])
def test_splits_share_as_many_tasks_as_the_source_may_be_read_in(
    tmp_path: Path, tasks: int | None
) -> None:
    sources = [
        {"source": number, "splits": [[0, 9]] * 5, "rate": None, "ends": True, "tasks": tasks}
        for number in (1, 2)
    ]
    reader = PositionsReader(
        {"control": str(tmp_path), "sources": json.dumps(sources), "max_records": "99"}
    )
    start = reader.initialOffset()
    parts = reader.partitions(start, reader.latestOffset(start))
    rows = [list(reader.read(part)) for part in parts]
    ranges = [part for part in rows if part[0][0] == "range"]
    assert len(ranges) == (tasks or 10)
    assert len({row[1:3] for part in ranges for row in part}) == 10
    assert heads(rows[-1]) == [("end", 1), ("end", 2)]
