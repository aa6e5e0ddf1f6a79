"""`penstock status`, `penstock top` and JSON logs against checkpoint directories without a job behind them."""

from __future__ import annotations

import fcntl
import json
import logging
import re
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.metrics.values import CounterValue, GaugeValue
from penstock.observe.events.event_json import to_line
from penstock.observe.events.event_log import EventFiles
from penstock.observe.events.job_events import (
    BatchProgress,
    JobEnded,
    JobStarted,
    MetricsReported,
    MicroBatch,
    PendingInputMeasured,
    Restarting,
    RoundFinished,
    RoundProgress,
    RunFinished,
    RunStarted,
    Switched,
)
from penstock.wire.atomic_file import write_verified

ERROR = {"code": "USER_FUNCTION", "problem": "it raised", "hint": "correct it", "origin": "j.py:3"}
NODES = [
    {"id": "n0", "kind": "source", "uid": "flights", "name": "flights", "level": 0},
    {"id": "n1", "kind": "keyed_reduce", "uid": "totals", "name": "totals", "level": 1},
    {"id": "s0", "kind": "sink", "uid": "out", "name": "out", "level": 1},
]
BEGUN = [
    JobStarted("0.1.0", "STREAMING", 2, nodes=NODES),
    RunStarted("history", "batch", "flights", bounded=True),
    RunFinished("history", "batch", 4_000_000, 3.2),
    RunStarted("live", "live", "flights", bounded=False),
    Switched(0.8, None),
    MetricsReported(
        {
            "totals.numRecordsOut": CounterValue(4_000_400),
            "totals.numLateRecordsDropped": CounterValue(7),
            "totals.currentInputWatermark": GaugeValue(1_795_168_072_000),
        },
        {},
        {"level-0.read": 9.0, "level-1.operator.totals": 1.25},
        {"totals": 4_000_500},
        subtasks={"totals": [100, 900, 100, 100]},
        state_keys={"totals": 1_234},
        state_bytes={"totals": 4_200_000},
        sinks={"out": {"records": 7, "commits": 3, "seconds": 0.25, "files": 2, "bytes": 5_000}},
    ),
]


@pytest.fixture
def job(tmp_path):
    """Return a maker of checkpoint directories with a log of events."""

    def make(*events, **steps):
        payload = {"name": "visits", "shape": {"runs": [["live", "LIVE"]]}, "pipelines": [0]}
        for name, record in {"job": payload, **steps}.items():
            write_verified(tmp_path / f"{name}.json", record)
        (tmp_path / "lock").touch()
        if events:
            now = time.time_ns() // 1_000_000
            told = [replace(each, job_id="9f", job_name="visits") for each in events]
            told = [each if each.at_ms else replace(each, at_ms=now) for each in told]
            EventFiles(tmp_path).append("".join(map(to_line, told)))
        return str(tmp_path)

    return make


