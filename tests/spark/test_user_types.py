"""Records of a program's own type on Spark: between tasks, into results of a bounded region, and to the driver."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Row
from penstock.connectors.python.collection import CollectionSource
from penstock.datastream import WatermarkStrategy
from penstock.datastream.window import GlobalWindows
from tests.money import Money
from tests.runtime.jobs import history_then_live
from tests.runtime.test_user_types import NUMBERS, PAYMENT, InWindow, Sums, payment
from tests.spark.conftest import Environment, Failures

TOTALS = {who: sum(NUMBERS[n::3]) for n, who in enumerate("abc")}
NO_TIME = WatermarkStrategy.no_watermarks()


def greatest(rows: list[Row]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        assert isinstance(row.paid, Money)
        found[row.who] = max(row.paid.cents, found.get(row.who, 0))
    return found


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_they_reach_the_driver_whatever_fails(
    environment: Environment, failures: Failures, mode: str
) -> None:
    env = environment(mode, **({} if mode == "batch" else failures.at("live.staged:1:raise")))
    stream = env.from_source(history_then_live(NUMBERS[:40], NUMBERS[40:]), NO_TIME, "numbers")
    summed = stream.map(payment, PAYMENT).key_by(lambda v: v.who).process(Sums(), PAYMENT)
    with summed.execute_and_collect() as rows:
        found = list(rows)
    assert greatest(found) == TOTALS
    assert len(found) == len(NUMBERS)


@pytest.mark.parametrize("mode", ["batch", "mixed"])
def test_results_of_a_bounded_region_and_a_collection(environment: Environment, mode: str) -> None:
    env = environment(mode)
    source: Any = CollectionSource.of(list(map(payment, NUMBERS)), PAYMENT)
    at_end = (
        env.from_source(source, NO_TIME, "payments")
        .key_by(lambda v: v.who)
        .window(GlobalWindows.create_with_end_of_stream_trigger())
        .process(InWindow(), PAYMENT)
    )
    live = env.from_source(history_then_live([], []), NO_TIME, "none").map(payment, PAYMENT)
    both = at_end.union(live).key_by(lambda v: v.who).process(Sums(), PAYMENT)
    with both.execute_and_collect() as rows:
        assert greatest(list(rows)) == TOTALS
