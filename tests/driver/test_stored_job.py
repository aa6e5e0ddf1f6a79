"""The directory of a job in a store: numbers of drivers, who is alive, and which records count. Nothing here needs Spark.

The zombie of these tests is interrupted at every call to the store, before and after it, by a successor that takes the
directory over and records the same steps with other contents. What the successor has read and recorded must be what every
later driver sees, whatever arrives from the zombie.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import pytest

from penstock.common import Configuration, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.connectors.spark_source import SparkSource
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource
from penstock.errors import JobDirectoryError, JobFencedError, JobLockedError, JobMismatchError
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.stored_path import StoredPath
from penstock.observe.events.event_log import CHUNK_BYTES, EventObjects
from penstock.plan.physical import PhysicalPlan
from penstock.spark.job import stored_lock
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.job.job_lock import is_locked
from penstock.spark.job.job_steps import STEPS, recording, steps_of
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.job.stored_lock import DRIVERS, StoredLock, newest_driver
from penstock.spark.session.process_identity import ProcessIdentity
from penstock.wire.atomic_file import encode_verified
from tests.memory_store import MemoryStore


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def job(store: MemoryStore) -> StoredPath:
    return StoredPath(store, ObjectPath("jobs", "one"))


@pytest.fixture
def plan() -> PhysicalPlan:
    return plan_of()


def plan_of(parallelism: int = 1) -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": parallelism})
    )
    numbers = env.from_source(
        DataGeneratorSource(lambda i: i), WatermarkStrategy.no_watermarks(), "numbers"
    )
    numbers.key_by(lambda v: v).reduce(max).uid("greatest").sink_to(DiscardingSink())
    return env.plan()


def abandoned(job: StoredPath) -> StoredLock:
    """Take the directory over, as somebody on another machine whose driver is dead by a user's word."""
    for path in (job / DRIVERS).iterdir():
        if path.name.endswith(".alive"):
            path.unlink()
    return StoredLock.take(job)


def test_drivers_have_numbers_without_holes(job: StoredPath) -> None:
    for epoch in (1, 2, 3):
        lock = StoredLock.take(job)
        assert lock.fence.epoch == newest_driver(job) == epoch
        assert is_locked(job)
        lock.fence()
        lock.release()
        assert not is_locked(job)


def test_a_second_driver_of_this_machine_is_refused_at_once(job: StoredPath) -> None:
    lock = StoredLock.take(job)
    with pytest.raises(JobLockedError, match="another driver"):
        StoredLock.take(job)
    lock.fence()
    lock.release()


def test_a_driver_whose_sign_of_life_was_removed_is_fenced(job: StoredPath) -> None:
    first = StoredLock.take(job)
    second = abandoned(job)
    with pytest.raises(JobFencedError, match="this driver had epoch 1"):
        first.fence()
    with pytest.raises(JobFencedError):
        first.note_jvm(1)
    first.release()
    second.fence()
    assert is_locked(job)
    second.release()


class CarelessStore(MemoryStore):
    """Takes a condition and ignores it, as some servers that speak S3's protocol do."""

    def create(self, path: ObjectPath, data: bytes) -> None:
        self.write(path, data)


def test_a_store_that_ignores_conditions_is_refused() -> None:
    job = StoredPath(CarelessStore(), ObjectPath("jobs", "one"))
    with pytest.raises(JobDirectoryError, match="ignores If-None-Match") as caught:
        StoredLock.take(job)
    assert "000000000001.json" in str(caught.value)
    assert not is_locked(job), "nothing says that a driver is alive"


def test_of_two_drivers_that_start_together_one_gets_the_number(
    job: StoredPath, store: MemoryStore
) -> None:
    others: list[StoredLock] = []

    def interrupt(call: str) -> None:
        if call == "create" and not others:
            store.before = lambda _: None
            others.append(StoredLock.take(job))

    store.before = interrupt
    with pytest.raises(JobLockedError):
        StoredLock.take(job)
    others[0].fence()
    others[0].release()


def elsewhere(job: StoredPath, epoch: int = 1) -> StoredPath:
    """Let a driver of another machine be the newest one; return its sign of life."""
    drivers = job / DRIVERS
    own = drivers / f"{epoch:012}.json"
    own.store.create(own.address, encode_verified({"epoch": epoch, "token": "x"}))
    identity = replace(ProcessIdentity.own(), host="other", boot="other", namespace="other")
    alive = drivers / f"{epoch:012}.alive"
    payload = {"driver": identity.to_json(), "jvm": None}
    alive.store.write(alive.address, encode_verified(payload))
    return alive


