"""Operators of three inputs, made by a factory, and sorters, on Spark: in three modes and over a restart.

Finds what the in-process executor hides: functions that cannot be shipped, channels of the third input,
state of it in records of epochs, files of sorters in Spark's directories.
"""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import (
    AbstractInput,
    MultipleConnectedStreams,
    MultipleInputStreamOperator,
    StreamExecutionEnvironment,
    StreamOperatorFactory,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import DataGeneratorSource, FileSink, HybridSource
from tests.spark.conftest import Environment, Failures
from tests.spark.test_clients import written

KEYS, HISTORY, LIVE, INPUTS = 5, 300, 100, 3
ROW = Types.ROW_NAMED(["key", "input", "nth"], [Types.LONG(), Types.LONG(), Types.LONG()])
NO_TIME = WatermarkStrategy.no_watermarks()
SMALL = {
    "execution.live.max-records-per-batch": 40,
    "execution.sorted-inputs.memory": "30kb",
}


class Numbering(AbstractInput[int, Any]):
    """Numbers the records of a key that arrive at this input, once the sorter has brought them together."""

    def process_element(self, value: int, ctx: Any) -> None:
        self.owner.sorter.add(ctx.get_current_key(), self.input_id)


class Tally(MultipleInputStreamOperator[Any]):
    def open(self, runtime_context: Any) -> None:
        self.lock = threading.Lock()  # it cannot be pickled
        self.counts = runtime_context.get_state(ValueStateDescriptor("counts"))
        self.sorter = runtime_context.create_external_sorter()

    def get_inputs(self) -> list[Numbering]:
        return [Numbering(self, number) for number in range(1, INPUTS + 1)]

    def prepare_snapshot_pre_barrier(self) -> None:
        self.give()

    def process_record_attributes(self, record_attributes: Any, input_id: int) -> None:
        self.give()
        super().process_record_attributes(record_attributes, input_id)

    def end_input(self, input_id: int) -> None:
        self.give()

    def give(self) -> None:
        with self.lock:
            for key, _, input_id in self.sorter:
                self.keys.set_current_key(key)
                counts: dict[int, int] = dict(self.counts.value() or {})
                counts[input_id] = counts.get(input_id, 0) + 1
                self.counts.update(counts)
                self.output.collect((key, input_id, counts[input_id]))
            self.sorter.clear()


class MakesTally(StreamOperatorFactory[Any]):
    def create_stream_operator(self, parameters: Any) -> Tally:
        return Tally()


def build(env: StreamExecutionEnvironment, out: Path) -> None:
    def source(name: str) -> Any:
        both = HybridSource.builder(DataGeneratorSource(lambda i: i, count=HISTORY))
        live = DataGeneratorSource(lambda i: i, count=LIVE)
        return env.from_source(both.add_source(live).build(), NO_TIME, name)

    key_of = [lambda number: number % KEYS] * INPUTS
    streams = MultipleConnectedStreams(*(source(f"source {n}") for n in range(INPUTS)))
    tally = streams.key_by(*key_of).transform("tally", ROW, MakesTally()).uid("tally")
    tally.sink_to(FileSink.parquet(out)).uid("out")


def expected() -> Counter[tuple[int, int, int]]:
    of_key = (HISTORY + LIVE) // KEYS
    return Counter(
        (key, number, nth)
        for key in range(KEYS)
        for number in range(1, INPUTS + 1)
        for nth in range(1, of_key + 1)
    )


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_three_inputs_share_a_key_in_every_mode(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    env = environment(mode, **SMALL)
    build(env, tmp_path / "out")
    env.execute("tally")
    assert written(tmp_path / "out") == expected()


def test_a_job_that_fails_behind_the_switch_goes_on_with_all_inputs(
    environment: Environment, tmp_path: Path, failures: Failures
) -> None:
    places = ["batch.ran:1:raise", "live.committed:2:raise"]
    env = environment("mixed", **SMALL, **failures.at(*places))
    build(env, tmp_path / "out")
    env.execute("tally")
    failures.check_all_happened()
    assert written(tmp_path / "out") == expected()


def test_a_savepoint_has_the_state_of_all_inputs(environment: Environment, tmp_path: Path) -> None:
    out = tmp_path / "out"
    env = environment("streaming", **SMALL)
    build(env, out)
    client = env.execute_async("tally")
    savepoint = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    others = {
        "execution.checkpointing.dir": str(tmp_path / "second"),
        "execution.state-recovery.path": savepoint,
        "parallelism.default": 1,
    }
    env = environment("streaming", **SMALL, **others)
    build(env, out)
    env.execute("tally")
    assert written(out) == expected()
