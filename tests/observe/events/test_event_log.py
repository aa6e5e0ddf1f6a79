"""The log of events: bounded, readable after a kill, and nothing that a job waits for."""

from __future__ import annotations

import errno
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import penstock.failpoint
from penstock.errors import JobFencedError
from penstock.metrics.values import GaugeValue
from penstock.observe.events.delivery import Delivery
from penstock.observe.events.event_json import from_line, to_line
from penstock.observe.events.event_log import EARLIER, LATEST, EventFiles, EventLog, thinned
from penstock.observe.events.job_events import (
    EVENTS,
    JobEnded,
    JobEvent,
    JobStarted,
    MetricsReported,
    MicroBatch,
    Restarting,
    Resumed,
    RunStarted,
    SavepointTaken,
)
from penstock.observe.events.job_view import JobView

STARTED = RunStarted("live", "live", "numbers", bounded=False)
LONG_SECONDS = 60.0


def batch(number: int) -> MicroBatch:
    return MicroBatch(number, 1, number + 1, 0.1, None)


def read(path: Path) -> list[JobEvent]:
    return list(EventFiles(path).events())


def until(condition, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_events_are_in_the_directory_in_order(tmp_path: Path) -> None:
    log = EventLog(EventFiles(tmp_path))
    for event in (STARTED, batch(0), JobEnded("FINISHED")):
        log.on_event(event)
    log.close()
    assert read(tmp_path) == [STARTED, batch(0), JobEnded("FINISHED")]
    assert (tmp_path / "events").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "events" / LATEST).stat().st_mode & 0o777 == 0o600


def test_a_milestone_is_written_at_once_and_a_detail_later(tmp_path: Path) -> None:
    log = EventLog(EventFiles(tmp_path), flush_seconds=LONG_SECONDS)
    log.on_event(batch(0))
    time.sleep(0.05)
    assert read(tmp_path) == []
    log.on_event(STARTED)
    until(lambda: len(read(tmp_path)) == 2)
    log.close()


def test_of_details_the_last_one_is_written(tmp_path: Path) -> None:
    log = EventLog(EventFiles(tmp_path), flush_seconds=LONG_SECONDS)
    for number in range(1000):
        log.on_event(batch(number))
        log.on_event(MetricsReported({}, {"log_bytes": number}))
    log.close()
    assert read(tmp_path) == [batch(999), MetricsReported({}, {"log_bytes": 999})]


def test_details_of_pipelines_do_not_replace_one_another(tmp_path: Path) -> None:
    log = EventLog(EventFiles(tmp_path), flush_seconds=LONG_SECONDS)
    for pipeline in ("0", "1"):
        log.on_event(MicroBatch(0, 1, 1, 0.1, None, pipeline=pipeline))
    log.close()
    assert [event.pipeline for event in read(tmp_path)] == ["0", "1"]


def test_details_are_written_within_the_time(tmp_path: Path) -> None:
    log = EventLog(EventFiles(tmp_path), flush_seconds=0.05)
    log.on_event(batch(0))
    until(lambda: read(tmp_path) == [batch(0)])
    log.on_event(batch(1))
    until(lambda: read(tmp_path) == [batch(0), batch(1)])
    log.close()


def test_an_idle_log_has_a_thread_that_nobody_wakes(tmp_path: Path) -> None:
    before = threading.active_count()
    log = EventLog(EventFiles(tmp_path), flush_seconds=0.01)
    assert threading.active_count() == before, "no thread without an event"
    log.on_event(STARTED)
    until(lambda: len(read(tmp_path)) == 1)
    (thread,) = (each for each in threading.enumerate() if each.name == "penstock writing events")
    assert thread.native_id is not None
    spent = Path(f"/proc/self/task/{thread.native_id}/status")

    def switches() -> int:
        lines = spent.read_text(encoding="ascii").splitlines()
        return sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)

    time.sleep(0.1)
    first = switches()
    time.sleep(0.3)
    assert switches() == first
    log.close()
    assert threading.active_count() == before


def size_of(path: Path) -> int:
    size = 0
    for name in (EARLIER, LATEST):
        with suppress(FileNotFoundError):  # it was replaced meanwhile
            size += (path / "events" / name).stat().st_size
    return size


