"""Functions that fail once, and a worker that dies: Spark repeats the task, nobody can tell.

Each accident happens once, guarded by a marker file. The file holds the id of the process it
happened to, so a test can also check that the process is gone; workers that die at every other
step are in `tests/faults`. Answers are read from a file sink and compared with a replay: a record
that is lost or counted twice changes them.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import DataStream, KeyedProcessFunction, ValueStateDescriptor
from penstock.datastream.connectors import CollectionSource, FileSink
from tests.spark.conftest import Environment

NO_TIME = WatermarkStrategy.no_watermarks()
ROW = Types.ROW_NAMED(["key", "count", "total"], [Types.INT(), Types.LONG(), Types.LONG()])
KEYS = 5
RECORDS = 240


class Accident:
    """Kills this process, or raises, unless the marker says that it happened before."""

    def __init__(self, marker: Path, kind: str) -> None:
        self.marker = marker
        self.kind = kind

    def happen(self) -> None:
        try:
            with self.marker.open("x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            return
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError("the disk is on fire, but only once")


class Totals(KeyedProcessFunction):
    """Count and total per key, one result per record; has an accident on record `at`.

    Attributes:
        reach: The accident waits for an instance that has also processed a record this far
            back: then its state is not that of its first micro-batch.
    """

    def __init__(self, accident: Accident | None = None, at: int = 0, reach: int = 0) -> None:
        self.accident = accident
        self.at = at
        self.reach = reach
        self.first: int | None = None

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("totals"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        if self.first is None:
            self.first = value
        count, total = self.state.value() or (0, 0)
        self.state.update((count + 1, total + value))
        if self.accident is not None and value >= self.at and value - self.first >= self.reach:
            self.accident.happen()
        yield ctx.get_current_key(), count + 1, total + value


def write_totals(numbers: DataStream, function: Totals, out: Path) -> None:
    keyed = numbers.key_by(lambda n: n % KEYS).process(function)
    keyed.map(lambda result: result, ROW).sink_to(FileSink.parquet(out))


def written(out: Path) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(row.values())
        for path in out.glob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    )


def expected() -> Counter[tuple[Any, ...]]:
    found = {}
    for key in range(KEYS):
        values = range(key, RECORDS, KEYS)
        found.update({(key, i + 1, sum(values[: i + 1])): 1 for i in range(len(values))})
    return Counter(found)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_failure_in_level_0_changes_nothing(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    accident = Accident(tmp_path / "marker", "raise")

    def pass_on(n: int) -> int:
        if n == 200:
            accident.happen()
        return n

    env = environment(mode, **{"execution.frame.max-records": 16})
    numbers = env.from_source(CollectionSource.of(range(RECORDS)), NO_TIME, "numbers")
    write_totals(numbers.map(pass_on), Totals(), tmp_path / "out")
    env.execute()
    assert accident.marker.exists()
    assert written(tmp_path / "out") == expected()


def test_a_failure_in_a_keyed_function_of_a_batch_run_changes_nothing(
    environment: Environment, tmp_path: Path
) -> None:
    accident = Accident(tmp_path / "marker", "raise")
    env = environment("batch")
    numbers = env.from_source(CollectionSource.of(range(RECORDS)), NO_TIME, "numbers")
    write_totals(numbers, Totals(accident, at=200), tmp_path / "out")
    env.execute()
    assert accident.marker.exists()
    assert written(tmp_path / "out") == expected()


@pytest.mark.parametrize("kind", ["kill", "raise"])
def test_an_accident_in_a_later_micro_batch_changes_nothing(
    environment: Environment, tmp_path: Path, kind: str
) -> None:
    """The worker that dies has a copy of the state; the next one must read the log."""
    accident = Accident(tmp_path / "marker", kind)
    size = 60
    env = environment("streaming", **{"execution.live.max-records-per-batch": size})
    numbers = env.from_source(CollectionSource.of(range(RECORDS)), NO_TIME, "numbers")
    write_totals(numbers, Totals(accident, at=2 * size, reach=size), tmp_path / "out")
    env.execute()
    assert accident.marker.exists(), "no instance saw two micro-batches"
    if kind == "kill":
        assert not is_alive(int(accident.marker.read_text()))
    assert written(tmp_path / "out") == expected()
