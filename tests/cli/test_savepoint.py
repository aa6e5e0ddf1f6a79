"""`penstock savepoint` against checkpoint directories without a job behind them."""

from __future__ import annotations

import fcntl
import threading
import time
from contextlib import contextmanager

import pytest

from penstock.errors import SavepointError
from penstock.spark.savepoints.savepoint_requests import SavepointRequest, SavepointRequests
from penstock.wire.atomic_file import write_verified

BOUNDED, RESULTS = ["bounded", "BATCH"], ["results", "LIVE"]
HISTORY, LIVE, BATCH = ["history", "BATCH"], ["live", "LIVE"], ["batch", "BATCH"]


@pytest.fixture
def job(tmp_path):
    """Return a maker of checkpoint directories: runs and steps that were recorded."""

    def make(*runs, **steps):
        shape = {"runs": list(runs)}
        payload = {"name": "visits", "shape": shape, "pipelines": [0] * len(runs)}
        for name, record in {"job": payload, **steps}.items():
            write_verified(tmp_path / f"{name.replace('run_', 'run-')}.json", record)
        (tmp_path / "lock").touch()
        return tmp_path

    return make


@contextmanager
def driver(directory, answer=None):
    """Hold the lock as a driver does, and give one request its answer."""
    requests = SavepointRequests(directory)
    seen: list[SavepointRequest] = []
    over = threading.Event()

    def serve():
        while not over.is_set():
            for request in requests.waiting():
                seen.append(request)
                if answer is not None:
                    answer(requests, request)
                    return
            time.sleep(0.01)

    with (directory / "lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield seen
        finally:
            over.set()
            thread.join()


def succeed(requests, request):
    requests.succeed(request, request.parent or "the default")


def test_the_path_is_the_only_thing_on_stdout(penstock, job, tmp_path):
    with driver(job(LIVE), succeed) as seen:
        result = penstock("savepoint", str(tmp_path), "to", "--stop")
    assert result.exit_code == 0, result.output
    assert seen[0].stop
    assert not seen[0].drain
    assert result.stdout == f"{seen[0].parent}\n"
    assert seen[0].parent.startswith("/"), "the driver may have another working directory"
    assert "waiting for the micro-batch" in result.stderr


def test_a_job_that_cannot_says_why(penstock, job, tmp_path):
    def fail(requests, request):
        requests.fail(request, SavepointError("the disk is full", hint="Make room."))

    with driver(job(LIVE), fail):
        result = penstock("savepoint", str(tmp_path))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "[SAVEPOINT] the disk is full" in result.stderr
    assert "Make room." in result.stderr


def test_a_batch_run_is_waited_for_and_named(penstock, job, tmp_path):
    with driver(job(HISTORY, LIVE)) as seen:
        result = penstock("savepoint", str(tmp_path), "--timeout", "300ms")
    assert result.exit_code == 1
    assert "batch run 'history', which cannot give a savepoint before it is done" in result.stderr
    assert "no savepoint after 0.3 s; the job is still in its batch run 'history'" in result.stderr
    assert seen, "the request must reach the driver"
    assert SavepointRequests(tmp_path).waiting() == [], "a request nobody waits for stays"


def test_the_results_of_a_bounded_region_are_waited_for(penstock, job, tmp_path):
    # A savepoint of that run would miss the results that are in the checkpoint directory only.
    with driver(job(BOUNDED, RESULTS, LIVE, **{"run_0.done": {}})):
        result = penstock("savepoint", str(tmp_path), "--timeout", "300ms")
    assert result.exit_code == 1
    assert "the job is in its run 'results', which cannot give a savepoint" in result.stderr


def test_a_run_that_is_done_is_not_waited_for(penstock, job, tmp_path):
    with driver(job(HISTORY, LIVE, **{"run_0.done": {}}), succeed):
        result = penstock("savepoint", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "history" not in result.stderr


def test_a_driver_that_ends_is_noticed(penstock, job, tmp_path):
    requests = SavepointRequests(job(LIVE))

    def end_when_asked():
        while not requests.waiting():
            time.sleep(0.01)
        lock.close()

    with (tmp_path / "lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        threading.Thread(target=end_when_asked, daemon=True).start()
        result = penstock("savepoint", str(tmp_path), "--timeout", "5min")
    assert result.exit_code == 1
    assert "the driver of job 'visits' ended before it took the savepoint" in result.stderr
    assert SavepointRequests(tmp_path).waiting() == []


@pytest.mark.parametrize(
    ("runs", "steps", "says"),
    [
        ([BATCH], {}, "is a batch job"),
        ([LIVE], {"finished": {}}, "it is finished"),
        ([LIVE], {"stopped": {"savepoint": "/there"}}, "it was stopped with savepoint /there"),
        ([HISTORY, LIVE], {}, "is not running and is in its batch run 'history'"),
        (
            [BOUNDED, RESULTS, LIVE],
            {"run_0.done": {}},
            "is not running and is in its run 'results'",
        ),
        ([LIVE], {}, "is not running and has not begun"),
    ],
)
def test_what_has_no_savepoint_to_give(penstock, job, runs, steps, says):
    result = penstock("savepoint", str(job(*runs, **steps)))
    assert result.exit_code == 1
    has_ended = "cannot give a savepoint: " if says.startswith("it ") else ""
    assert f"[SAVEPOINT] job 'visits' {has_ended}{says}" in result.stderr


def test_another_directory_is_refused(penstock, tmp_path):
    result = penstock("savepoint", str(tmp_path / "nowhere"))
    assert result.exit_code == 1
    assert "[JOB_DIRECTORY]" in result.stderr
    assert "not a checkpoint directory" in result.stderr


def test_a_timeout_without_a_unit_is_refused(penstock, job):
    result = penstock("savepoint", str(job(LIVE)), "--timeout", "5")
    assert result.exit_code == 1
    assert "--timeout 5" in result.stderr


def test_a_damaged_request_is_answered_and_does_not_hold_others_up(tmp_path):
    requests = SavepointRequests(tmp_path)
    first, second = requests.submit(None), requests.submit(None)
    path = tmp_path / "requests" / f"{first.id}.json"
    path.write_bytes(path.read_bytes()[:-3])
    assert requests.waiting() == [second]
    assert isinstance(requests.answer(first.id), SavepointError)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"priority": 3}, "unknown field 'priority'"),
        ({"id": None}, "lacks the field 'id'"),
        ({"id": "../../elsewhere"}, "has the id '../../elsewhere'"),
        ({"id": "20261120T094752Z-b1f1d724"}, "has the id"),
        ({"stop": "yes"}, "has 'yes' as 'stop'"),
        ({"parent": 7}, "has 7 as 'parent'"),
    ],
)
def test_what_is_no_request_is_refused_and_the_job_goes_on(tmp_path, changed, says):
    requests = SavepointRequests(tmp_path)
    first, second = requests.submit(None), requests.submit(None)
    payload = {"id": first.id, "parent": None, "stop": False, "drain": False} | changed
    written = {name: value for name, value in payload.items() if value is not None or name != "id"}
    write_verified(tmp_path / "requests" / f"{first.id}.json", written)
    assert requests.waiting() == [second]
    answer = requests.answer(first.id)
    assert isinstance(answer, SavepointError)
    assert says in answer.problem
    assert not (tmp_path / "requests" / f"{first.id}.json").exists(), "it would be looked at again"


def test_a_file_of_another_name_is_no_request(tmp_path):
    requests = SavepointRequests(tmp_path)
    first = requests.submit(None)
    write_verified(tmp_path / "requests" / "2.json", {"id": "2"})
    assert requests.waiting() == [first]
    assert isinstance(requests.answer("2"), SavepointError)


def test_operators_without_a_uid_are_told_once(penstock, job, tmp_path):
    def taken(requests, request):
        requests.succeed(request, request.parent or "the default", ("reduce-0542d655c0ef",))

    with driver(job(LIVE), taken):
        result = penstock("savepoint", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert result.stderr.count("reduce-0542d655c0ef") == 1
    assert "set a uid" in result.stderr
    assert "reduce" not in result.stdout
