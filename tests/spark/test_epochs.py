"""Live runs as loops of epochs, on Spark: exactly once at every step, and both engines from one savepoint."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream import KeyedProcessFunction
from penstock.datastream.connectors import DataGeneratorSource, FileSink
from penstock.observe.events.job_events import JobEvent, MicroBatch, Repeating, Restarting
from penstock.observe.events.listeners import JobListener, also_listening
from penstock.spark.live.epochs import epoch_run
from penstock.state.log.epoch_log import EpochLog
from penstock.state.log.epoch_record import EPOCHS
from tests.spark.conftest import Environment, Failures
from tests.spark.test_clients import written
from tests.spark.test_savepoints import (
    COUNT,
    NO_TIME,
    expected_buckets,
    expected_counts,
    number_job,
)
from tests.spark.waiting import wait_for

SMALL = {"execution.live.max-records-per-batch": 40}
STEPS = [
    "live.started:1:raise",
    "live.staged:2:raise",
    "epoch.encoded:2:raise",
    "live.recorded:2:raise",
    "sinks.before-commit:4:raise",
    "sinks.committed:4:raise",
    "live.committed:4:raise",
]


class Seen(JobListener):
    """Keeps what the job tells."""

    def __init__(self) -> None:
        self.events: list[JobEvent] = []

    def on_event(self, event: JobEvent) -> None:
        self.events.append(event)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def test_a_failure_at_every_step_of_an_epoch_loses_and_repeats_nothing(
    environment: Environment, tmp_path: Path, failures: Failures
) -> None:
    seen = Seen()
    with also_listening(seen):
        env = environment("streaming", **SMALL, **failures.at(*STEPS))
        client = number_job(env, tmp_path / "out", "counts", "buckets")
        result = client.get_job_execution_result().result()
    failures.check_all_happened()
    assert len(seen.of(Restarting)) == len(STEPS)
    assert written(tmp_path / "out") == expected_counts() + expected_buckets()
    assert sum(batch.records for batch in seen.of(MicroBatch)) == COUNT
    assert sum(run.records for run in result.runs) <= COUNT
    records = tmp_path / "job" / "run-0" / EPOCHS / "records"
    assert max(int(path.name) for path in records.iterdir()) >= COUNT // 40 - 1


def test_a_record_of_a_driver_that_woke_up_is_adopted(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = EpochLog.put
    raced: list[Any] = []

    def put_second(log: EpochLog, epoch: int, *rest: Any, **how: Any) -> Any:
        if epoch == 2 and not raced:
            other = EpochLog(log._directory)
            other.open()
            raced.append(put(other, epoch, *rest))
        return put(log, epoch, *rest, **how)

    monkeypatch.setattr(EpochLog, "put", put_second)
    client = number_job(environment("streaming", **SMALL), tmp_path / "out", "counts")
    client.get_job_execution_result().result()
    assert len(raced) == 1
    assert written(tmp_path / "out") == expected_counts()


def test_an_epoch_whose_stages_lost_output_is_repeated_as_a_whole(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([False, True, True])
    monkeypatch.setattr(epoch_run, "has_lost_output", lambda _: next(answers, False))
    seen = Seen()
    with also_listening(seen):
        client = number_job(environment("streaming", **SMALL), tmp_path / "out", "counts")
        client.get_job_execution_result().result()
    assert [event.number for event in seen.of(Repeating)] == [1, 2]
    assert written(tmp_path / "out") == expected_counts()


class Alarm(KeyedProcessFunction):
    """Answers each record half a second later, by a processing-time timer."""

    def process_element(self, value: Any, ctx: Any) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 500)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), time.time_ns() // 1_000_000 - timestamp


def test_timers_of_processing_time_fire_while_no_record_arrives(
    environment: Environment, tmp_path: Path
) -> None:
    env = environment("streaming", **SMALL)
    source = DataGeneratorSource(lambda i: i, records_per_second=1, type_info=Types.LONG())
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    nothing = env.from_source(source, NO_TIME, "numbers").filter(lambda _: False)
    first = env.from_collection([7, 8], Types.LONG())
    alarms = nothing.union(first).key_by(lambda i: i).process(Alarm(), pair)
    alarms.sink_to(FileSink.parquet(tmp_path / "out"))
    client = env.execute_async("alarms")
    wait_for(client, lambda: sum(written(tmp_path / "out").values()) == 2)
    records = tmp_path / "job" / "run-0" / EPOCHS / "records"
    begun, before = time.monotonic(), len(list(records.iterdir()))
    time.sleep(3)
    epochs = len(list(records.iterdir())) - before
    assert epochs <= time.monotonic() - begun + 1, "an epoch per record, and none without"
    client.cancel().result()
    assert {key for key, _ in written(tmp_path / "out")} == {7, 8}
    assert all(0 <= late < 10_000 for _, late in written(tmp_path / "out"))
