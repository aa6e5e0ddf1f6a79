"""What a worker process keeps between micro-batches: of restarts nothing, of jobs in turns everything.

Level workers run as in a Spark worker, over a log in memory. Can find: state of an earlier attempt that
stays, a job that throws away what another one keeps. Cannot find: how Spark spreads tasks.
"""

from __future__ import annotations

import gc
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from penstock.datastream import MapFunction, ValueStateDescriptor, WatermarkStrategy
from penstock.errors import UserFunctionError
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.program.level import LevelProgram
from penstock.runtime.exchange.channel_writer import ChannelWriter, FrameSequence
from penstock.runtime.task.live_subtask import LiveSubtask
from penstock.spark.worker import live_subtasks, worker_memory
from penstock.spark.worker.live_subtasks import LevelDescription
from penstock.spark.worker.payload import Payload
from penstock.spark.worker.worker_memory import (
    LiveAttempt,
    LocalCopies,
    WorkerMemory,
    live_attempt,
    note_ended,
    spill_directory,
)
from penstock.testing.live_run import MemoryLog
from tests.runtime.jobs import STREAMING, history_then_live, job

RESTARTS = 10


class Count(MapFunction):
    """Counts per key."""

    open_now: ClassVar[int] = 0

    def open(self, runtime_context: Any) -> None:
        Count.open_now += 1
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def close(self) -> None:
        Count.open_now -= 1

    def map(self, value: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return value, count


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> WorkerMemory:
    made = WorkerMemory()
    monkeypatch.setattr(live_subtasks, "memory", made)
    monkeypatch.setattr(Count, "open_now", 0)
    return made


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[LiveSubtask]]:
    """Every subtask that was ever made."""
    found: list[weakref.ref[LiveSubtask]] = []

    class Seen(LiveSubtask):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            found.append(weakref.ref(self))

    monkeypatch.setattr(live_subtasks, "LiveSubtask", Seen)
    return found


@pytest.fixture
def programs() -> tuple[LevelProgram, ...]:
    env = job(
        STREAMING,
        history_then_live(["a"], ["b"]),
        lambda s: s.key_by(lambda v: v).map(Count()),
        parallelism=1,
        strategy=WatermarkStrategy.no_watermarks(),
    )
    plan = env.plan()
    return programs_of(
        plan, plan.runs[-1], tasks=1, max_frame_records=10, handed=HandOver(), job_parameters={}
    )


MicroBatch = Callable[[LiveAttempt, MemoryLog, str], None]


@pytest.fixture(params=["hashmap", "lmdb"])
def micro_batch(
    request: pytest.FixtureRequest,
    programs: tuple[LevelProgram, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> MicroBatch:
    """Return what runs a micro-batch of a few records in this process."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))

    def run(attempt: LiveAttempt, entries: MemoryLog, value: str) -> None:
        level = replace(
            programs[1], settings=replace(programs[1].settings, attempt=attempt.number[1])
        )
        payload = Payload.of(level)
        copies = LocalCopies(request.param, attempt.run, payload.digest)
        described = LevelDescription(payload, attempt, copies, 1, {0: 0})
        frames: list[bytes] = []
        writer = ChannelWriter(
            programs[0].outputs[0],
            programs[0].settings,
            FrameSequence(0),
            lambda _, frame: frames.append(frame),
        )
        writer.collect([value] * 3, None)
        writer.flush()
        list(live_subtasks.live_subtask(described, 0).process(frames, entries, []))

    return run


def alive(made: list[weakref.ref[LiveSubtask]]) -> int:
    gc.collect()
    return sum(ref() is not None for ref in made)


def test_restarts_leave_one_subtask(
    memory: WorkerMemory,
    made: list[weakref.ref[LiveSubtask]],
    micro_batch: MicroBatch,
    tmp_path: Path,
) -> None:
    entries = MemoryLog()
    for number in range(RESTARTS + 1):
        attempt = live_attempt("job-1", (1, number))
        for _ in range(2):
            micro_batch(attempt, entries, "a")
        assert (alive(made), Count.open_now) == (1, 1), f"after restart {number}"
        assert len(list(tmp_path.glob("penstock-state/*/*"))) <= 1
        note_ended("job-1")  # an attempt that fails says so, too
    assert len(made) == RESTARTS + 1
    next_driver = live_attempt("job-1", (2, 0))  # of the same process, which counts from 0 again
    micro_batch(next_driver, entries, "a")
    micro_batch(next_driver, entries, "a")
    assert alive(made) == 1
    assert len(made) == RESTARTS + 2


def test_jobs_in_turns_keep_what_is_theirs(
    memory: WorkerMemory, made: list[weakref.ref[LiveSubtask]], micro_batch: MicroBatch
) -> None:
    jobs = [(live_attempt(f"job-{name}", (1, 0)), MemoryLog()) for name in "ab"]
    for _ in range(5):
        for attempt, entries in jobs:
            micro_batch(attempt, entries, "a")
    assert len(made) == alive(made) == 2
    note_ended("job-a")
    micro_batch(live_attempt("job-c", (1, 0)), MemoryLog(), "a")
    assert alive(made) == 2, "job-a had ended when job-c began"


def test_a_task_of_an_attempt_that_is_over_leaves_nothing(
    memory: WorkerMemory, made: list[weakref.ref[LiveSubtask]], micro_batch: MicroBatch
) -> None:
    entries = MemoryLog()
    old, new = live_attempt("job-1", (1, 0)), live_attempt("job-1", (1, 1))
    micro_batch(new, entries, "a")
    micro_batch(old, MemoryLog(), "a")
    assert alive(made) == 1
    micro_batch(new, entries, "a")
    assert len(made) == 2


def test_a_run_nobody_asks_for_is_let_go() -> None:
    class Part:
        closed = False

        def close(self) -> None:
            self.closed = True

    now = [0.0]
    memory = WorkerMemory(lambda: now[0])
    idle = Part()
    memory.of(LiveAttempt("a-0", (1, 0)))["part"] = idle
    now[0] = worker_memory._IDLE_SECONDS
    memory.of(LiveAttempt("b-0", (1, 0)))
    assert not idle.closed
    now[0] += 1
    memory.of(LiveAttempt("c-0", (1, 0)))
    assert idle.closed
    assert memory.of(LiveAttempt("a-0", (1, 0))) == {}


def test_what_cannot_be_closed_fails_no_other_job_and_keeps_nothing_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Part:
        def __init__(self, fails: bool) -> None:
            self.fails, self.is_closed = fails, False

        def close(self) -> None:
            self.is_closed = True
            if self.fails:
                raise UserFunctionError("close failed", hint="Correct it.")

    memory = WorkerMemory()
    parts = [Part(fails=True), Part(fails=False)]
    memory.of(LiveAttempt("a-0", (1, 0))).update(enumerate(parts))
    assert memory.of(LiveAttempt("b-0", (1, 0), frozenset({"a-0"}))) == {}
    assert all(part.is_closed for part in parts)
    assert "a subtask of run a-0 could not be closed: " in caplog.text
    assert "close failed" in caplog.text


def test_local_directories_are_known_when_all_disks_are_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def writes() -> str:
        raise FileNotFoundError("no usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", writes)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/one,/another")
    assert [spill_directory(task) for task in range(3)] == [
        Path("/one"),
        Path("/another"),
        Path("/one"),
    ]