def test_a_driver_of_another_machine_is_lost_when_its_sign_of_life_is_old(
    job: StoredPath, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_lock, "LOST_SECONDS", 0.3)
    monkeypatch.setattr(stored_lock, "_LOOK_SECONDS", 0.05)
    elsewhere(job)
    assert is_locked(job)
    lock = StoredLock.take(job)
    assert lock.fence.epoch == 2
    lock.release()


def test_a_driver_of_another_machine_that_gives_a_sign_of_life_is_running(
    job: StoredPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_lock, "LOST_SECONDS", 30.0)
    monkeypatch.setattr(stored_lock, "_LOOK_SECONDS", 0.05)
    alive = elsewhere(job)
    data = alive.read_bytes()
    timer = threading.Timer(0.2, lambda: alive.store.write(alive.address, data))
    timer.start()
    with pytest.raises(JobLockedError, match="on other"):
        StoredLock.take(job)
    timer.join()


def test_steps_are_those_of_the_last_driver_and_of_the_earlier_ones_it_saw(
    job: StoredPath,
) -> None:
    assert steps_of(job).read("a") is None
    first = StoredLock.take(job)
    steps = recording(job, first.fence)
    steps.record("a", {"by": 1}, first.fence)
    steps.record("b", {"by": 1}, first.fence)
    steps.record("a", {"by": 1, "again": True}, first.fence)
    for seen in (steps, steps_of(job)):
        assert seen.names() == {"a", "b"}
        assert seen.read("a") == {"by": 1, "again": True}
    first.release()
    second = StoredLock.take(job)
    later = recording(job, second.fence)
    assert later.names() == {"a", "b"}
    later.record("b", {"by": 2}, second.fence)
    assert steps_of(job).read("b") == {"by": 2}
    with pytest.raises(JobFencedError):
        steps.record("a", {"by": 1, "late": True}, first.fence)
    assert steps_of(job).read("a") == {"by": 1, "again": True}
    later.record("c", {}, second.fence)
    later.forget("c")
    assert steps_of(job).read("c") is None
    second.release()


def test_a_damaged_step_is_an_error(job: StoredPath) -> None:
    lock = StoredLock.take(job)
    recording(job, lock.fence).record("a", {"n": 1}, lock.fence)
    (path,) = (job / STEPS / "000000000001").glob("*-a.json")
    path.store.write(path.address, path.read_bytes().replace(b"1", b"2"))
    with pytest.raises(JobDirectoryError, match="is damaged"):
        steps_of(job).read("a")
    lock.release()


class Interrupted:
    """A successor that acts once, at one call of the zombie."""

    def __init__(self, store: MemoryStore, when: str, nth: int, act: Callable[[], None]) -> None:
        self.calls = 0
        self.has_acted = False
        self._nth, self._act, self._store = nth, act, store
        setattr(store, when, self._count)

    def _count(self, call: str) -> None:
        self.calls += 1
        if self.calls == self._nth and not self.has_acted:
            self.has_acted = True
            quiet = self._store.before, self._store.after
            self._store.before = self._store.after = lambda _: None
            self._act()
            self._store.before, self._store.after = quiet


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, 40))
def test_what_a_successor_saw_and_recorded_stays_whatever_the_zombie_puts(
    when: str, nth: int
) -> None:
    store = MemoryStore()
    job = StoredPath(store, ObjectPath("jobs", "one"))
    seen: dict[str, object] = {}

    def succeed() -> None:
        lock = abandoned(job)
        steps = recording(job, lock.fence)
        seen["pinned"] = steps.read("pinned")
        if seen["pinned"] is None:
            steps.record("pinned", {"by": "successor"}, lock.fence)
            seen["pinned"] = {"by": "successor"}
        seen["stopped"] = steps.read("stopped")
        lock.release()

    interrupted = Interrupted(store, when, nth, succeed)
    acted_on: list[str] = []
    lock = None
    with suppress(JobFencedError, JobLockedError):
        lock = StoredLock.take(job)
        if lock.fence.epoch == 2:
            return  # it began after the other one was through
        steps = recording(job, lock.fence)
        for name in ("pinned", "stopped"):
            steps.record(name, {"by": "zombie"}, lock.fence)
            acted_on.append(name)
    if lock is not None:
        lock.release()
    store.before = store.after = lambda _: None
    if not interrupted.has_acted:
        assert nth > 10
        return  # it was through before
    last = abandoned(job)
    final = recording(job, last.fence)
    last.release()
    assert final.read("pinned") == seen["pinned"], "what counts has changed behind the successor"
    assert final.read("stopped") == seen["stopped"]
    for name in acted_on:  # the zombie acted on it, so everybody later must see it
        assert final.read(name) == {"by": "zombie"}


