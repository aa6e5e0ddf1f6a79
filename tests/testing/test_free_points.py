"""Free points: single workers are lost and attempts fail at any step, and the answer stays the same."""

from __future__ import annotations

import pytest

from penstock.common import Configuration
from penstock.datastream import MapFunction, StreamExecutionEnvironment, ValueStateDescriptor
from penstock.datastream.connectors import DiscardingSink
from penstock.testing import Schedule, run_in_process, same_answer
from penstock.testing.schedule import AttemptFailed, Steps

OPENED: list[str] = []
RECORDS = [("abc"[n % 3], n) for n in range(40)]


class Numbered(MapFunction):
    def open(self, runtime_context):
        OPENED.append("open")
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def map(self, value):
        self.seen.update((self.seen.value() or 0) + 1)
        return (*value, self.seen.value())


def answer(schedule, mode="STREAMING"):
    """Return the results of a job of two levels, and how often its function was opened."""
    OPENED.clear()
    settings = {"execution.runtime-mode": mode, "parallelism.default": "2"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    numbered = env.from_collection(RECORDS).key_by(lambda record: record[0]).map(Numbered())
    numbered.sink_to(DiscardingSink())
    return run_in_process(env, schedule).of(), len(OPENED)


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
@pytest.mark.parametrize("points", range(4))
def test_points_lose_workers_and_change_no_answer(points, backend):
    expected, opened = answer(Schedule(batch_sizes=(3,)))
    schedule = Schedule(batch_sizes=(3,), points=points, compact_bytes=1, backend=backend)
    results, reopened = answer(schedule)
    assert same_answer(results, expected)
    assert reopened > opened
    assert answer(schedule)[1] == reopened


def test_tasks_of_a_batch_run_fail_and_run_again():
    expected, opened = answer(Schedule(), "BATCH")
    found = [answer(Schedule(points=points, frame_records=3), "BATCH") for points in range(8)]
    assert all(same_answer(results, expected) for results, _ in found)
    assert max(times for _, times in found) > opened


def test_points_differ_between_micro_batches_levels_and_subtasks():
    schedule = Schedule(points=2)
    places = [
        (batch, level, subtask) for batch in range(9) for level in (0, 1) for subtask in (0, 1)
    ]
    lost = [schedule.loses_worker(*place) for place in places]
    failed = [schedule.fails_at(*place) for place in places]
    assert 0 < sum(lost) < len(places) / 2
    assert len({at for at in failed if at is not None}) > 2
    assert [each is not None for each in failed] != lost
    assert not any(Schedule().loses_worker(*place) for place in places)


def test_an_attempt_ends_at_its_step():
    steps = Steps(2)
    assert [item for _, item in zip(range(2), steps.through("abc"), strict=False)] == ["a", "b"]
    with pytest.raises(AttemptFailed):
        steps.step()
    assert list(Steps().through("abc")) == ["a", "b", "c"]
