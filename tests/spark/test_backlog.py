"""Backlog, then live, on Spark: FLIP-327's own expectations, attributes, and the bounded region."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from penstock.common import Duration, Time, WatermarkStrategy
from penstock.datastream import (
    KeyedCoProcessFunction,
    OneInputStreamOperator,
    RecordAttributes,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.datastream.window import EndOfStreamWindows, TumblingEventTimeWindows
from tests.spark.conftest import Environment

NONE = WatermarkStrategy.no_watermarks()
BY_TIME = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_millis(0)
).with_timestamp_assigner(lambda record, _: record[1])
ALONE = {"parallelism.default": 1}


def switched(history: Any, live: Any) -> HybridSource:
    first, last = CollectionSource.of(history), CollectionSource.of(live)
    return HybridSource.builder(first).add_source(last).build()


def key_switches(keys: Any) -> int:
    return sum(left != right for left, right in pairwise(keys))


# FLIP-327, rule 3.
def test_reduce_has_one_key_switch_in_its_history(environment: Environment) -> None:
    env = environment("mixed", **ALONE)
    records = [(i % 2, 1) for i in range(20_000)]
    stream = env.from_source(switched(records[:10_000], records[10_000:]), NONE, "records")
    counts = stream.key_by(lambda r: r[0]).reduce(lambda x, y: (x[0], x[1] + y[1]))
    with counts.execute_and_collect() as collected:
        found = list(collected)
    history, live = found[:10_000], found[10_000:]
    assert key_switches(key for key, _ in history) == 1
    assert [count for _, count in history] == [*range(1, 5001), *range(1, 5001)]
    assert sorted(live) == [(key, count) for key in (0, 1) for count in range(5001, 10_001)]


# FLIP-327, rule 7.
def test_windows_of_history_fire_at_the_switch(environment: Environment) -> None:
    env = environment("mixed", **ALONE)
    records = [(i % 2, i * 1000, 1) for i in range(20_000)]
    stream = env.from_source(switched(records[:10_000], records[10_000:]), BY_TIME, "records")
    windows = stream.key_by(lambda r: r[0]).window(TumblingEventTimeWindows.of(Time.seconds(4)))
    sums = windows.reduce(lambda x, y: (x[0], y[1], x[2] + y[2]))
    with sums.execute_and_collect() as collected:
        found = list(collected)
    assert len(found) == 10_000
    assert {total for _, _, total in found} == {2}
    assert key_switches(key for key, _, _ in found[:4998]) == 1
    assert (
        max(at for _, at, _ in found[:4998]) < 2499 * 4000 <= min(at for _, at, _ in found[4998:])
    )


class Told(OneInputStreamOperator[Any, Any]):
    """Emits what it is told."""

    def process_element(self, value: Any, ctx: Any) -> None:
        self.output.collect(value)

    def process_record_attributes(self, record_attributes: RecordAttributes) -> None:
        self.output.collect(record_attributes.is_backlog())
        super().process_record_attributes(record_attributes)

    def end_input(self) -> None:
        self.output.collect("end")


# FLIP-327, rule 10.
def test_operators_are_told_of_backlog(environment: Environment) -> None:
    env = environment("mixed", **ALONE)
    stream = env.from_source(switched([1, 2], [3]), NONE, "records")
    told = stream.transform("told", None, Told()).rebalance().transform("behind", None, Told())
    with told.execute_and_collect() as collected:
        found = list(collected)
    # What the second one is told stands around what the first one was.
    in_history = [True, *[True, 1, 2, False], False]
    in_live = [False, *[False, 3, "end"], "end"]
    assert found == in_history + in_live


class Enrich(KeyedCoProcessFunction):
    """Pairs records with the total of their key."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element1(self, value: Any, ctx: Any) -> None:
        self.total.update(value[2])

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield value, self.total.value()


# FLIP-331, rule 7.
def test_a_bounded_region_is_complete_before_what_reads_it_starts(
    environment: Environment,
) -> None:
    env = environment("mixed")
    bounded = env.from_collection([(i % 10, i, 1) for i in range(1000)])
    totals = (
        bounded.key_by(lambda r: r[0])
        .window(EndOfStreamWindows.get())
        .reduce(lambda x, y: (x[0], y[1], x[2] + y[2]))
    )
    live = env.from_source(CollectionSource.of(list(range(20))), NONE, "live")
    joined = totals.connect(live).key_by(lambda r: r[0], lambda n: n % 10).process(Enrich())
    with joined.execute_and_collect() as collected:
        assert sorted(collected) == [(n, 100) for n in range(20)]
        result = collected.job_result()
    kinds = [(run.name, run.kind) for run in result.runs]
    assert kinds == [("bounded", "batch"), ("results", "batch"), ("live", "live")]
