"""`interval-during-backlog` > 0: history is read by a live run in that rhythm, the rest in its own."""

from __future__ import annotations

import time

import pytest

from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.config.options import CHECKPOINT_INTERVAL, MAX_RECORDS_PER_BATCH
from penstock.config.run_options import WATERMARK_LAG_THRESHOLD
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.plan.phases.backlog import checkpoint_interval
from penstock.spark.live.epochs.epoch_pace import EpochPace
from tests.spark.conftest import Environment

DURING = "execution.checkpointing.interval-during-backlog"


def by_record() -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0))
    return strategy.with_timestamp_assigner(lambda record, _: record)


def test_history_is_read_in_its_own_rhythm(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds: list[float] = []
    begin = EpochPace.begin

    def begun(pace: EpochPace) -> None:
        if pace.is_first:
            seconds.append(pace.interval_seconds)
        begin(pace)

    monkeypatch.setattr(EpochPace, "begin", begun)
    settings = {CHECKPOINT_INTERVAL.key: "250 ms", DURING: "1500 ms"}
    env = environment("streaming", **settings)
    history, live = CollectionSource.of([1, 2]), CollectionSource.of([3])
    source = HybridSource.builder(history).add_source(live).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    with stream.execute_and_collect() as collected:
        assert sorted(collected) == [1, 2, 3]
    assert seconds == [1.5, 0.25]


def test_the_interval_follows_the_lag_of_watermarks(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds: list[float] = []
    begin = EpochPace.begin

    def note(interval: float) -> None:
        if seconds[-1:] != [interval]:
            seconds.append(interval)

    def begun(pace: EpochPace) -> None:
        note(pace.interval_seconds)
        begin(pace)

    monkeypatch.setattr(EpochPace, "begin", begun)
    settings = {
        CHECKPOINT_INTERVAL.key: "100 ms",
        DURING: "700 ms",
        WATERMARK_LAG_THRESHOLD.key: "1 h",
        MAX_RECORDS_PER_BATCH.key: "1",
    }
    env = environment("streaming", **settings)
    now = time.time_ns() // 1_000_000
    times = [1, 2, now, now + 1, now + 2]
    stream = env.from_source(CollectionSource.of(times), by_record(), "times")
    with stream.execute_and_collect() as collected:
        assert sorted(collected) == times
    assert seconds == [0.1, 0.7, 0.1]


# FLIP-327, rule 2.
@pytest.mark.parametrize(
    ("during", "backlog", "seconds"),
    [(None, True, 2), ("0", True, 2), ("5 s", True, 5), ("5 s", False, 2)],
)
def test_which_interval_counts(during: str | None, backlog: bool, seconds: int) -> None:
    values = {CHECKPOINT_INTERVAL.key: "2 s"} | ({} if during is None else {DURING: during})
    interval = checkpoint_interval(Configuration.from_dict(values), backlog=backlog)
    assert interval.total_seconds() == seconds
