"""The law on Spark: the same program gives the same answer in every mode.

The in-process law tests cover many programs; this covers the parts they leave out: Spark's
exchanges, its state store, the switch between jobs and the sinks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from penstock.common import Duration, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, ValueStateDescriptor
from penstock.datastream.connectors import CollectionSource, HybridSource
from tests.spark.conftest import Environment

RECORDS = [(f"k{i % 7}", i % 5, i * 10) for i in range(300)]
"""(key, amount, time in ms)"""


class Gaps(KeyedProcessFunction):
    """Per key: the amount of every 500 ms bucket, once the watermark has passed its end."""

    def open(self, runtime_context: Any) -> None:
        self.buckets = runtime_context.get_state(ValueStateDescriptor("buckets"))

    def process_element(self, value: Any, ctx: Any) -> None:
        end = value[2] - value[2] % 500 + 500
        buckets = dict(self.buckets.value() or {})
        buckets[end] = buckets.get(end, 0) + value[1]
        self.buckets.update(buckets)
        ctx.timer_service().register_event_time_timer(end - 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        buckets = dict(self.buckets.value())
        yield ctx.get_current_key(), timestamp + 1, buckets.pop(timestamp + 1)
        self.buckets.update(buckets)


def expected_buckets() -> Counter[Any]:
    totals: Counter[Any] = Counter()
    for key, amount, stamp in RECORDS:
        totals[key, stamp - stamp % 500 + 500] += amount
    return Counter({(key, end, total): 1 for (key, end), total in totals.items()})


def run(environment: Environment, mode: str, cut: int) -> tuple[Counter[Any], dict[Any, Any]]:
    env = environment(mode)
    source = (
        HybridSource.builder(CollectionSource.of(RECORDS[:cut]))
        .add_source(CollectionSource.of(RECORDS[cut:]))
        .build()
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_seconds(1)
    ).with_timestamp_assigner(lambda value, _: value[2])
    records = env.from_source(source, strategy, "records")
    buckets = records.key_by(lambda r: r[0]).process(Gaps()).map(lambda r: ("bucket", *r))
    rolling = (
        records.map(lambda r: (r[0], 1, r[1]))
        .key_by(lambda r: r[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2]))
        .map(lambda r: ("rolling", *r))
    )
    two_levels = (
        buckets.map(lambda r: (r[2], r[3]))
        .key_by(lambda r: r[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .map(lambda r: ("second", *r))
    )
    with buckets.union(rolling, two_levels).execute_and_collect() as results:
        return _split(results)


def _split(results: Iterator[Any]) -> tuple[Counter[Any], dict[Any, Any]]:
    appended: Counter[Any] = Counter()
    updated: dict[Any, Any] = {}
    for result in results:
        if result[0] == "bucket":
            appended[result[1:]] += 1
        else:
            key = result[0], result[1]
            updated[key] = max(updated.get(key, result[2:]), result[2:])
    return appended, updated


def oracle_updates() -> dict[Any, Any]:
    updates: dict[Any, Any] = {}
    for key, amount, _ in RECORDS:
        count, total = updates.get(("rolling", key), (0, 0))
        updates["rolling", key] = (count + 1, total + amount)
    for (_, end, total), times in expected_buckets().items():
        updates["second", end] = (updates.get(("second", end), (0,))[0] + total * times,)
    return updates


@pytest.mark.parametrize(
    ("mode", "cut"), [("batch", 100), ("streaming", 100), ("mixed", 0), ("mixed", 137)]
)
def test_every_mode_gives_the_answer_of_a_replay(
    environment: Environment, mode: str, cut: int
) -> None:
    appended, updated = run(environment, mode, cut)
    assert appended == expected_buckets()
    assert updated == oracle_updates()
