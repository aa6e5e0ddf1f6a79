"""Metrics of functions on Spark: with the results, once, and to listeners."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import MapFunction
from penstock.datastream.connectors import CollectionSource, DataGeneratorSource, HybridSource
from penstock.metrics import DistributionValue
from penstock.metrics.values import CounterValue
from penstock.observe.events.job_events import JobEvent, MetricsReported
from penstock.observe.events.listeners import JobListener, also_listening
from tests.spark.conftest import Environment

NUMBERS = list(range(40))
TASK_ATTEMPTS = 4  # Spark itself tries a task so often before the job fails


class Measured(MapFunction):
    def open(self, runtime_context: Any) -> None:
        group = runtime_context.get_metrics_group().add_group("mine")
        self.seen = group.counter("seen")
        self.values = group.distribution("values")

    def map(self, value: Any) -> Any:
        self.seen.inc()
        self.values.update(value)
        return value


class Heard(JobListener):
    def __init__(self) -> None:
        self.last: MetricsReported | None = None

    def on_event(self, event: JobEvent) -> None:
        if isinstance(event, MetricsReported):
            self.last = event


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_metrics_reach_the_result_the_client_and_listeners(
    environment: Environment, mode: str
) -> None:
    env = environment(mode)
    source = (
        HybridSource.builder(CollectionSource.of(NUMBERS[:30]))
        .add_source(CollectionSource.of(NUMBERS[30:]))
        .build()
    )
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    sums = numbers.key_by(lambda n: n % 3).map(Measured()).uid("m").key_by(lambda n: n % 3).sum()
    sums.uid("sums").sink_to(DiscardingSink())
    heard = Heard()
    with also_listening(heard):
        client = env.execute_async()
        result = client.get_job_execution_result().result()
    assert result.get_accumulator_result("m.mine.seen") == 40
    assert result.get_accumulator_result("values") == DistributionValue(40, sum(NUMBERS), 0, 39)
    everything = result.get_all_accumulator_results()
    assert everything["sums.numRecordsIn"] == 40
    assert client.get_accumulators().result() == everything
    assert heard.last is not None
    assert heard.last.metrics["m.mine.seen"] == CounterValue(40)
    if mode != "batch":
        assert heard.last.state["log_bytes"] > 0
        assert everything["state.log_bytes"] == heard.last.state["log_bytes"]


class CountsAndFails(MapFunction):
    """Counts; fails at one record as often as there is a marker file to remove."""

    def __init__(self, markers: Path) -> None:
        self._markers = markers

    def open(self, runtime_context: Any) -> None:
        group = runtime_context.get_metrics_group()
        self.seen = group.counter("seen")
        group.gauge("attempt", runtime_context.get_attempt_number)

    def map(self, value: Any) -> Any:
        self.seen.inc()
        if value == NUMBERS[-1]:
            for marker in self._markers.iterdir():
                marker.unlink()
                raise RuntimeError("not yet")
        return value


def test_a_restarted_job_counts_each_record_once(environment: Environment, tmp_path: Path) -> None:
    markers = tmp_path / "markers"
    markers.mkdir()
    for number in range(TASK_ATTEMPTS):
        (markers / str(number)).touch()
    env = environment(
        "streaming",
        **{
            "execution.live.max-records-per-batch": 25,
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.delay": "10 ms",
        },
    )
    source = DataGeneratorSource(lambda i: i, count=len(NUMBERS))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda n: n % 3).map(CountsAndFails(markers)).uid("m").sink_to(DiscardingSink())
    result = env.execute()
    assert result.get_accumulator_result("seen") == len(NUMBERS)
    assert result.get_accumulator_result("m.numRecordsIn") == len(NUMBERS)
    assert result.get_accumulator_result("attempt") == 1
