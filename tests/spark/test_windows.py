"""Windows on Spark: the same firings as by definition, in every mode."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from penstock.common import Duration, Time, WatermarkStrategy
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.datastream.window import (
    EndOfStreamWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
)
from penstock.testing import difference
from tests.runtime.test_windows_law import Numbers, NumbersOfAll, Only, Sum, key_of, numbers, sums
from tests.runtime.window_oracle import MAX, MIN, contents, summary
from tests.spark.conftest import Environment

RECORDS = [(n % 5, n * 7 % 400 // 10 + n // 4, n % 9, n) for n in range(200)]
"""(key, time, value, number), up to 40 ms out of order."""


def _tagged(name: str, result: Any) -> Any:
    return (name, result)


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_windows_hold_what_they_should(environment: Environment, mode: str) -> None:
    env = environment(mode)
    source = (
        HybridSource.builder(CollectionSource.of(RECORDS[:120]))
        .add_source(CollectionSource.of(RECORDS[120:]))
        .build()
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(60)
    ).with_timestamp_assigner(lambda record, _: record[1])
    keyed = env.from_source(source, strategy, "records").key_by(key_of)
    ms = Time.milliseconds
    sliding = keyed.window(SlidingEventTimeWindows.of(ms(20), ms(8))).aggregate(Sum(), Only())
    sessions = keyed.window(EventTimeSessionWindows.with_gap(ms(2))).process(Numbers())
    whole = keyed.window_all(EndOfStreamWindows.get()).process(NumbersOfAll())
    tagged = [
        stream.map(partial(_tagged, name))
        for name, stream in (("sliding", sliding), ("sessions", sessions), ("whole", whole))
    ]
    with tagged[0].union(*tagged[1:]).execute_and_collect() as found:
        got = list(found)

    everything = summary({(0, (MIN, MAX)): RECORDS}, numbers)
    wanted = {
        "sliding": summary(contents(("sliding", 20, 8, 0), RECORDS), sums),
        "sessions": summary(contents(("session", 2), RECORDS), numbers),
        "whole": everything,
    }
    for name, of_name in wanted.items():
        answer = [result for tag, result in got if tag == name]
        assert difference(answer, of_name) is None, name