@contextmanager
def driver(directory):
    with Path(directory, "lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def live(*, records_behind=0, ago_ms=0):
    at = time.time_ns() // 1_000_000 - ago_ms
    return MicroBatch(3, 500, 500, 0.1, None, records_behind, at_ms=at)


def status_of(penstock, directory, *arguments):
    result = penstock("status", directory, "--json", *arguments)
    return result.exit_code, json.loads(result.stdout)


def test_a_running_job(penstock, job):
    directory = job(*BEGUN, live())
    with driver(directory):
        code, found = status_of(penstock, directory)
        shown = penstock("status", directory)
    assert code == shown.exit_code == 0
    assert (found["job_id"], found["name"], found["status"]) == ("9f", "visits", "RUNNING")
    assert (found["records"], found["behind_seconds"]) == (4_000_500, 0)
    history, now = found["runs"]
    assert (history["progress"], history["records_per_second"]) == (1.0, 1_250_000)
    assert (now["micro_batch"], now["switch_seconds"], now["finished_ms"]) == (3, 0.8, None)
    assert found["operators"] == [
        {
            "uid": "totals",
            "name": "totals",
            "kind": "keyed_reduce",
            "level": 1,
            "records": 4_000_500,
            "records_out": 4_000_400,
            "late_records": 7,
            "combined_in": None,
            "combined_out": None,
            "watermark_ms": 1_795_168_072_000,
            "busy_seconds": 1.25,
            "state_keys": 1_234,
            "state_bytes": 4_200_000,
            "subtask_records": [100, 900, 100, 100],
            "skew": 3.0,
            "hot_subtask": 1,
        }
    ]
    assert found["sinks"] == [
        {
            "uid": "out",
            "name": "out",
            "records": 7,
            "commits": 3,
            "commit_seconds": 0.25,
            "files": 2,
            "bytes": 5_000,
        }
    ]
    assert "visits RUNNING  4,000,500 records, not behind" in shown.stdout
    assert "switched in 0.8 s" in shown.stdout
    assert "1,234 keys, 4.2 MB" in shown.stdout
    assert "1 of 4 gets 75%" in shown.stdout
    assert re.search(r"^out +out +7 +3 +0.2 s +2 +5.0 kB", shown.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("received", "hot"),
    [
        ([5, 5], None),
        ([1, 9], None),
        ([0, 900], None),
        ([600, 1_000], None),
        ([100, 1_900], 1),
        ([1_000], None),
        ([1_000, 1_000, 1_000], None),
        ([0, 5_000], 1),
        ([], None),
    ],
)
def test_a_subtask_is_hot_that_gets_far_more_than_its_share(penstock, job, received, hot):
    told = MetricsReported({}, {}, {}, {"totals": sum(received)}, subtasks={"totals": received})
    directory = job(*BEGUN[:-1], told)
    with driver(directory):
        _, found = status_of(penstock, directory)
    assert found["operators"][0]["hot_subtask"] == hot


def test_names_with_brackets_are_shown_whole(penstock, job):
    """To the library of the tables brackets are markup, and `[/x]` an error."""
    name = "t[eu][/b] [bold]"
    nodes = [each | {"name": name, "uid": name} for each in NODES]
    told = MetricsReported(
        {}, {}, {}, {name: 7}, sinks={name: {"records": 7, "commits": 3, "seconds": 0.25}}
    )
    run = RunStarted(name, "live", name, bounded=False)
    directory = job(JobStarted("0.1.0", "STREAMING", 2, nodes=nodes), run, told)
    with driver(directory):
        shown = penstock("status", directory)
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.count(name) == 5


def test_tasks_that_read_have_input_of_any_size_and_none_is_hot(penstock, job):
    read = JobStarted("0.1.0", "STREAMING", 2, nodes=[{**node, "level": 0} for node in NODES])
    told = MetricsReported({}, {}, {}, {"totals": 9_000}, subtasks={"totals": [0, 9_000]})
    directory = job(read, *BEGUN[1:-1], told)
    with driver(directory):
        _, found = status_of(penstock, directory)
    assert found["operators"][0]["hot_subtask"] is None


def test_a_metric_of_a_function_may_have_the_name_of_one_of_ours(penstock, job):
    odd = {
        "totals.numRecordsOut": GaugeValue("many"),
        "totals.currentInputWatermark": GaugeValue(0.5),
    }
    directory = job(*BEGUN[:-1], MetricsReported(odd, {}, {}, {"totals": 5}))
    with driver(directory):
        code, found = status_of(penstock, directory)
    assert code == 0
    assert found["operators"][0]["records_out"] is None
    assert found["operators"][0]["watermark_ms"] is None


def test_history_shows_its_progress(penstock, job):
    directory = job(*BEGUN[:2], BatchProgress(3, 4, 1.0, 3_000_000))
    with driver(directory):
        code, found = status_of(penstock, directory, "--max-behind", "1s")
        shown = penstock("status", directory).stdout
        assert "75%" in shown
        assert "3,000,000" in shown
    assert code == 0, "history is no backlog that somebody waits for"
    assert found["runs"][0]["progress"] == 0.75
    assert found["runs"][0]["records_so_far"] == 3_000_000
    assert found["records"] == 0, "nothing is committed"


@pytest.mark.parametrize(("limit", "expected"), [("1min", 2), ("1h", 0)])
def test_a_job_that_is_behind(penstock, job, limit, expected):
    directory = job(*BEGUN, live(records_behind=9_000, ago_ms=600_000))
    with driver(directory):
        code, found = status_of(penstock, directory, "--max-behind", limit)
        shown = penstock("status", directory)
    assert code == expected
    assert 600 <= found["behind_seconds"] < 660
    assert "10 min" in shown.stdout
    assert "9,000 records" in shown.stdout


def test_an_idle_job_is_not_behind_however_long_it_waits(penstock, job):
    hour = 3_600_000
    directory = job(
        *BEGUN,
        live(records_behind=9_000, ago_ms=2 * hour),
        PendingInputMeasured(0, None, 0.0, at_ms=time.time_ns() // 1_000_000 - hour),
    )
    with driver(directory):
        code, found = status_of(penstock, directory, "--max-behind", "1s")
    assert (code, found["behind_seconds"]) == (0, 0)
    assert found["runs"][1]["records_per_second"] == 0


def test_a_job_whose_pending_input_nobody_counts_says_so(penstock, job):
    directory = job(*BEGUN, MicroBatch(0, 1, 1, 0.1, None))
    with driver(directory):
        result = penstock("status", directory, "--max-behind", "1s")
    assert result.exit_code == 0
    assert "--max-behind has no effect" in result.stderr


def test_a_failed_job(penstock, job):
    directory = job(*BEGUN, JobEnded("FAILED", ERROR))
    code, found = status_of(penstock, directory)
    assert (code, found["status"], found["error"]) == (1, "FAILED", ERROR)
    shown = penstock("status", directory).stdout
    assert "[USER_FUNCTION] it raised" in shown
    assert "fix: correct it" in shown


def test_the_rounds_of_an_upgrade_are_listed(penstock, job):
    behind = [{"source": "flights", "ahead": 3, "unit": "files"}]
    directory = job(
        BEGUN[0],
        RoundProgress(0, "batch"),
        RoundFinished(0, "batch", 4_000, 2.0, behind),
        RoundProgress(1, "live", 0.5, 70),
    )
    with driver(directory):
        code, found = status_of(penstock, directory)
        lines = penstock("status", directory).stdout.splitlines()
    assert (code, found["status"], found["runs"]) == (0, "RUNNING", [])
    assert [each["behind"] for each in found["rounds"]] == [behind, []]
    (first,) = [line.split() for line in lines if line.startswith("0 ")]
    assert " ".join(first) == (
        "0 done in 2.0 s 4,000 2,000 records/s behind the old job by 3 files of flights"
    )
    (second,) = [line.split() for line in lines if line.startswith("1 ")]
    assert " ".join(second) == "1 since 0.5 s 70 140 records/s"


def test_a_job_that_restarts_tells_why(penstock, job):
    directory = job(*BEGUN, Restarting(2, 3, 60.0, "it raised", ERROR))
    with driver(directory):
        code, found = status_of(penstock, directory)
    assert (code, found["status"], found["restarts"]) == (0, "RESTARTING", 2)
    assert found["error"] == ERROR


def test_a_job_whose_driver_was_killed(penstock, job):
    directory = job(*BEGUN, live())
    code, found = status_of(penstock, directory)
    assert (code, found["status"], found["behind_seconds"]) == (1, "LOST", None)
    assert "start the same command again" in penstock("status", directory).stdout


def test_a_driver_that_takes_over_has_not_failed(penstock, job):
    """It has the lock, and has not told anything yet."""
    directory = job(*BEGUN, JobEnded("FAILED", ERROR))
    with driver(directory):
        code, found = status_of(penstock, directory)
    assert (code, found["status"]) == (0, "CREATED")


@pytest.mark.parametrize(
    ("events", "steps", "status"),
    [
        ([*BEGUN, JobEnded("FINISHED")], {}, "FINISHED"),
        ([*BEGUN, JobEnded("CANCELED")], {}, "CANCELED"),
        (BEGUN, {"finished": {"runs": 2}}, "FINISHED"),
        ([], {"stopped": {"savepoint": "/sp"}}, "FINISHED"),
    ],
)
def test_a_job_that_is_over(penstock, job, events, steps, status):
    code, found = status_of(penstock, job(*events, **steps))
    assert (code, found["status"], found["name"]) == (0, status, "visits")


def test_a_directory_that_is_none(penstock, tmp_path):
    result = penstock("status", str(tmp_path))
    assert result.exit_code == 1
    assert "JOB_DIRECTORY" in result.stderr


@pytest.mark.parametrize("limit", ["5", "soon"])
def test_a_limit_that_is_none(penstock, job, limit):
    result = penstock("status", job(*BEGUN), "--max-behind", limit)
    assert result.exit_code == 1
    assert f"--max-behind {limit}" in result.stderr


def test_top_without_a_terminal_prints_once(penstock, job):
    directory = job(*BEGUN, live())
    with driver(directory):
        result = penstock("top", directory)
    assert result.exit_code == 0
    assert result.stdout.count("visits RUNNING") == 1


def test_top_ends_with_the_job(penstock, job, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    result = penstock("top", job(*BEGUN, JobEnded("FINISHED")), "--interval", "10ms")
    assert result.exit_code == 0
    assert "visits" in result.stdout


@pytest.fixture
def _no_handlers():
    logger = logging.getLogger("penstock")
    before = logger.handlers[:], logger.propagate, logger.level
    yield
    logger.handlers[:], logger.propagate = before[0], before[1]
    logger.setLevel(before[2])


@pytest.mark.usefixtures("_no_handlers")
def test_log_lines_as_json(penstock, program):
    path = program("""
        import logging
        from penstock.observe.events.job_events import RunStarted
        from penstock.observe.events.listeners import JobEvents

        JobEvents("9f", "visits").publish(RunStarted("live", "live", "numbers", False))
        logging.getLogger("penstock.other").warning("look %s", "here")
        try:
            raise ValueError("mine")
        except ValueError:
            logging.getLogger("penstock").exception("failed")
    """)
    result = penstock("run", path, "-D", "logging.format=json")
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert [line["message"] for line in lines] == [
        "visits: live: started, reads numbers",
        "look here",
        "failed",
    ]
    assert [line["level"] for line in lines] == ["INFO", "WARNING", "ERROR"]
    about = lines[0]
    assert (about["job_id"], about["job_name"], about["logger"]) == ("9f", "visits", "penstock")
    assert about["event"]["event"] == "RunStarted"
    assert about["event"]["name"] == "live"
    assert about["time"].endswith("Z")
    assert "ValueError: mine" in lines[2]["error"]
