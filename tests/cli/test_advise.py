"""`penstock advise`: the formula with its inputs, out of recorded events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.main import command_line
from penstock.observe.events.advice import Advice, advice_for
from penstock.observe.events.job_events import JobEvent, JobStarted, MicroBatch, RunStarted
from penstock.observe.events.job_view import JobView
from penstock.spark.job.job_directory import JobDirectory
from tests.cli.test_rescale import plan_of


def events(batches: int, records: int, seconds: float, behind: int | None) -> list[JobEvent]:
    """A micro-batch of a second begins every second."""
    times: dict[str, Any] = {"job_id": "1", "job_name": "numbers"}
    begun: list[JobEvent] = [
        JobStarted("1", "STREAMING", 2, at_ms=1000, **times),
        RunStarted("live", "live", "numbers", bounded=False, at_ms=1000, **times),
    ]
    return [
        *begun,
        *(
            MicroBatch(
                number,
                records,
                records * (number + 1),
                seconds,
                None,
                None if behind is None else behind * number,
                at_ms=2000 + 1000 * number,
                **times,
            )
            for number in range(batches)
        ),
    ]


def advice(catch_up: float = 600, key_groups: int = 128, **given: object) -> Advice:
    made = {"batches": 11, "records": 1000, "seconds": 0.5, "behind": 0} | given
    (found,) = advice_for(JobView.of(events(**made)), catch_up, key_groups)  # type: ignore[arg-type]
    return found


def test_a_run_that_is_half_busy_needs_less() -> None:
    found = advice()
    assert found.micro_batches == 10
    assert found.records == 10_000
    assert found.capacity_per_second == 2000
    assert found.arriving_per_second == pytest.approx(10_000 / 9.5, abs=0.1)
    assert found.parallelism == 2  # 2 * 1053 / 1600
    assert advice(seconds=0.1).parallelism == 1


def test_a_run_that_falls_behind_needs_what_arrives_and_what_waits() -> None:
    found = advice(seconds=1.0, behind=500)
    # 1,000 a second are read, 500 more arrive; 5,000 wait.
    assert found.capacity_per_second == 1000
    assert found.arriving_per_second == pytest.approx((10_000 + 4500) / 10, abs=0.1)
    assert found.parallelism == 4  # 2 * 1458 / 800
    assert advice(seconds=1.0, behind=500, catch_up=1).parallelism == 17
    assert advice(seconds=1.0, behind=500, catch_up=1, key_groups=8).parallelism == 8


def test_few_micro_batches_give_no_advice() -> None:
    assert advice_for(JobView.of(events(3, 1, 1.0, None)), 600, 128) == ()
    assert advice(behind=None).pending_records is None


def test_the_command_needs_events_of_a_live_run(tmp_path: Path) -> None:
    JobDirectory.open(str(tmp_path), plan_of(2), "numbers").release()
    result = CliRunner().invoke(command_line(), ["advise", str(tmp_path)])
    assert result.exit_code != 0
    assert "no advice" in result.output
    result = CliRunner().invoke(command_line(), ["advise", str(tmp_path), "--catch-up", "0s"])
    assert result.exit_code != 0


def test_the_command_prints_the_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    JobDirectory.open(str(tmp_path), plan_of(2), "numbers").release()
    view = JobView.of(events(11, 1000, 1.0, 500))
    monkeypatch.setattr("penstock.cli.job_observer.JobObserver.view", lambda _: view)
    result = CliRunner().invoke(command_line(), ["advise", str(tmp_path), "--catch-up", "10min"])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("live: parallelism 4 (now 2)\n")
    assert "needed       1,458.3 records/s, with 5,000 pending records" in result.output
    result = CliRunner().invoke(command_line(), ["advise", str(tmp_path), "--json"])
    printed = json.loads(result.output)
    assert printed["parallelism"] == 4
    assert printed["key_groups"] == 16
