"""Jobs that fail and are started again in the same process."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.common import JobStatus, Types, WatermarkStrategy
from penstock.datastream import RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource, FileSink
from penstock.datastream.functions import KeyedProcessFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.errors import PenstockError
from penstock.observe.events.job_events import JobEvent, Restarting
from penstock.observe.events.listeners import JobListener, also_listening
from tests.spark.conftest import Environment

COUNT = 120
TASK_ATTEMPTS = 4  # Spark itself tries a task so often before the job fails
SMALL = {"execution.live.max-records-per-batch": 40}
TWICE = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": 2,
    "restart-strategy.fixed-delay.delay": "10 ms",
}


class Seen(JobListener):
    def __init__(self) -> None:
        self.restarts: list[Restarting] = []

    def on_event(self, event: JobEvent) -> None:
        if isinstance(event, Restarting):
            self.restarts.append(event)


class CountOrFail(KeyedProcessFunction):
    """Counts per key; fails at one record as often as there is a marker file to remove."""

    def __init__(self, markers: Path) -> None:
        self._markers = markers

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        if value == COUNT - 30:
            for marker in self._markers.iterdir():
                marker.unlink()
                raise RuntimeError("not yet")
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield ctx.get_current_key(), count


def build(env: StreamExecutionEnvironment, tmp_path: Path, failures: int) -> None:
    markers = tmp_path / "markers"
    markers.mkdir()
    for number in range(failures * TASK_ATTEMPTS):
        (markers / str(number)).touch()
    source = DataGeneratorSource(lambda i: i, count=COUNT)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    counts = numbers.key_by(lambda i: i % 4).process(
        CountOrFail(markers), Types.TUPLE([Types.LONG(), Types.LONG()])
    )
    counts.sink_to(FileSink.parquet(tmp_path / "out"))


def written(directory: Path) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(row.values())
        for path in directory.glob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    )


EXPECTED = Counter((key, n) for key in range(4) for n in range(1, COUNT // 4 + 1))


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_a_live_run_goes_on_from_its_checkpoint(
    environment: Environment, tmp_path: Path, backend: str
) -> None:
    env = environment("streaming", **SMALL, **TWICE, **{"state.backend.type": backend})
    build(env, tmp_path, failures=1)
    seen = Seen()
    with also_listening(seen):
        result = env.execute("restarts")
    assert written(tmp_path / "out") == EXPECTED
    assert [(event.number, event.limit) for event in seen.restarts] == [(1, 2)]
    assert "not yet" in seen.restarts[0].reason
    assert sum(run.records for run in result.runs) == COUNT


def test_a_batch_run_is_repeated(environment: Environment, tmp_path: Path) -> None:
    env = environment("batch", **TWICE)
    build(env, tmp_path, failures=2)
    seen = Seen()
    with also_listening(seen):
        env.execute("restarts")
    assert written(tmp_path / "out") == EXPECTED
    assert [event.number for event in seen.restarts] == [1, 2]


def test_the_last_failure_fails_the_job(environment: Environment, tmp_path: Path) -> None:
    once = TWICE | {"restart-strategy.fixed-delay.attempts": 1}
    env = environment("batch", **once)
    build(env, tmp_path, failures=2)
    client = env.execute_async("restarts")
    with pytest.raises(PenstockError) as caught:
        client.get_job_execution_result().result()
    assert caught.value.code == "USER_FUNCTION"
    assert client.get_job_status().result() is JobStatus.FAILED
    assert written(tmp_path / "out") == Counter()
