"""Failpoints: the accident happens at the place and time that were asked for, once."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import penstock.failpoint
from penstock.errors import JobFailedError
from penstock.failpoint import count_anew, failpoint

Arm = Callable[..., None]


@pytest.fixture
def arm(monkeypatch: pytest.MonkeyPatch) -> Arm:
    """Return what arms places, for a process that has passed none."""
    count_anew()

    def arm(*places: str, marker: Path | None = None) -> None:
        monkeypatch.setenv("PENSTOCK_FAILPOINT", ",".join(places))
        if marker is not None:
            monkeypatch.setenv("PENSTOCK_FAILPOINT_MARKER", str(marker))

    return arm


def test_nothing_happens_unless_it_is_armed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_FAILPOINT", raising=False)
    failpoint("a")


def test_it_happens_the_time_it_was_asked_for(arm: Arm) -> None:
    arm("a:2:raise")
    failpoint("a")
    failpoint("ab")
    failpoint("b")
    with pytest.raises(JobFailedError, match="failpoint a fired"):
        failpoint("a")
    failpoint("a")


def test_a_place_in_a_thread_is_met_by_that_thread_only(arm: Arm) -> None:
    arm("a@second:2:raise")
    failures: list[str] = []

    def pass_twice() -> None:
        failpoint("a")
        try:
            failpoint("a")
        except JobFailedError as failure:
            failures.append(f"{threading.current_thread().name}: {failure.problem}")

    for name in ("first", "second"):
        thread = threading.Thread(target=pass_twice, name=name)
        thread.start()
        thread.join()
    pass_twice()
    assert failures == ["second: failpoint a fired"]


def test_several_places_have_a_marker_each(arm: Arm, tmp_path: Path) -> None:
    arm("a:1:raise", "b:1:disk-full", "a:2:disk-full", marker=tmp_path)
    with pytest.raises(JobFailedError):
        failpoint("a")
    assert (tmp_path / "a:1:raise").read_text() == f"a:1:raise\n{os.getpid()}\n"
    for name in ("a", "b"):
        with pytest.raises(OSError, match="No space left on device") as caught:
            failpoint(name)
        assert caught.value.errno == errno.ENOSPC
    assert len(list(tmp_path.iterdir())) == 3


def test_what_has_a_marker_happens_to_no_other_process(arm: Arm, tmp_path: Path) -> None:
    arm("a:1:raise", marker=tmp_path / "marker")
    (tmp_path / "marker").touch()
    failpoint("a")
    assert (tmp_path / "marker").read_text() == ""


def start(program: str, place: str, marker: Path) -> subprocess.Popen[bytes]:
    """Start a program in which an accident happens."""
    root = Path(penstock.failpoint.__file__).parent.parent
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ
        | {
            "PYTHONPATH": str(root),
            "PENSTOCK_FAILPOINT": place,
            "PENSTOCK_FAILPOINT_MARKER": str(marker),
        },
    )


def test_a_kill_leaves_its_marker(tmp_path: Path) -> None:
    program = "from penstock.failpoint import failpoint; failpoint('a')"
    process = start(program, "a:1:kill", tmp_path / "marker")
    assert process.wait(60) == -signal.SIGKILL
    assert (tmp_path / "marker").read_text() == f"a:1:kill\n{process.pid}\n"


FREEZES = """
import mmap, threading
from penstock.failpoint import failpoint

def run():
    with open({path!r}, "r+b") as file:
        shared = mmap.mmap(file.fileno(), 1)
        failpoint("a")
        shared[0] = 1

thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


def test_a_thread_that_freezes_its_process_does_not_go_on(tmp_path: Path) -> None:
    after = tmp_path / "after"
    for attempt in range(20):
        after.write_bytes(b"\0")
        marker = tmp_path / f"marker-{attempt}"
        process = start(FREEZES.format(path=str(after)), "a:1:freeze", marker)
        try:
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            assert marker.exists()
            assert after.read_bytes() == b"\0"
            process.send_signal(signal.SIGCONT)
            assert process.wait(60) == 0
            assert after.read_bytes() == b"\1"
        finally:
            process.kill()
            process.wait()
