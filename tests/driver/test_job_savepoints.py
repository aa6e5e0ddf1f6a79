"""One savepoint over several pipelines: who adds what when, and what a driver that was killed leaves."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.errors import SavepointError
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.stored_path import JobPath
from penstock.observe.events.job_events import SavepointFailed, SavepointTaken
from penstock.plan.physical import PipelinePlan, RunPlan
from penstock.program.run_settings import RunKind
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints import job_savepoints
from penstock.spark.savepoints.job_savepoints import JobSavepoints
from penstock.spark.savepoints.savepoint_requests import SavepointRequests
from penstock.state.savepoint import (
    Savepoint,
    SourceRecord,
    WatermarkRecord,
    fetch_savepoint,
    merged,
    read_savepoint,
)
from tests.memory_store import MemoryStore

REGION, ORDERS, CLICKS = 0, 1, 2
RUNS = tuple(
    RunPlan(number, name, kind, (), final_results_only=False, hands_over=False, pipeline=number)
    for number, (name, kind) in enumerate(
        [("bounded", RunKind.BATCH), ("live", RunKind.LIVE), ("live", RunKind.LIVE)]
    )
)


class Directory:
    """A checkpoint directory without a lock."""

    is_temporary = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def step(self, name: str) -> Any:
        path = self.path / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def record(self, name: str, payload: Any) -> None:
        (self.path / f"{name}.json").write_text(json.dumps(payload))

    def fence(self) -> None:
        pass


class Job:
    """What `JobSavepoints` needs of a job with a region and two pipelines, one of them behind it."""

    def __init__(self, path: Path, pipelines: int = 3) -> None:
        self.directory = Directory(path)
        self.configuration = Configuration()
        self.session = None
        self.object_settings = None
        parts = (PipelinePlan(0, (0,), is_region=pipelines > 1), PipelinePlan(1, (1,), after=(0,)))
        every = (*parts, PipelinePlan(2, (2,)))[:pipelines]
        self.plan = SimpleNamespace(pipelines=every, runs=RUNS[:pipelines])
        self.told: list[Any] = []
        self.events = SimpleNamespace(publish=self.told.append)

    def start(self) -> JobSavepoints:
        """Return the savepoints of a driver whose pipelines are all in live runs."""
        made = JobSavepoints(self)  # type: ignore[arg-type]
        made.end(REGION, RUNS[REGION])
        made.begin(ORDERS)
        made.begin(CLICKS)
        return made


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


@pytest.fixture
def requests(tmp_path: Path) -> SavepointRequests:
    return SavepointRequests(tmp_path)


def part(run: int, request: str, **changes: Any) -> Savepoint:
    """Return what a pipeline adds: each knows all sources, and the position of its own."""
    sources = tuple(
        SourceRecord(
            f"s{n}",
            f"s{n}",
            ("generator",),
            0 if n == run else None,
            {"run": run} if n == run else {},
        )
        for n in range(3)
    )
    marks = (WatermarkRecord(f"s{run}", f"o{run}", {"-1": run}),)
    facts = {"sources": sources, "watermarks": marks, "memory": {f"o{run}": run}} | changes
    return Savepoint(request, "now", "id", "job", "live", 1, 128, **facts)


def add(savepoints: JobSavepoints, run: int, request: str) -> None:
    savepoints.add(RUNS[run], lambda _: part(run, request))


def test_a_savepoint_begins_when_every_pipeline_can_add_to_it(
    job: Job, requests: SavepointRequests
) -> None:
    requests.submit(None)
    savepoints = JobSavepoints(job)  # type: ignore[arg-type]
    savepoints.begin(ORDERS)
    assert savepoints.next(ORDERS) is None
    savepoints.begin(CLICKS)
    assert savepoints.next(ORDERS) is None, "the region is not complete"
    savepoints.end(REGION, RUNS[REGION])
    assert savepoints.next(ORDERS) is not None
    savepoints.leave(CLICKS)  # it hands over to its next run
    assert savepoints.next(ORDERS) is not None


def test_the_last_pipeline_writes_the_manifest_over_all(
    job: Job, requests: SavepointRequests
) -> None:
    request = requests.submit(None)
    savepoints = job.start()
    for pipeline in (ORDERS, CLICKS):
        assert requests.answer(request.id) is None
        assert savepoints.next(pipeline) == request
        add(savepoints, pipeline, request.id)
        assert savepoints.next(pipeline) is None
        assert not savepoints.is_held(pipeline)
    path = requests.answer(request.id)
    assert isinstance(path, Path)
    found = read_savepoint(path)
    assert {s.uid: (s.part, s.position) for s in found.sources} == {
        "s0": (None, {}),
        "s1": (0, {"run": 1}),
        "s2": (0, {"run": 2}),
    }
    assert [mark.receiver for mark in found.watermarks] == ["o1", "o2"]
    assert found.memory == {"o1": 1, "o2": 2}
    assert [type(event) for event in job.told] == [SavepointTaken]
    assert requests.waiting() == []


def test_a_savepoint_for_a_store_is_copied_when_it_is_whole(
    job: Job, requests: SavepointRequests, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = MemoryStore()
    monkeypatch.setattr(job_savepoints, "store_of", lambda *_: store)
    request = requests.submit(ObjectPath("sales", "savepoints"), stop=True)
    savepoints = job.start()
    for pipeline in (ORDERS, CLICKS):
        assert store.objects == {}
        assert savepoints.next(pipeline) == request
        add(savepoints, pipeline, request.id)
    place = ObjectPath("sales", f"savepoints/{request.id}")
    assert requests.answer(request.id) == place
    assert job.directory.step("stopped") == {"savepoint": str(place)}
    assert list((tmp_path / "savepoints").iterdir()) == []
    fetch_savepoint(store, place, tmp_path / "fetched")
    assert read_savepoint(tmp_path / "fetched").memory == {"o1": 1, "o2": 2}


def test_a_store_that_refuses_fails_the_savepoint_and_not_the_job(
    job: Job, requests: SavepointRequests, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> None:
        raise PermissionError(13, "S3 answered AccessDenied: no")

    store = MemoryStore()
    store.before = refuse
    monkeypatch.setattr(job_savepoints, "store_of", lambda *_: store)
    request = requests.submit(ObjectPath("sales", "savepoints"), stop=True)
    savepoints = job.start()
    for pipeline in (ORDERS, CLICKS):
        savepoints.next(pipeline)
        add(savepoints, pipeline, request.id)
    answer = requests.answer(request.id)
    assert isinstance(answer, SavepointError)
    assert "AccessDenied" in answer.problem
    assert not savepoints.is_held(ORDERS)
    assert [type(event) for event in job.told] == [SavepointFailed]


def test_a_job_that_stops_holds_pipelines_until_all_have_added(
    job: Job, requests: SavepointRequests
) -> None:
    request = requests.submit(None, stop=True)
    savepoints = job.start()
    savepoints.next(ORDERS)
    assert not savepoints.is_held(ORDERS)
    add(savepoints, ORDERS, request.id)
    assert savepoints.is_held(ORDERS)
    assert not savepoints.is_held(CLICKS)
    assert not savepoints.has_stopped
    add(savepoints, CLICKS, request.id)
    assert savepoints.has_stopped
    assert savepoints.is_held(ORDERS)
    assert job.directory.step("stopped") is not None


def test_a_driver_that_starts_in_between_goes_on_with_what_was_added(
    job: Job, requests: SavepointRequests
) -> None:
    request = requests.submit(None, stop=True)
    before = job.start()
    before.next(ORDERS)
    add(before, ORDERS, request.id)
    savepoints = job.start()
    assert savepoints.next(ORDERS) is None
    assert savepoints.is_held(ORDERS)
    assert savepoints.of_event(ORDERS, request.event) is None
    assert savepoints.next(CLICKS) == request
    add(savepoints, CLICKS, request.id)
    assert savepoints.has_stopped
    path = requests.answer(request.id)
    assert isinstance(path, Path)
    assert read_savepoint(path).memory == {"o1": 1, "o2": 2}


def test_a_driver_that_starts_before_the_answer_gives_it(
    job: Job, requests: SavepointRequests, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = requests.submit(None)
    before = job.start()
    before.next(ORDERS)
    add(before, ORDERS, request.id)

    def reached(name: str) -> None:
        if name == "savepoint.written":
            raise KeyboardInterrupt

    monkeypatch.setattr(job_savepoints, "failpoint", reached)
    with pytest.raises(KeyboardInterrupt):
        add(before, CLICKS, request.id)
    monkeypatch.undo()
    savepoints = job.start()
    assert savepoints.next(CLICKS) is None
    assert isinstance(requests.answer(request.id), Path)


def test_a_pipeline_that_fails_to_add_fails_the_savepoint_and_not_the_job(
    job: Job, requests: SavepointRequests
) -> None:
    first = requests.submit(None, stop=True)
    savepoints = job.start()
    savepoints.next(ORDERS)
    add(savepoints, ORDERS, first.id)

    def full(_: JobPath) -> Savepoint:
        raise OSError(28, "No space left on device")

    savepoints.add(RUNS[CLICKS], full)
    assert isinstance(requests.answer(first.id), SavepointError)
    assert isinstance(job.told[-1], SavepointFailed)
    assert not savepoints.is_held(ORDERS)
    second = requests.submit(None)
    assert savepoints.next(ORDERS) == second


def test_a_pipeline_that_has_ended_is_read_from_its_directory(
    job: Job, requests: SavepointRequests, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def settled(_: Any, run: int, *rest: Any) -> Savepoint:
        read.append(run)
        return part(run, rest[-1])

    monkeypatch.setattr(job_savepoints, "settled_part", settled)
    monkeypatch.setattr(ObservedJob, "at", lambda path: path)
    request = requests.submit(None)
    savepoints = job.start()
    savepoints.next(CLICKS)
    add(savepoints, CLICKS, request.id)
    assert (read, requests.answer(request.id)) == ([], None)
    savepoints.leave(ORDERS)
    savepoints.end(ORDERS, RUNS[ORDERS])
    assert read == [ORDERS]
    path = requests.answer(request.id)
    assert isinstance(path, Path)
    assert read_savepoint(path).memory == {"o1": 1, "o2": 2}


def test_a_withdrawn_request_lets_pipelines_go_on(job: Job, requests: SavepointRequests) -> None:
    request = requests.submit(None, stop=True)
    savepoints = job.start()
    savepoints.next(ORDERS)
    add(savepoints, ORDERS, request.id)
    requests.withdraw(request.id)
    assert savepoints.of_event(CLICKS, request.event) is None
    assert not savepoints.is_held(ORDERS)


def test_a_job_of_one_pipeline_records_nothing_in_between(
    tmp_path: Path, requests: SavepointRequests
) -> None:
    job = Job(tmp_path, pipelines=1)
    request = requests.submit(None)
    savepoints = JobSavepoints(job)  # type: ignore[arg-type]
    savepoints.begin(0)
    assert savepoints.next(0) == request
    add(savepoints, 0, request.id)
    assert isinstance(requests.answer(request.id), Path)
    assert not list(tmp_path.glob("run-*"))


def test_one_part_is_the_manifest() -> None:
    only = part(ORDERS, "x")
    assert merged([only]) is only


def test_the_manifest_names_runs_once_and_is_drained_if_a_part_is() -> None:
    drained = part(ORDERS, "x", drained=True, watermarks=())
    both = merged([drained, part(CLICKS, "x")])
    assert (both.run, both.drained, len(both.watermarks)) == ("live", True, 1)