def test_files_stay_within_their_bound_and_milestones_stay_in_them(tmp_path: Path) -> None:
    most = 40_000
    log = EventLog(EventFiles(tmp_path), most_bytes=most, flush_seconds=0.0)
    milestones = 0
    for number in range(3000):
        log.on_event(batch(number))
        if number % 100 == 0:
            log.on_event(replace(STARTED, at_ms=number + 1))  # no two lines are the same
            milestones += 1
            assert size_of(tmp_path) < most + 5_000
        time.sleep(0.0001)
    log.on_event(JobEnded("FINISHED"))
    log.close()
    events = read(tmp_path)
    assert (tmp_path / "events" / EARLIER).exists()
    assert events[-1] == JobEnded("FINISHED")
    assert events.count(STARTED) == milestones
    numbers = [event.number for event in events if isinstance(event, MicroBatch)]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == 2999


def test_thinning_keeps_the_last_of_every_kind_of_detail() -> None:
    lines = [to_line(MetricsReported({}, {"log_bytes": 1}))]
    lines += [to_line(batch(number)) for number in range(100)]
    lines.insert(50, to_line(STARTED))
    kept = thinned(lines, 1_000).splitlines(keepends=True)
    assert sum(map(len, kept)) <= 1_000
    assert kept[0] == lines[0]
    assert kept[-1] == lines[-1]
    assert to_line(STARTED) in kept


def test_milestones_go_when_nothing_else_is_left() -> None:
    lines = [to_line(Resumed(str(number))) for number in range(100)]
    kept = thinned(lines, 500).splitlines(keepends=True)
    assert 0 < sum(map(len, kept)) <= 500
    assert kept[-1] == lines[-1]
    assert kept == sorted(kept, key=lines.index)


def test_what_began_the_job_is_known_after_any_number_of_restarts_and_savepoints() -> None:
    """It is all that tells the operators, the plan and the version."""
    begun = JobStarted("0.1.0", "STREAMING", 2, plan="x" * 500)
    history = RunStarted("history", "batch", "numbers", bounded=True)
    lines = [to_line(begun), to_line(history)]
    for number in range(2_000):
        lines.append(to_line(Restarting(number, None, 1.0, "it raised")))
        lines.append(to_line(STARTED))
        lines.append(to_line(SavepointTaken(f"/sp/{number}", 0.1, stops=False)))
        if len(lines) > 100:
            lines = thinned(lines, 5_000).splitlines(keepends=True)
    assert lines[0] == to_line(begun)
    assert lines[1] == to_line(history)
    view = JobView.of(map(parsed, lines))
    assert view.started == begun
    assert [run.name for run in view.runs] == ["history", "live"]
    assert view.restarts == 1_999


def parsed(line: str) -> JobEvent:
    event = from_line(line)
    assert event is not None
    return event


def test_half_a_line_is_skipped_and_the_next_driver_begins_a_new_one(tmp_path: Path) -> None:
    files = EventFiles(tmp_path)
    files.append(to_line(STARTED))
    with (tmp_path / "events" / LATEST).open("a") as file:
        file.write(to_line(batch(0))[:20])
    assert read(tmp_path) == [STARTED]
    files.append(to_line(batch(1)))
    assert read(tmp_path) == [STARTED, batch(1)]


def test_bytes_that_are_no_text_are_skipped(tmp_path: Path) -> None:
    files = EventFiles(tmp_path)
    files.append(to_line(STARTED))
    with (tmp_path / "events" / LATEST).open("ab") as file:
        file.write(b"\xff\xfe\x00\n")
    assert read(tmp_path) == [STARTED]


def test_a_job_goes_on_without_a_log_that_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "events").write_text("a file in its place")
    log = EventLog(EventFiles(tmp_path), flush_seconds=0.0, first_pause_seconds=0.01)
    with caplog.at_level(logging.WARNING, logger="penstock"):
        for number in range(3):
            log.on_event(STARTED)
            log.on_event(batch(number))
            time.sleep(0.02)
        log.close()
    (record,) = caplog.records
    assert "writing events failed, and is tried again" in record.getMessage()