def test_a_job_goes_on_in_a_store(job: StoredPath, plan: PhysicalPlan) -> None:
    directory = JobDirectory.open(job, plan, "greatest")
    assert directory.is_new
    directory.record("run-0.pinned", {"files": {}})
    with pytest.raises(JobLockedError):
        JobDirectory.open(job, plan, "greatest")
    directory.release()
    observed = ObservedJob.at(job)
    assert (observed.name, observed.is_running()) == ("greatest", False)
    again = JobDirectory.open(job, plan, "greatest")
    assert (again.is_new, again.has_begun, again.job_id) == (False, True, directory.job_id)
    assert again.step("run-0.pinned") == {"files": {}}
    again.release()
    with pytest.raises(JobMismatchError):
        JobDirectory.open(job, plan, "another")


def test_a_job_that_has_not_begun_is_forgotten(job: StoredPath, plan: PhysicalPlan) -> None:
    directory = JobDirectory.open(job, plan, "one")
    directory.record("run-0.pinned", {})
    directory.refuse()
    other = JobDirectory.open(job, plan, "another")
    assert other.is_new
    other.release()


def test_a_place_with_other_objects_is_refused(job: StoredPath, plan: PhysicalPlan) -> None:
    job.store.write((job / "report.csv").address, b"")
    with pytest.raises(JobDirectoryError, match=r"report\.csv"):
        JobDirectory.open(job, plan, "one")


def test_a_zombie_removes_nothing_that_its_successor_has_put(
    job: StoredPath, plan: PhysicalPlan, store: MemoryStore
) -> None:
    zombie = JobDirectory.open(job, plan, "one")
    store.write((job / "run-0" / "snapshot" / "old").address, b"")

    def succeed(call: str) -> None:
        if call == "list":
            store.after = lambda _: None
            abandoned(job).release()
            store.write((job / "run-0" / "snapshot" / "new").address, b"")

    store.after = succeed
    with pytest.raises(JobFencedError):
        zombie.forget_run_files(0, "snapshot")
    assert (job / "run-0" / "snapshot" / "new").exists()
    zombie.release()


def test_what_needs_files_is_refused_with_its_reason(job: StoredPath) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    frame = SimpleNamespace(
        mapInArrow=None,
        isStreaming=True,
        columns=["a"],
        schema=SimpleNamespace(jsonValue=lambda: {"fields": [{"name": "a", "type": "long"}]}),
    )
    numbers = env.from_source(SparkSource(frame), WatermarkStrategy.no_watermarks(), "numbers")
    numbers.sink_to(DiscardingSink())
    with pytest.raises(
        JobDirectoryError, match="is a DataFrame, which Spark writes to files"
    ) as caught:
        JobDirectory.open(job, env.plan(), "one")
    assert "mount" in caught.value.hint


def test_events_are_objects_of_bounded_size(job: StoredPath) -> None:
    files = EventObjects(job)
    line = "x" * 1000 + "\n"
    for _ in range(200):
        files.append(line)
    names = [path.name for path in (job / "events").iterdir()]
    assert 2 <= len(names) <= 200_000 // CHUNK_BYTES + 1
    assert list(files.lines()) == [line] * 200
    assert files.latest_bytes == 200 * len(line)
    stamp = files.stamp()
    other = EventObjects(job)
    other.append("later\n")
    assert other.latest_bytes == 200 * len(line) + len("later\n")
    assert files.stamp() != stamp
    assert list(EventObjects(job).lines()) == [line] * 200 + ["later\n"]
    other.rotate("earlier\n")
    other.append("new\n")
    assert list(files.lines()) == ["earlier\n", "new\n"]
