"""The lock of a checkpoint directory: who is refused, who is waited for, and who is fenced off.

No Spark: a sleeping process plays the JVM that outlives a driver. Can find: a refusal that forgets
whom it was refused for, another process taken for the old JVM, a driver that commits although it
was replaced, a poll that refuses a driver. Cannot find: what Spark's JVM does (`tests/faults`).
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import JobDirectoryError, JobFencedError, JobLockedError
from penstock.spark.job import job_lock, stored_lock
from penstock.spark.job.job_lock import LOCK, JobLock, is_locked
from penstock.spark.session.process_identity import ProcessIdentity
from penstock.wire import fence
from penstock.wire.atomic_file import read_verified, write_verified
from penstock.wire.fence import OWNER, Fence
from tests.faults.processes import wait_for

DRIVER = """
import sys, time
from pathlib import Path
from penstock.spark.job.job_lock import JobLock
lock = JobLock.take(Path(sys.argv[1]))
lock.note_jvm(int(sys.argv[2]))
print("taken", lock.fence.epoch, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_lock, "_OLD_JVM_SECONDS", 0.3)


@contextmanager
def jvm() -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that plays a JVM."""
    process = subprocess.Popen(["sleep", "60"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def driver(directory: Path, jvm_pid: int) -> Iterator[subprocess.Popen[str]]:
    """Run another driver that holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(directory), str(jvm_pid)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("taken")
        yield process
    finally:
        process.kill()
        process.communicate()


def killed_driver(directory: Path, jvm_pid: int) -> None:
    """Leave a directory as a driver does that is killed."""
    with driver(directory, jvm_pid):
        pass


def owner(directory: Path) -> dict[str, Any]:
    return read_verified(directory / OWNER)


def test_a_running_driver_is_named(tmp_path: Path) -> None:
    with driver(tmp_path, os.getpid()) as other:
        assert is_locked(tmp_path)
        with pytest.raises(JobLockedError, match=f"process {other.pid} on") as caught:
            JobLock.take(tmp_path)
    assert str(tmp_path / LOCK) in caught.value.hint
    assert not is_locked(tmp_path)


def test_a_refusal_changes_nothing(tmp_path: Path) -> None:
    with jvm() as old:
        killed_driver(tmp_path, old.pid)
        before = owner(tmp_path)
        for _ in range(3):
            with pytest.raises(JobLockedError, match=f"process {old.pid} on"):
                JobLock.take(tmp_path)
            assert owner(tmp_path) == before
    with closing_lock(tmp_path) as lock:
        assert lock.fence.epoch == before["epoch"] + 1


@contextmanager
def closing_lock(directory: Path) -> Iterator[JobLock]:
    lock = JobLock.take(directory)
    try:
        yield lock
    finally:
        lock.release()


def clock(sleep: Callable[[float], None]) -> SimpleNamespace:
    """Return a `time` for one module; patched for all, threads of other tests would sleep by it too."""
    return SimpleNamespace(monotonic=time.monotonic, sleep=sleep)


def test_the_old_jvm_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_lock, "_OLD_JVM_SECONDS", 60)
    waits: list[float] = []
    with jvm() as old:
        killed_driver(tmp_path, old.pid)

        def end_it(seconds: float) -> None:
            waits.append(seconds)
            old.kill()
            old.wait()

        monkeypatch.setattr(stored_lock, "time", clock(end_it))
        JobLock.take(tmp_path).release()
    assert len(waits) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"started": 1},
        {"boot": "another"},
        {"namespace": "pid:[1]"},
    ],
    ids=["the number was given away", "another boot", "another container"],
)
def test_no_other_process_is_taken_for_the_old_jvm(tmp_path: Path, other: dict[str, Any]) -> None:
    """The number of the old JVM is now that of a living process: this one."""
    killed_driver(tmp_path, os.getpid())
    known = owner(tmp_path)
    assert ProcessIdentity(**known["jvm"]).runs_here()
    known["jvm"] |= other
    write_verified(tmp_path / OWNER, known)
    JobLock.take(tmp_path).release()


def test_a_driver_does_not_wait_for_its_own_jvm(tmp_path: Path) -> None:
    """Its note stays if the disk is full when it releases."""
    with jvm() as own:
        lock = JobLock.take(tmp_path)
        lock.note_jvm(own.pid)
        noted = owner(tmp_path)
        lock.release()
        write_verified(tmp_path / OWNER, noted)
        JobLock.take(tmp_path).release()


def test_who_released_is_not_waited_for(tmp_path: Path) -> None:
    with jvm() as own, closing_lock(tmp_path) as lock:
        lock.note_jvm(own.pid)
        assert owner(tmp_path)["jvm"]["pid"] == own.pid
    assert owner(tmp_path)["jvm"] is None


def test_every_driver_raises_the_epoch(tmp_path: Path) -> None:
    tokens = set()
    for epoch in range(1, 4):
        with closing_lock(tmp_path) as lock:
            assert lock.fence.epoch == epoch
            tokens.add(lock.fence.token)
            lock.fence()
    assert len(tokens) == 3


def test_a_driver_that_was_declared_dead_commits_nothing(tmp_path: Path) -> None:
    with jvm() as old, closing_lock(tmp_path) as first:
        first.note_jvm(old.pid)
        first.fence()
        (tmp_path / LOCK).unlink()
        with closing_lock(tmp_path) as second:
            with pytest.raises(JobFencedError, match="epoch 2, this driver had 1"):
                first.fence()
            with pytest.raises(JobFencedError):
                first.note_jvm(old.pid)
            with pytest.raises(JobFencedError):
                write_verified(tmp_path / "step.json", {}, may_replace=first.fence)
            assert not (tmp_path / "step.json").exists()
            first.release()  # which must not erase the other one
            second.fence()
            assert owner(tmp_path)["driver"]["pid"] == os.getpid()