class Full(EventFiles):
    """A disk that has no room as long as it is full; half of what is written first gets through."""

    is_full = True

    def append(self, lines: str) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().append(lines)


def test_what_happens_while_the_disk_is_full_is_written_when_there_is_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = Full(tmp_path)
    log = EventLog(files, flush_seconds=0.0, first_pause_seconds=0.01)
    with caplog.at_level(logging.WARNING, logger="penstock"):
        for number in range(20):
            log.on_event(STARTED)
            log.on_event(batch(number))
            time.sleep(0.002)
        files.is_full = False
        until(lambda: read(tmp_path) == [STARTED] * 20 + [batch(19)])
        log.on_event(JobEnded("FINISHED"))
        log.close()
    assert read(tmp_path)[-1] == JobEnded("FINISHED")
    failed, works = caplog.messages
    assert "No space left" in failed
    assert "works again; 0 events are lost" in works


def test_a_job_that_ends_on_a_full_disk_ends(tmp_path: Path) -> None:
    log = EventLog(Full(tmp_path), flush_seconds=0.0, first_pause_seconds=LONG_SECONDS)
    log.on_event(STARTED)
    time.sleep(0.02)
    began = time.monotonic()
    log.on_event(JobEnded("FINISHED"))
    log.close()
    assert time.monotonic() - began < 2
    assert not [each for each in threading.enumerate() if "writing events" in each.name]


def test_the_end_is_written_by_a_log_that_waits_to_try_again(tmp_path: Path) -> None:
    files = Full(tmp_path)
    log = EventLog(files, flush_seconds=0.0, first_pause_seconds=LONG_SECONDS)
    log.on_event(STARTED)
    time.sleep(0.02)
    files.is_full = False
    log.on_event(JobEnded("FINISHED"))
    log.close()
    assert read(tmp_path) == [STARTED, JobEnded("FINISHED")]


