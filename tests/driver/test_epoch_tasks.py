"""The stages of an epoch give the results of the in-process runner, whatever happens to workers and attempts.

Can find: state that is lost between epochs, or that an attempt without a record leaves; frames and logs that
a later level does not pass on; rows of state that no subtask takes over, or two. Cannot find: how Spark
calls the stages.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from penstock.common import Time
from penstock.datastream import DataStream, MapFunction, ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import PenstockError, StateError
from penstock.plan.physical import PhysicalPlan
from penstock.runtime.task.live_subtask import LiveSubtask
from penstock.spark.failures.translation import WorkerFailure
from penstock.spark.live.epochs.epoch_tasks import has_lost_output
from penstock.spark.live.epochs.seed_files import SeedFiles
from penstock.state.schema.entry_schema import StateKind
from penstock.testing import Schedule, run_in_process
from penstock.types import Types
from tests.driver.epoch_loop import LiveLoop, ReturningSink, Workers, event, planned
from tests.runtime.jobs import (
    STREAMING,
    Splits,
    by_time,
    environment,
    history_then_live,
)
from tests.spark.made_state import of, section, write_state

Record = tuple[str, int]


def records(n: int, first: int = 0) -> list[Record]:
    return [(f"k{i % 7}", i) for i in range(first, first + n)]


class Count(MapFunction):
    """Counts per key; it can fail, and fills the state with as many bytes as asked."""

    failures: ClassVar[list[Exception]] = []
    filling: ClassVar[int] = 0

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.filler = runtime_context.get_state(ValueStateDescriptor("filler"))

    def map(self, value: Any) -> Any:
        if Count.failures:
            raise Count.failures.pop()
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if Count.filling:
            self.filler.update(bytes([count % 256]) * Count.filling)
        return value[0], count


def two_levels(stream: DataStream) -> DataStream:
    windows = TumblingEventTimeWindows.of(Time.milliseconds(5))
    counted = stream.key_by(lambda v: v[0]).map(Count()).name("words")
    latest = stream.key_by(lambda v: v[0]).window(windows).reduce(max).name("latest")
    halves = counted.union(latest).map(lambda v: (int(v[0][1:]) % 2, v[1])).key_by(lambda v: v[0])
    return halves.map(Count()).name("halves").union(latest)  # the order of records does not matter


def plan_of(
    then: Callable[[DataStream], DataStream], source: Any = None, parallelism: int = 2
) -> PhysicalPlan:
    env = environment(STREAMING, parallelism)
    source = source or Splits((tuple(records(25)), tuple(records(9, first=3))))
    stream = env.from_source(source, by_time(2), "records")
    then(stream).sink_to(ReturningSink()).name("out")
    return env.plan()


def expected(plan: PhysicalPlan) -> Counter[Any]:
    return Counter(run_in_process(plan, Schedule(batch_sizes=(4,))).of("out"))


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Workers:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "local"))
    monkeypatch.setattr(Count, "filling", 0)
    return Workers(monkeypatch)


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_two_levels_give_what_the_in_process_runner_gives(
    workers: Workers, tmp_path: Path, backend: str, turns: int
) -> None:
    plan = plan_of(two_levels)
    loop = LiveLoop(plan, plan.runs[-1], tmp_path, backend=backend)
    assert len(loop.stages) == 3
    epochs = 0
    for number, rows in enumerate(planned(plan, plan.runs[-1], 4)):
        workers.use(number % turns)
        loop.epoch(rows)
        epochs += 1
    assert epochs > 5
    assert Counter(loop.records) == expected(plan)
    assert loop.report.records_read == 34
    assert loop.report.state["log_bytes"] > 0


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
@pytest.mark.parametrize("every", [1, 2, 3])
@pytest.mark.parametrize("turns", [1, 2])
def test_a_single_task_gives_what_stages_give(
    workers: Workers, tmp_path: Path, backend: str, every: int, turns: int
) -> None:
    plan = plan_of(two_levels)
    loop = LiveLoop(plan, plan.runs[-1], tmp_path, backend=backend)
    for number, rows in enumerate(planned(plan, plan.runs[-1], 4, tasks=1)):
        workers.use(number % turns)
        loop.is_single_task = number % every == 0
        if number % 2:
            failures = Count.failures if number % 4 == 1 else ReturningSink.failures
            failures.append(ValueError("on purpose"))
            with pytest.raises(WorkerFailure, match="on purpose"):
                loop.job(rows)
        messages = loop.job(rows)
        assert len(messages) == 2, "one for each subtask, as from stages"
        assert not has_lost_output(messages)
        loop.record(messages)
    assert Counter(loop.records) == expected(plan)
    assert loop.report.records_read == 34


def test_workers_are_lost_between_epochs(workers: Workers, tmp_path: Path) -> None:
    plan = plan_of(two_levels)
    loop = LiveLoop(plan, plan.runs[-1], tmp_path)
    for rows in planned(plan, plan.runs[-1], 4):
        workers.lose()
        loop.epoch(rows)
    assert Counter(loop.records) == expected(plan)
    assert loop.report.state["copy_rebuilds"] > 10


def test_large_changes_are_in_segment_files(workers: Workers, tmp_path: Path) -> None:
    Count.filling = 200_000
    plan = plan_of(two_levels)
    loop = LiveLoop(plan, plan.runs[-1], tmp_path)
    for rows in planned(plan, plan.runs[-1], 4):
        workers.lose()
        loop.epoch(rows)
    assert Counter(loop.records) == expected(plan)
    assert any(view.extents for view in loop.views.values())


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_a_job_without_a_record_never_happened(
    workers: Workers, tmp_path: Path, backend: str
) -> None:
    plan = plan_of(two_levels)
    loop = LiveLoop(plan, plan.runs[-1], tmp_path, backend=backend)
    for number, rows in enumerate(planned(plan, plan.runs[-1], 4)):
        if number % 2:
            loop.job(rows)
            loop.job(rows[:1])  # planned anew, with other positions
        loop.epoch(rows)
    assert Counter(loop.records) == expected(plan)


def test_a_failed_attempt_leaves_nothing(workers: Workers, tmp_path: Path) -> None:
    plan = plan_of(two_levels)
    loop = LiveLoop(plan, plan.runs[-1], tmp_path)
    for number, rows in enumerate(planned(plan, plan.runs[-1], 4)):
        if number % 3:
            failures = Count.failures if number % 2 else ReturningSink.failures
            failures.append(ValueError("on purpose"))
            with pytest.raises(WorkerFailure, match="on purpose") as raised:
                loop.job(rows)
            assert PenstockError.from_wire(str(raised.value)) is not None
        loop.epoch(rows)
    assert Counter(loop.records) == expected(plan)
    assert not Count.failures
    assert not ReturningSink.failures


def test_readers_of_different_attempts_are_noticed(workers: Workers, tmp_path: Path) -> None:
    plan = plan_of(two_levels)
    loop = LiveLoop(plan, plan.runs[-1], tmp_path)
    rows = next(iter(planned(plan, plan.runs[-1], 4)))

    def level(stage: int, inputs: list[list[bytes]]) -> list[list[bytes]]:
        outputs = (list(loop.stages[stage](i, iter(some))) for i, some in enumerate(inputs))
        return loop.shuffle(outputs)

    once, again = (level(0, loop.inputs(rows)) for _ in range(2))
    assert not has_lost_output(loop.end(level(1, once)))
    assert not has_lost_output(loop.end(level(1, again)))
    assert has_lost_output(loop.end(level(1, [once[0], again[1]])))
    first, second = level(1, once), level(1, once)
    assert has_lost_output(loop.end([first[0], second[1]]))


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, 2)])
@pytest.mark.parametrize("filling", [0, 100_000])
def test_a_run_takes_over_the_state_of_another_number_of_subtasks(
    workers: Workers, tmp_path: Path, before: int, after: int, filling: int
) -> None:
    Count.filling = filling
    source = history_then_live(records(40), records(20, first=40))
    history, live = (plan_of(two_levels, source, parallelism) for parallelism in (before, after))
    first = LiveLoop(history, history.runs[0], tmp_path / "a")
    for rows in planned(history, history.runs[0], 7):
        assert not first.state_files
        first.epoch(rows)
    assert first.report.snapshot == "handover"
    assert len(first.state_files) == before
    second = LiveLoop(
        live,
        live.runs[1],
        tmp_path / "b",
        handed=first.hand_over(),
        state_files=first.state_files,
    )
    for number, rows in enumerate(planned(live, live.runs[1], 7)):
        if not number:
            second.job(rows)  # an attempt that is lost has seeded other logs
            workers.lose()
        second.epoch(rows)
    assert Counter(first.records + second.records) == expected(live)
    if filling:
        assert any(view.extents for view in second.views.values())


def test_a_savepoint_is_taken_in_the_midst(workers: Workers, tmp_path: Path) -> None:
    plan = plan_of(two_levels)
    loop = LiveLoop(plan, plan.runs[-1], tmp_path)
    epochs = list(planned(plan, plan.runs[-1], 4))
    loop.epoch(epochs[0])
    assert not loop.state_files
    messages = loop.job([(*epochs[1][0], event("savepoint:s1")), *epochs[1][1:]])
    assert {message.report.snapshot for message in messages} == {"savepoint:s1"}
    loop.record(messages)
    assert len(loop.state_files) == 2
    for rows in epochs[2:]:
        loop.epoch(rows)
    assert len(loop.state_files) == 2
    assert Counter(loop.records) == expected(plan)


def test_a_job_without_an_exchange_is_one_stage(workers: Workers, tmp_path: Path) -> None:
    plan = plan_of(lambda stream: stream.map(lambda v: (v[0], -v[1])))
    loop = LiveLoop(plan, plan.runs[-1], tmp_path)
    assert len(loop.stages) == 1
    for rows in planned(plan, plan.runs[-1], 4, tasks=3):
        messages = loop.job(rows)
        assert not has_lost_output(messages)
        loop.record(messages)
    assert Counter(loop.records) == expected(plan)
    assert loop.report.records_read == 34


def test_a_subtask_without_frames_is_not_called(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(two_levels)
    loop = LiveLoop(plan, plan.runs[-1], tmp_path)
    loop.epoch(next(iter(planned(plan, plan.runs[-1], 4))))
    called = []
    process = LiveSubtask.process

    def noted(self, *args):
        called.append(self)
        return process(self, *args)

    monkeypatch.setattr(LiveSubtask, "process", noted)
    messages = loop.job([()])
    assert len(called) < 4
    assert all(not message.changes for message in messages)


COUNT = of(StateKind.VALUE, Types.LONG())


def seed_file(path: Path) -> Path:
    return write_state(
        path,
        *(("mine", group, [section("count", COUNT, (f"k{group}", group))]) for group in range(9)),
        ("mine", 2**32 - 1, [section("rules", COUNT, ("rule", 1))]),
        ("other", 3, [section("count", COUNT, ("k", 1))]),
    )


def test_every_row_of_state_is_read_by_its_subtask(tmp_path: Path) -> None:
    seeds = SeedFiles((seed_file(tmp_path / "state.parquet"),), {"mine": 2}, 9)
    read = [list(seeds.blobs(subtask)) for subtask in range(3)]
    assert [len(blobs) for blobs in read] == [5 + 1, 4 + 1, 1]
    assert len({blob for blobs in read for blob in blobs}) == 10


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_damaged_state_file_is_named(tmp_path: Path, damage: str) -> None:
    path = seed_file(tmp_path / "state.parquet")
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StateError, match=r"state\.parquet is (gone|damaged)"):
        list(SeedFiles((path,), {"mine": 2}, 9).blobs(0))


def test_a_log_that_cannot_be_written_is_an_error_of_state(
    workers: Workers, tmp_path: Path
) -> None:
    Count.filling = 300_000
    plan = plan_of(two_levels)
    loop = LiveLoop(plan, plan.runs[-1], tmp_path)
    (tmp_path / "epochs/segments").rmdir()
    with pytest.raises(WorkerFailure) as raised:
        loop.epoch(next(iter(planned(plan, plan.runs[-1], 4))))
    error = PenstockError.from_wire(str(raised.value))
    assert isinstance(error, StateError)
    assert "epochs" in error.problem


def test_messages_are_pickles(workers: Workers, tmp_path: Path) -> None:
    plan = plan_of(two_levels)
    loop = LiveLoop(plan, plan.runs[-1], tmp_path)
    for message in loop.job(next(iter(planned(plan, plan.runs[-1], 4)))):
        assert pickle.loads(pickle.dumps(message)) == message