def test_the_same_epoch_from_hosts_without_common_locks_is_told_apart(tmp_path: Path) -> None:
    with closing_lock(tmp_path) as lock:
        other = Fence(tmp_path / OWNER, lock.fence.epoch, "another")
        with pytest.raises(JobFencedError):
            other()


@contextmanager
def counted_reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """Yield the files that fences read."""
    reads: list[Path] = []

    def read(path: Path) -> Any:
        reads.append(path)
        return read_verified(path)

    with monkeypatch.context() as patch:
        patch.setattr(fence, "read_verified", read)
        yield reads


def test_the_owner_is_read_once_while_nobody_replaces_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing_lock(tmp_path) as lock, counted_reads(monkeypatch) as reads:
        for _ in range(3):
            lock.fence()
        assert len(reads) == 3, "it is young: another one could look like it"
        monkeypatch.setattr(fence, "_YOUNG_SECONDS", -1.0)
        for _ in range(3):
            lock.fence()
        assert len(reads) == 4
        (tmp_path / LOCK).unlink()
        with closing_lock(tmp_path) as other:
            for _ in range(2):
                with pytest.raises(JobFencedError):
                    lock.fence()
            other.fence()
        (tmp_path / OWNER).write_text("{}")
        with pytest.raises(JobDirectoryError):
            lock.fence()


@pytest.mark.parametrize("what", ["written in place", "touched", "restored"])
def test_an_owner_that_changes_in_any_way_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(fence, "_YOUNG_SECONDS", -1.0)
    with closing_lock(tmp_path) as lock, counted_reads(monkeypatch) as reads:
        lock.fence()
        path = tmp_path / OWNER
        before, content = path.stat(), path.read_bytes()
        if what == "restored":
            shutil.copy2(path, tmp_path / "copy")
            (tmp_path / "copy").replace(path)
        elif what == "written in place":
            path.write_bytes(content)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        else:
            os.utime(path)
        lock.fence()
        assert len(reads) == 2


def test_the_file_is_looked_at_again_right_before_the_rename(tmp_path: Path) -> None:
    """Taken over while the new content was being written."""
    with closing_lock(tmp_path) as lock:
        fence, looks = lock.fence, []

        def look() -> None:
            looks.append(1)
            fence()
            if len(looks) == 1:
                write_verified(tmp_path / OWNER, owner(tmp_path) | {"epoch": 99})

        with pytest.raises(JobFencedError):
            write_verified(tmp_path / "step.json", {}, may_replace=look)
        assert len(looks) == 2
        assert not (tmp_path / "step.json").exists()


@pytest.mark.parametrize("content", [b"", b"{}\n", b'{"epoch":1}\ncrc32 00000000\n'])
def test_damage_is_named(tmp_path: Path, content: bytes) -> None:
    with closing_lock(tmp_path) as lock:
        (tmp_path / OWNER).write_bytes(content)
        with pytest.raises(JobDirectoryError, match=OWNER):
            lock.fence()
    with pytest.raises(JobDirectoryError, match=OWNER) as caught:
        JobLock.take(tmp_path)
    assert OWNER in caught.value.hint


def test_polls_refuse_no_driver(tmp_path: Path) -> None:
    """A poller holds the lock, shared, most of the time; every start succeeds all the same."""
    JobLock.take(tmp_path).release()
    stop = threading.Event()
    polls: list[bool] = []

    def poll() -> None:
        while not stop.is_set():
            polls.append(is_locked(tmp_path))

    poller = threading.Thread(target=poll)
    poller.start()
    try:
        wait_for(lambda: len(polls) > 100, 30)
        for _ in range(20):
            JobLock.take(tmp_path).release()
    finally:
        stop.set()
        poller.join()


def test_a_held_probe_delays_a_driver_and_does_not_refuse_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    JobLock.take(tmp_path).release()
    with closing((tmp_path / LOCK).open()) as probe:
        fcntl.flock(probe, fcntl.LOCK_SH)
        waits: list[float] = []

        def end_of_probe(seconds: float) -> None:
            waits.append(seconds)
            fcntl.flock(probe, fcntl.LOCK_UN)

        monkeypatch.setattr(job_lock, "time", clock(end_of_probe))
        JobLock.take(tmp_path).release()
    assert len(waits) == 1


def test_in_a_fresh_pid_namespace_no_process_is_taken_for_the_old_jvm(tmp_path: Path) -> None:
    """There the numbers begin again: the old JVM's may be that of the program's own."""
    unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*unshare, "true"], check=False).returncode
    ):
        pytest.skip("making a PID namespace needs unshare, and root")
    take = (
        "import json, os, sys\n"
        "from pathlib import Path\n"
        "from penstock.spark.job import job_lock, stored_lock\n"
        "stored_lock._OLD_JVM_SECONDS = 0.3\n"
        "lock = job_lock.JobLock.take(Path(sys.argv[1]))\n"
        "lock.note_jvm(os.getpid())\n"
        "print(json.dumps([os.getpid(), lock.fence.epoch]), flush=True)\n"
        "os._exit(0)\n"  # as if it was killed: nothing is released
    )
    command = [*unshare, sys.executable, "-c", take, str(tmp_path)]
    found = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(2)
    ]
    assert found == [[1, 1], [1, 2]]
    assert owner(tmp_path)["jvm"]["pid"] == 1


def test_a_zombie_does_not_run() -> None:
    process = subprocess.Popen(["sleep", "60"])
    identity = ProcessIdentity.of(process.pid)
    assert identity.runs_here()
    assert not replace(identity, started=0).runs_here()
    process.kill()
    wait_for(lambda: not identity.runs_here(), 30)  # not waited for yet, so its number is taken
    process.wait()
