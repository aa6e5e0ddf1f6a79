"""What is known of a job: views of its events are true."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.observe.events.job_events import (
    STOPPED,
    BatchProgress,
    JobEnded,
    JobEvent,
    JobStarted,
    MetricsReported,
    MicroBatch,
    PendingInputMeasured,
    Restarting,
    RoundFinished,
    RoundProgress,
    RunFinished,
    RunStarted,
    SavepointTaken,
    Switched,
)
from penstock.observe.events.job_view import JobView
from penstock.observe.events.metric_readers import run_records
from penstock.observe.events.run_view import Behind

JOB: dict[str, Any] = {"job_id": "1", "job_name": "visits"}


def started(at_ms: int = 0) -> JobStarted:
    return JobStarted("0.1.0", "STREAMING", 2, **JOB, at_ms=at_ms)


def run(name: str, kind: str, at_ms: int = 0) -> RunStarted:
    return RunStarted(name, kind, "numbers", kind == "batch", **JOB, at_ms=at_ms)


def batch(number: int, records: int, total: int, at_ms: int, **more: Any) -> MicroBatch:
    return MicroBatch(number, records, total, 0.1, None, **JOB, at_ms=at_ms, **more)


def view(*events: JobEvent) -> JobView:
    return JobView.of(events)


def test_the_rounds_of_an_upgrade_last_until_a_driver_begins_behind_the_last_one() -> None:
    behind = [{"source": "files", "ahead": 3, "unit": "files"}]
    made = view(
        started(),
        RoundProgress(0, "batch", 0.0, **JOB, at_ms=1_000),
        RoundProgress(0, "batch", 1.0, 100, 0.25, **JOB, at_ms=2_000),
    )
    (first,) = made.rounds.views
    assert (first.started_ms, first.records, first.progress, first.finished_ms) == (
        1_000,
        100,
        0.25,
        None,
    )
    assert made.records() == 0, "the records of rounds are no records of the job"
    # it is killed, and its round begins again
    for event in (
        started(9_000),
        RoundProgress(0, "batch", 0.0, **JOB, at_ms=9_000),
        RoundFinished(0, "batch", 400, 2.0, behind, **JOB, at_ms=11_000),
        RoundProgress(1, "live", 0.5, 7, **JOB, at_ms=11_500),
        started(20_000),
    ):
        made.on_event(event)
    assert [(each.number, each.finished_ms) for each in made.rounds.views] == [
        (0, 11_000),
        (1, None),
    ]
    made.on_event(RoundFinished(1, "live", 8, 0.5, is_last=True, **JOB, at_ms=21_000))
    done = [each.to_json() for each in made.rounds.views]
    assert [each["records_per_second"] for each in done] == [200, 16]
    assert [each["behind"] for each in done] == [behind, []]
    assert [each["is_last"] for each in done] == [False, True]
    made.on_event(JobEnded("FAILED", {"problem": "no room"}, **JOB, at_ms=22_000))
    made.on_event(started(30_000))
    assert [each.to_json() for each in made.rounds.views] == done, "the job has not begun"
    made.on_event(run("live", "live"))
    assert [each.to_json() for each in made.rounds.views] == done
    made.on_event(started(40_000))
    assert made.rounds.views == []


def test_a_job_goes_through_history_and_switch_to_live() -> None:
    made = view(
        started(),
        run("history", "batch"),
        BatchProgress(1, 4, 1.0, **JOB),
    )
    (history,) = made.runs_now()
    assert (made.status, history.progress(), made.behind_seconds(5_000)) == ("RUNNING", 0.25, None)
    for event in (
        RunFinished("history", "batch", 4_000, 2.0, **JOB, at_ms=2_000),
        run("live", "live", 2_500),
        Switched(0.5, 7, **JOB, at_ms=2_500),
        batch(0, 10, 10, 3_000, records_behind=30, watermarks={"numbers": 9}),
    ):
        made.on_event(event)
    (live,) = made.runs_now()
    assert history.speed(9_000) == 2_000
    assert (live.name, live.switch_seconds, live.progress()) == ("live", 0.5, 0.25)
    assert live.watermarks == {"numbers": 9}
    assert made.records() == 4_010


def test_records_are_counted_once_though_the_log_left_micro_batches_out() -> None:
    made = view(run("live", "live"), batch(0, 10, 10, 1_000), batch(9, 10, 100, 2_000))
    assert made.records() == 100


def test_an_idle_run_is_not_behind_and_has_no_speed() -> None:
    made = view(
        run("live", "live"),
        batch(0, 100, 100, 1_000, records_behind=50),
        batch(1, 50, 150, 2_000, records_behind=0),
    )
    assert made.behind_seconds(2_000) == 0
    assert made.behind_seconds(900_000) == 0
    (live,) = made.runs_now()
    assert live.speed(2_000) == 75
    assert live.speed(900_000) == 0


def test_what_was_measured_while_no_micro_batch_came_counts() -> None:
    made = view(
        run("live", "live"),
        batch(0, 100, 100, 1_000, records_behind=50),
        PendingInputMeasured(0, None, 0.0, **JOB, at_ms=1_500),
    )
    assert made.behind_seconds(60_000) == 0
    made.on_event(PendingInputMeasured(7, None, None, **JOB, at_ms=60_000))
    assert made.behind_seconds(70_000) == 10


def test_a_run_whose_pending_input_nobody_counts_is_not_said_to_be_up_to_date() -> None:
    assert view(run("live", "live"), batch(0, 1, 1, 1_000)).behind_seconds(9_000) is None


def test_speed_is_that_of_the_last_seconds() -> None:
    events = [batch(n, 100, 100 * (n + 1), 1_000 * (n + 1)) for n in range(60)]
    events += [batch(60 + n, 10, 6_000 + 10 * (n + 1), 61_000 + 1_000 * n) for n in range(30)]
    (live,) = view(run("live", "live"), *events).runs_now()
    assert live.speed(90_000) == pytest.approx(10)


def test_a_failure_is_the_first_thing_to_see() -> None:
    error = {"code": "USER_FUNCTION", "problem": "it raised", "hint": "correct it"}
    made = view(started(), run("live", "live"), Restarting(1, 3, 1.0, "it raised", error, **JOB))
    assert (made.status, made.restarts, made.error) == ("RESTARTING", 1, error)
    made.on_event(run("live", "live"))
    assert made.status == "RUNNING"
    assert len(made.runs_now()) == 1, "the attempt that failed is over"
    made.on_event(JobEnded("FAILED", error, **JOB))
    assert (made.status, made.error, made.runs_now()) == ("FAILED", error, ())


def test_a_run_that_did_not_get_through_is_not_called_done() -> None:
    begun: list[JobEvent] = [started(), run("history", "batch"), BatchProgress(1, 4, 1.0, **JOB)]
    failed = view(*begun, JobEnded("FAILED", **JOB)).runs[0]
    assert (failed.outcome, failed.progress()) == ("failed", 0.25)
    stopped = view(*begun, JobEnded("CANCELED", **JOB)).runs[0]
    assert (stopped.outcome, stopped.progress()) == ("stopped", 0.25)
    done = RunFinished("history", "batch", 4, 1.0, **JOB)
    assert view(*begun, done, JobEnded("CANCELED", **JOB)).runs[0].progress() == 1
    interrupted = RunFinished("history", "batch", 0, 1.0, STOPPED, **JOB)
    for last in (interrupted, JobEnded("CANCELED", **JOB)):
        begun.append(last)
        interrupted_run = view(*begun).runs[0]
        assert (interrupted_run.outcome, interrupted_run.progress()) == ("stopped", 0.25)
    live: list[JobEvent] = [
        run("live", "live"),
        RunFinished("live", "live", 4, 1.0, STOPPED, **JOB),
    ]
    assert view(*live, JobEnded("CANCELED", **JOB)).runs[0].outcome == "stopped"
    live[-1] = RunFinished("live", "live", 4, 1.0, **JOB)
    assert view(*live, JobEnded("FINISHED", **JOB)).runs[0].outcome == "done"


def test_a_source_without_records_has_the_watermark_it_had() -> None:
    first = batch(0, 1, 1, 1_000, watermarks={"a": 1, "b": 2})
    made = view(run("live", "live"), first, batch(1, 1, 2, 2_000, watermarks={"a": 5}))
    assert made.runs[0].watermarks == {"a": 5, "b": 2}


def test_another_driver_counts_anew_and_knows_the_savepoints() -> None:
    taken = SavepointTaken("/sp", 0.1, stops=False, **JOB)
    made = view(
        started(),
        run("live", "live"),
        batch(0, 10, 10, 1_000),
        MetricsReported({}, {}, {}, {"map": 10}, **JOB),
        taken,
        started(50_000),
    )
    assert (made.records(), made.metrics, made.runs_now()) == (0, None, ())
    assert list(made.savepoints) == [taken]


def test_other_jobs_are_ignored() -> None:
    made = view(started())
    made.on_event(JobEnded("FAILED", job_id="2", job_name="other"))
    assert (made.job_id, made.status) == ("1", "RUNNING")


def test_pipelines_have_runs_of_their_own_and_the_one_most_behind_counts() -> None:
    events: list[JobEvent] = []
    for pipeline, pending in (("0", 0), ("1", 5)):
        told = {**JOB, "pipeline": pipeline}
        events += [
            RunStarted("live", "live", "numbers", False, **told),
            MicroBatch(0, 1, 1, 0.1, None, pending, **told, at_ms=1_000),
        ]
    made = view(*events)
    assert [one.behind_seconds(3_000) for one in made.runs_now()] == [0, 2]
    assert made.behind_seconds(3_000) == 2


def test_a_job_that_restarts_for_ever_holds_its_memory_and_counts_on() -> None:
    made = view(started(), run("history", "batch"))
    made.on_event(RunFinished("history", "batch", 5, 1.0, **JOB))
    made.on_event(run("live", "live", 1_000))
    at_ms = 1_000
    for number in range(100):
        made.on_event(batch(number, 10, 10, at_ms + 10, records_behind=7))
        made.on_event(Restarting(number + 1, None, 1.0, "it raised", **JOB, at_ms=at_ms + 20))
        at_ms += 1_000
        made.on_event(run("live", "live", at_ms))
    made.on_event(batch(100, 10, 10, at_ms + 10, records_behind=7))
    assert [run.name for run in made.runs] == ["history", "live"]
    live = made.runs[-1]
    assert (live.attempts, live.records, made.records()) == (101, 1_010, 1_015)
    assert len(live.micro_batches) == 1
    assert live.speed(at_ms + 1_000) == 10
    assert made.restarts == 100
    assert made.behind_seconds(at_ms + 1_000)


def test_records_of_attempts_whose_begin_was_left_out_count() -> None:
    made = view(run("live", "live"), batch(0, 90, 90, 1_000), batch(7, 10, 10, 9_000))
    assert made.records() == 100


def test_what_waits_goes_on_waiting_when_the_clock_is_set_back() -> None:
    hour = 3_600_000
    made = view(
        run("live", "live", hour),
        batch(0, 100, 100, hour, records_behind=500),
        batch(1, 100, 200, hour + 10_000, records_behind=400),
    )
    assert made.behind_seconds(hour + 10_000) == 10
    made.on_event(batch(2, 100, 300, 10_000, records_behind=300))
    assert made.behind_seconds(15_000) == 15, "5 s more, by the clock as it is now"
    (live,) = made.runs_now()
    assert live.started_ms == 0
    assert live.speed(20_000) == 200 / 15


def test_events_of_threads_that_are_out_of_order_do_not_set_the_clock() -> None:
    made = view(run("live", "live", 10_000))
    for number in range(100):
        made.on_event(batch(number, 1, number + 1, 11_000 + (number % 2)))
    assert made.runs[0].started_ms == 10_000


class TestBehind:
    def test_what_arrives_all_the_time_waits_as_long_as_it_takes_to_read_it(self) -> None:
        """100 records a second arrive and are read, always 200 behind: each waits for two seconds."""
        behind = Behind()
        for second in range(100):
            behind.note(second * 1_000, second * 100, 200, None, None)
        assert behind.seconds(99_000) == 2

    def test_a_backlog_that_shrinks_is_as_old_as_its_first_record(self) -> None:
        behind = Behind()
        for second in range(10):
            behind.note(second * 1_000, second * 100, 1_000 - second * 100, None, None)
        assert behind.seconds(9_000) == 9

    def test_a_run_that_hangs_falls_behind(self) -> None:
        behind = Behind()
        behind.note(0, 0, 1, None, None)
        assert behind.seconds(3_600_000) == 3_600

    def test_files_count_from_when_none_was_pending(self) -> None:
        behind = Behind()
        behind.note(0, 0, None, 3, None)
        behind.note(5_000, 9, None, 2, None)
        assert behind.seconds(8_000) == 8
        behind.note(9_000, 12, None, 0, None)
        assert behind.seconds(99_000) == 0

    def test_a_lag_that_is_shorter_counts(self) -> None:
        behind = Behind()
        behind.note(0, 0, None, 3, 500)
        behind.note(60_000, 9, None, 3, 500)
        assert behind.seconds(60_000) == 0.5
        assert behind.seconds(61_000) == 1.5, "the watermark stands, so its lag grows"

    def test_memory_is_bounded(self) -> None:
        behind = Behind()
        for number in range(10_000):
            behind.note(number, 0, number + 1, None, None)
        assert behind.seconds(10_000) == 10
        assert len(behind._heads) <= 513


def test_runs_of_endless_restarts_are_counted_and_forgotten() -> None:
    made = view(started())
    for number in range(300):
        made.on_event(run("live", "live", number * 10))
        made.on_event(batch(number, 4, 4, number * 10 + 5))
    assert len(made.runs) == 1
    assert made.records() == 1_200
    assert sum(len(each.micro_batches) for each in made.runs) == 1
    assert sum(value for _, value in run_records(made, 0)) == 1_200


def test_a_job_is_not_called_caught_up_while_a_pipeline_reads_history() -> None:
    live = RunStarted("live", "live", "visits", False, **JOB, pipeline="0", at_ms=1)
    history = RunStarted("history", "batch", "visits", False, **JOB, pipeline="1", at_ms=1)
    nothing = PendingInputMeasured(0, 0, None, **JOB, pipeline="0", at_ms=2)
    done = RunFinished("history", "batch", 5, 1.0, **JOB, pipeline="1", at_ms=3)
    assert view(live, history, nothing).behind_seconds(9) is None
    assert view(live, history, nothing, done).behind_seconds(9) == 0


def test_a_run_that_was_stopped_and_restarted_goes_on() -> None:
    live = RunStarted("live", "live", "visits", False, **JOB, at_ms=1)
    stopped = RunFinished("live", "live", 5, 1.0, STOPPED, **JOB, at_ms=2)
    made = view(live, stopped, Restarting(1, 3, 0.0, "it failed", **JOB, at_ms=3), live)
    assert [(run.outcome, run.attempts, run.finished_ms) for run in made.runs] == [
        ("running", 2, None)
    ]
