"""`penstock ui`: the page of a job that another process ran."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.job_observer import JobObserver
from penstock.cli.ui import _ShownJob
from penstock.errors import JobDirectoryError
from penstock.observe.events.event_json import to_line
from penstock.observe.events.event_log import EventFiles
from penstock.observe.events.job_events import JobEnded, JobEvent, JobStarted, RunStarted
from penstock.observe.ui.job_controls import JobAction
from penstock.spark.job.job_lock import JobLock
from penstock.spark.savepoints.savepoint_requests import SavepointRequests
from penstock.wire.atomic_file import write_verified

WHOSE: dict[str, Any] = {"job_id": "9f", "job_name": "visits", "at_ms": 1_000}


def asked(url: str) -> Any:
    return urllib.request.urlopen(url, timeout=10)  # noqa: S310 - our own server


def test_a_job_that_is_over_has_a_page(tmp_path: Path) -> None:
    write_verified(
        tmp_path / "job.json",
        {"name": "visits", "shape": {"runs": [["live", "LIVE"]]}, "pipelines": [0]},
    )
    told: list[JobEvent] = [
        JobStarted("0", "STREAMING", 2, plan="the plan", **WHOSE),
        RunStarted("live", "live", "numbers", False, **WHOSE),
        JobEnded("FAILED", {"code": "SINK", "problem": "no room"}, **WHOSE),
    ]
    EventFiles(tmp_path).append("".join(map(to_line, told)))
    begun = subprocess.Popen(
        [sys.executable, "-m", "penstock", "ui", str(tmp_path), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert begun.stdout is not None
        url = begun.stdout.readline().strip()
        assert "token" not in url, "a pipe is no terminal"
        with asked(f"{url}/status") as answer:
            (found,) = json.loads(answer.read())
        with asked(f"{url}/metrics") as answer:
            metrics = answer.read().decode()
        with asked(f"{url}/events") as answer:
            lines = [answer.readline().decode() for _ in range(2)]
    finally:
        begun.send_signal(signal.SIGINT)
        with begun:
            status = begun.wait(20)
    assert (found["name"], found["status"]) == ("visits", "FAILED")
    assert found["error"]["problem"] == "no room"
    assert 'penstock_job_status{job_name="visits",status="FAILED"} 1.0' in metrics
    assert lines[0] == "event: plan\n"
    assert json.loads(lines[1].removeprefix("data: "))["plan"] == "the plan"
    assert status == 130, "Ctrl-C"


def test_a_driver_elsewhere_is_asked_by_its_directory(tmp_path: Path) -> None:
    write_verified(
        tmp_path / "job.json",
        {"name": "visits", "shape": {"runs": [["live", "LIVE"]]}, "pipelines": [0]},
    )
    told = to_line(JobStarted("0", "STREAMING", 2, **WHOSE))
    EventFiles(tmp_path).append(told)
    shown = _ShownJob(tmp_path)
    shown.views()
    assert shown.controls.actions_of("9f") == (), "no driver runs it"
    lock = JobLock.take(tmp_path)
    try:
        shown.views()
        assert shown.controls.actions_of("9f") == ("savepoint", "stop-with-savepoint")
        for _ in range(3):
            assert shown.controls.begin("9f", JobAction.STOP_WITH_SAVEPOINT)
        requests = SavepointRequests(tmp_path)
        (request,) = requests.waiting()
        assert request.stop
        requests.succeed(request, tmp_path / "savepoints" / request.id)
        wait_until(lambda: not shown.controls.requested_of("9f")["stop-with-savepoint"]["is_open"])
        assert shown.controls.begin("9f", JobAction.SAVEPOINT)
        assert len(requests.waiting()) == 1
    finally:
        lock.release()
    shown.views()
    assert shown.controls.actions_of("9f") == (), "it was killed"
    wait_until(lambda: not requests.waiting())


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_directory_that_is_none(penstock, tmp_path: Path) -> None:
    result = penstock("ui", str(tmp_path))
    assert result.exit_code == 1
    assert "JOB_DIRECTORY" in result.stderr


@pytest.mark.parametrize("port", ["-1", "70000", "x"])
def test_a_port_that_is_none(penstock, tmp_path: Path, port: str) -> None:
    assert penstock("ui", str(tmp_path), "--port", port).exit_code == 2


def test_a_directory_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    write_verified(
        tmp_path / "job.json",
        {"name": "visits", "shape": {"runs": [["live", "LIVE"]]}, "pipelines": [0]},
    )
    observer = JobObserver.at(tmp_path)
    assert observer.view().state == "LOST"
    (tmp_path / "job.json").rename(tmp_path / "elsewhere")
    with pytest.raises(JobDirectoryError, match=r"no job\.json"):
        observer.view()
    (tmp_path / "elsewhere").rename(tmp_path / "job.json")
    assert observer.view().job_name == "visits"
