"""The law of a change of the parallelism: results are those of a run that never changed it.

Epochs run in this process, with the tasks of jobs; between two of them the state moves to other subtasks, and to more key
groups. Splits end at different times, so watermarks stop if what a finished split has sent is lost.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Time, Types
from penstock.datastream import (
    AggregatingStateDescriptor,
    DataStream,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.functions import AggregateFunction
from penstock.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from penstock.plan.physical import PhysicalPlan
from penstock.runtime.task.subtask_memory import SubtaskMemory
from penstock.spark.inspect.small_state import small_location
from penstock.spark.inspect.state_location import EpochLogs
from penstock.spark.job.state_layout import channel_outlines
from penstock.spark.worker.state_tasks import ReplayGroups, rows_of, snapshot_rows
from penstock.state.log.blob import decode_blob
from penstock.state.log.change_log import Head
from penstock.testing import Schedule, run_in_process
from tests.driver.epoch_loop import LiveLoop, ReturningSink, Workers, planned
from tests.runtime.jobs import STREAMING, Splits, by_time, environment

LONG, SHORT = 40, 7


def records(count: int, first: int) -> tuple[tuple[str, int], ...]:
    return tuple((f"k{i % 11}", i) for i in range(first, first + count))


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Kinds(KeyedProcessFunction):
    """State of each kind, which a timer behind each record returns and one at the end sums up."""

    def open(self, runtime_context: Any) -> None:
        state = runtime_context
        self.count = state.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen = state.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.by = state.get_map_state(MapStateDescriptor("by", Types.LONG(), Types.LONG()))
        self.most = state.get_reducing_state(ReducingStateDescriptor("most", max, Types.LONG()))
        self.mean = state.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value: Any, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        self.seen.add(value[1])
        self.by.put(value[1] % 5, (self.by.get(value[1] % 5) or 0) + 1)
        self.most.add(value[1])
        self.mean.add(value[1])
        ctx.timer_service().register_event_time_timer(value[1] + 3)
        ctx.timer_service().register_event_time_timer(10_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp
        if timestamp == 10_000:
            seen, by = sorted(self.seen.get()), sorted(self.by.items())
            yield self.count.value(), seen, by, self.most.get(), self.mean.get()


def build(stream: DataStream) -> DataStream:
    few = stream.map(lambda v: v).uid("few").set_parallelism(2)
    keyed = few.key_by(lambda v: v[0])
    tumbling = TumblingEventTimeWindows.of(Time.milliseconds(6))
    gap = EventTimeSessionWindows.with_gap(Time.milliseconds(4))
    latest = keyed.window(tumbling).reduce(max).uid("latest")
    sessions = stream.filter(lambda v: v[1] % 9 < 4).key_by(lambda v: v[0]).window(gap)
    behind = latest.key_by(lambda v: v[1] % 4).window(tumbling).reduce(max).uid("behind")
    united = keyed.process(Kinds()).uid("kinds")
    return united.union(latest, sessions.reduce(max).uid("sessions"), behind)


def plan_of(parallelism: int, key_groups: int = 64) -> PhysicalPlan:
    env = environment({**STREAMING, "pipeline.max-parallelism": str(key_groups)}, parallelism)
    source = Splits((records(LONG, 0), records(SHORT, 3), records(LONG, 20)))
    build(env.from_source(source, by_time(2), "records")).sink_to(ReturningSink()).name("out")
    return env.plan()


def rescaled(loop: LiveLoop, plan: PhysicalPlan, directory: Path, backend: str) -> LiveLoop:
    """Return a loop with what another has recorded."""
    rows = directory / "rescaled"
    rows.mkdir(parents=True)
    small = small_location(directory, EpochLogs(loop.epochs, 0, {}, loop.views))
    assert small is not None
    heads = [Head.decode(view.head) for view in loop.views.values() if view.head is not None]
    memory = SubtaskMemory.of((head.meta for head in heads), channel_outlines(loop.plan))
    return LiveLoop(
        plan,
        plan.runs[-1],
        directory,
        state_files=[rows / name for name in small.write_snapshot(rows)],
        backend=backend,
        stored_groups=loop.plan.options.max_parallelism,
        memory=memory,
    )


def entries_of(loop: LiveLoop) -> set[str]:
    """Return all entries of the state, with their key groups; the order of lists is that of arrival."""
    small = small_location(loop.epochs, EpochLogs(loop.epochs, 0, {}, loop.views))
    assert small is not None
    found = set()
    rows = rows_of(ReplayGroups(snapshot_rows)(small.blobs()))
    for operator, key_group, blob in rows:
        for section in decode_blob(blob):
            subkeys = section.subkeys or [None] * len(section.keys)
            for key, subkey, value in zip(section.keys, subkeys, section.values, strict=True):
                shown = sorted(value, key=repr) if isinstance(value, list) else value
                found.add(repr((operator, key_group, section.state, key, subkey, shown)))
    return found


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Workers:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "local"))
    return Workers(monkeypatch)


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 64), (3, 64), (1, 64)],
        [(3, 64), (1, 64), (1, 256), (2, 512)],
        [(1, 64), (2, 64), (2, 64), (5, 128)],
    ],
)
def test_results_are_those_of_a_run_that_never_changed(
    workers: Workers, tmp_path: Path, backend: str, shapes: list[tuple[int, int]]
) -> None:
    first = plan_of(*shapes[0])
    expected = Counter(map(repr, run_in_process(first, Schedule(batch_sizes=(4,))).of("out")))
    epochs = list(planned(first, first.runs[-1], 3))
    loop = LiveLoop(first, first.runs[-1], tmp_path / "0", backend=backend)
    found: Counter[str] = Counter()
    changes = {2 + 3 * number: shape for number, shape in enumerate(shapes[1:])}
    for number, rows in enumerate(epochs):
        if number in changes:
            found.update(map(repr, loop.records))
            workers.lose()
            plan = plan_of(*changes[number])
            loop = rescaled(loop, plan, tmp_path / str(number), backend)
        loop.epoch(rows)
    assert len(epochs) > max(changes) + 1
    found.update(map(repr, loop.records))
    assert found == expected


def test_the_state_is_that_of_a_run_that_began_with_the_last_numbers(
    workers: Workers, tmp_path: Path
) -> None:
    first, last = plan_of(3), plan_of(2, 256)
    epochs = list(planned(first, first.runs[-1], 3))
    moved = LiveLoop(first, first.runs[-1], tmp_path / "0")
    whole = LiveLoop(last, last.runs[-1], tmp_path / "whole", backend="lmdb")
    for number, rows in enumerate(epochs[:8]):
        if number in {3, 5}:
            workers.lose()
            plan = plan_of(1, 128) if number == 3 else last
            moved = rescaled(moved, plan, tmp_path / str(number), "hashmap")
        moved.epoch(rows)
        whole.epoch(rows)
    assert len(entries_of(whole)) > 100
    assert entries_of(moved) == entries_of(whole)


def test_another_parallelism_adds_exchanges_and_keeps_the_graph() -> None:
    """What the law moves between is not of one form."""
    levels = {len(plan_of(number).levels) for number in (1, 2, 3)}
    assert len(levels) > 1