def test_a_write_that_ends_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    """The disk gets full within a line: what is tried again must not be there twice."""
    program = f"""
import resource, signal, sys
from pathlib import Path
from penstock.observe.events.event_log import EventFiles
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
files = EventFiles(Path({str(tmp_path)!r}))
files.append("a" * 99 + chr(10))
resource.setrlimit(resource.RLIMIT_FSIZE, (150, resource.RLIM_INFINITY))
try:
    files.append(("b" * 39 + chr(10)) * 5)
except OSError as error:
    print("failed", error.errno)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
files.append("c" * 9 + chr(10))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"failed {errno.EFBIG}\n"
    assert (tmp_path / "events" / LATEST).read_text() == "a" * 99 + "\n" + "c" * 9 + "\n"


def test_files_do_not_grow_while_they_cannot_be_replaced(tmp_path: Path) -> None:
    class Stuck(EventFiles):
        def rotate(self, earlier: str) -> None:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    log = EventLog(Stuck(tmp_path), most_bytes=4_000, flush_seconds=0.0, first_pause_seconds=0.001)
    for number in range(300):
        log.on_event(STARTED)
        log.on_event(batch(number))
        time.sleep(0.0005)
    log.close()
    assert (tmp_path / "events" / LATEST).stat().st_size < 4_000 + 1_000


def test_a_rotation_that_finds_no_room_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = EventFiles(tmp_path)
    files.append(to_line(STARTED))
    penstock.failpoint.count_anew()
    monkeypatch.setenv("PENSTOCK_FAILPOINT", "events.rotate:1:disk-full")
    with pytest.raises(OSError, match="No space left"):
        files.rotate(to_line(STARTED))
    assert [path.name for path in (tmp_path / "events").iterdir()] == [LATEST]


def test_a_buffer_is_bounded_and_what_began_the_job_stays_in_it() -> None:
    received: list[JobEvent] = []
    is_down = True

    def receive(events: Sequence[JobEvent]) -> None:
        if is_down:
            raise OSError("down")
        received.extend(events)

    delivery = Delivery(
        receive, "test", flush_seconds=0.0, most_waiting=10, first_pause_seconds=0.01
    )
    begun = JobStarted("0.1.0", "STREAMING", 2)
    delivery.on_event(begun)
    for number in range(500):
        delivery.on_event(Resumed(str(number)))
    assert len(delivery._buffer) <= 10
    is_down = False
    delivery.close()
    assert received[0] == begun
    assert received[-1] == Resumed("499")
    assert len(received) <= 10


def test_a_file_system_that_hangs_does_not_hold_the_end_of_the_job(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hangs = threading.Event()

    class Hangs(EventFiles):
        def append(self, lines: str) -> None:
            hangs.wait(10)

    log = EventLog(Hangs(tmp_path), flush_seconds=0.0, end_seconds=0.05)
    log.on_event(STARTED)
    log.close()
    hangs.set()
    assert "the job ends without it" in caplog.text


def test_a_driver_that_was_replaced_writes_nothing_more(tmp_path: Path) -> None:
    """Its end would be taken for that of the driver that goes on."""

    def fenced() -> None:
        raise JobFencedError("another driver", hint="leave it")

    log = EventLog(EventFiles(tmp_path), fence=fenced, flush_seconds=0.0)
    log.on_event(JobEnded("FAILED"))
    log.close()
    assert read(tmp_path) == []


def test_an_event_that_has_no_line_does_not_end_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Raises:
        def __str__(self) -> str:
            raise ValueError("mine")

    log = EventLog(EventFiles(tmp_path), flush_seconds=0.0)
    log.on_event(MetricsReported({"map.gauge": GaugeValue(Raises())}, {}))  # type: ignore[arg-type]
    log.on_event(STARTED)
    log.close()
    assert read(tmp_path) == [STARTED]
    assert "mine" in caplog.text


def test_a_line_may_have_any_text(tmp_path: Path) -> None:
    event = Resumed("a\u2028b\x85c\x0b\x1e\r\n")
    files = EventFiles(tmp_path)
    files.append(to_line(event) + to_line(STARTED))
    assert read(tmp_path) == [event, STARTED]


def test_a_rotation_that_was_killed_in_the_middle_tells_nothing_twice(tmp_path: Path) -> None:
    files = EventFiles(tmp_path)
    events: list[JobEvent] = [STARTED, *(Resumed(str(number)) for number in range(5))]
    files.append("".join(map(to_line, events)))
    (tmp_path / "events" / EARLIER).write_text("".join(map(to_line, events[::2] + events[-1:])))
    files.append(to_line(Resumed("later")))
    assert read(tmp_path) == [*events[::2], events[-1], Resumed("later")]


def test_who_reads_while_files_are_rotated_sees_all_of_them(tmp_path: Path) -> None:
    log = EventLog(EventFiles(tmp_path), most_bytes=4_000, flush_seconds=0.0)
    log.on_event(STARTED)
    until(lambda: read(tmp_path) != [])
    is_over = threading.Event()

    def write() -> None:
        for number in range(1_500):
            log.on_event(batch(number))
            time.sleep(0.0002)
        is_over.set()

    thread = threading.Thread(target=write)
    thread.start()
    newest = 0
    while not is_over.is_set():
        events = read(tmp_path)
        assert events[0] == STARTED
        numbers = [event.number for event in events if isinstance(event, MicroBatch)]
        assert numbers == sorted(set(numbers))
        assert not numbers or numbers[-1] >= newest
        newest = numbers[-1] if numbers else 0
    thread.join()
    log.close()


def test_nobody_waits_for_the_file(tmp_path: Path) -> None:
    class Slow(EventFiles):
        def append(self, lines: str) -> None:
            time.sleep(0.2)
            super().append(lines)

    log = EventLog(Slow(tmp_path), flush_seconds=0.0)
    log.on_event(STARTED)
    time.sleep(0.05)  # the thread is writing
    began = time.perf_counter()
    for number in range(100):
        log.on_event(batch(number))
    assert time.perf_counter() - began < 0.1
    log.close()
    assert read(tmp_path)[-1] == batch(99)


def test_an_empty_directory_has_no_events(tmp_path: Path) -> None:
    assert read(tmp_path) == []
    assert read(tmp_path / "missing") == []


def test_details_are_those_that_come_often() -> None:
    details = {kind.__name__ for kind, row in EVENTS.items() if row.is_detail}
    assert details == {
        "BatchProgress",
        "MicroBatch",
        "PendingInputMeasured",
        "MetricsReported",
        "RoundProgress",
    }
