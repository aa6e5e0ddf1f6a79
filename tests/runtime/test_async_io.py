"""Many asynchronous calls: order, capacity, watermarks, and programs with them."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Time, Types, WatermarkStrategy
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    ProcessFunction,
    ValueStateDescriptor,
)
from penstock.errors import PenstockError
from penstock.testing import Schedule, run_in_process, same_answer
from tests.runtime.async_calls import (
    Calls,
    nothing_more,
    operator,
    results_of,
    twice,
)
from tests.runtime.jobs import MODE_IDS, MODES, STREAMING, Splits, history_then_live, job

LONG = Time.seconds(30)


class Backwards(AsyncFunction):
    """Answers the values 19 to 0, in this order."""

    def __init__(self) -> None:
        self.answered = [asyncio.Event() for _ in range(21)]
        self.answered[20].set()

    async def async_invoke(self, value: int) -> list[int]:
        await self.answered[value + 1].wait()
        self.answered[value].set()
        return [value]


def test_ordered_results_leave_in_the_order_of_their_records():
    assert results_of(Backwards(), list(range(20))) == list(range(20))


def test_unordered_results_leave_in_the_order_of_completion():
    assert results_of(Backwards(), list(range(20)), ordered=False) == list(range(19, -1, -1))


@settings(max_examples=25, deadline=None)
@given(
    values=st.lists(st.integers(0, 3), max_size=30),
    capacity=st.integers(1, 8),
    ordered=st.booleans(),
    limited=st.booleans(),
)
def test_as_many_calls_as_the_capacity_and_no_more(values, capacity, ordered, limited):
    async def answer(value: int) -> list[int]:
        await asyncio.sleep(value / 1000)
        return [value] * value

    subject = Calls(answer)
    limit = 30_000 if limited else 0
    how = {"capacity": capacity, "ordered": ordered, "timeout_ms": limit}
    found = results_of(subject, values, **how)
    wanted = [v for value in values for v in [value] * value]
    assert found == wanted if ordered else sorted(found) == sorted(wanted)
    assert subject.most == min(capacity, len(values))
    assert subject.under_way == 0


def test_calls_of_several_small_batches_overlap():
    async def together(value: int) -> list[int]:
        if subject.under_way == 5:
            everyone.set()
        await everyone.wait()
        return [value]

    everyone = asyncio.Event()
    subject = Calls(together)

    calls, output = operator(subject)
    for value in range(5):
        calls.collect([value], [value * 10])
    calls.finish_batch()
    calls.close()
    assert output.log == [(value, value * 10) for value in range(5)]


def test_all_results_leave_before_the_stream_is_idle_or_separated():
    calls, output = operator(Calls(nothing_more))
    calls.collect([1], [10])
    calls.set_idle(idle=True)
    calls.collect([2], [20])
    calls.separate()
    calls.close()
    assert output.log == [(1, 10), ("idle", True), (2, 20), "separate"]


def test_all_results_leave_before_the_watermark_and_before_the_batch_ends():
    calls, output = operator(Calls(twice), ordered=False)
    calls.collect([1], [10])
    calls.advance_watermark(10)
    calls.collect([2], [20])
    calls.finish_batch()
    calls.close()
    assert output.log == [(1, 10), (1, 10), 10, (2, 20), (2, 20)]


def test_more_records_than_can_wait_are_called_for_at_once():
    calls, output = operator(Calls(twice))
    calls.collect(list(range(1500)), None)
    calls.close()
    assert len(output.log) == 3000


def test_records_with_and_without_timestamps_keep_them():
    calls, output = operator(Calls(twice))
    calls.collect([1], None)
    calls.collect([2], [20])
    calls.collect([3], None)
    calls.finish_batch()
    calls.close()
    assert output.log == [(v, t) for v, t in [(1, None), (2, 20), (3, None)] for _ in range(2)]


def test_the_event_loop_lasts_from_batch_to_batch_and_ends_with_close():
    loops = []

    async def call(value: int) -> list[int]:
        loops.append(asyncio.get_running_loop())
        return [value]

    calls, _ = operator(Calls(call))
    for value in (1, 2):
        calls.collect([value], None)
        calls.finish_batch()
    assert loops[0] is loops[1]
    assert not loops[0].is_closed()
    calls.close()
    assert loops[0].is_closed()
    assert not [thread for thread in threading.enumerate() if "calls-1" in thread.name]


def test_a_program_runs_inside_a_running_event_loop():
    async def notebook() -> list[Any]:
        return results_of(Calls(twice), [1])

    with ThreadPoolExecutor(1) as threads:  # a browser of other tests may have a loop in this one
        assert threads.submit(asyncio.run, notebook()).result() == [1, 1]


class Lives(AsyncFunction):
    log: ClassVar[list[str]] = []

    def open(self, runtime_context: Any) -> None:
        Lives.log.append(f"open {runtime_context.get_index_of_this_subtask()}")

    def close(self) -> None:
        Lives.log.append("close")

    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0)
        Lives.log.append("call")
        return [value]


def test_open_and_close_are_called_once():
    Lives.log.clear()
    source = Splits(((1, 2),))
    env = job(
        STREAMING,
        source,
        lambda s: AsyncDataStream.ordered_wait(s.rebalance(), Lives(), LONG),
        strategy=WatermarkStrategy.no_watermarks(),
        parallelism=1,
    )
    run_in_process(env, Schedule(batch_sizes=(1,)))
    assert Lives.log == ["open 0", "call", "call", "close"]


class Jittery(AsyncFunction):
    async def async_invoke(self, value: tuple[str, int]) -> list[tuple[str, int]]:
        await asyncio.sleep((value[1] * 7 % 5) / 1000)
        return [value]


class Stamped(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield (*value, ctx.timestamp())


RECORDS = [("abc"[i % 3], i) for i in range(40)]


WAYS: dict[str, Callable[[Any], Any]] = {
    "chained": lambda s: s.map(tuple),
    "keyed": lambda s: s.key_by(lambda record: record[0]),
    "rebalanced": lambda s: s.rebalance(),
    "behind a keyed operator": lambda s: s.key_by(lambda record: record[0]).map(tuple),
}


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ordered", [True, False])
def test_the_answer_is_the_same_in_every_mode(mode, way, ordered):
    wait = AsyncDataStream.ordered_wait if ordered else AsyncDataStream.unordered_wait
    env = job(
        mode,
        history_then_live(RECORDS[:25], RECORDS[25:]),
        lambda s: wait(WAYS[way](s), Jittery(), LONG, 5).process(Stamped()),
    )
    schedule = Schedule(batch_sizes=(7, 3), restart_every=2, fail_every=3, frame_records=4)
    found = run_in_process(env, schedule).of("out")
    assert same_answer(found, [(*record, record[1]) for record in RECORDS])
    if ordered and "keyed" in way:
        for key in "abc":
            times = [record[1] for record in found if record[0] == key]
            assert times == sorted(times)


def test_results_have_the_declared_type():
    env = job(
        STREAMING,
        Splits(((("a", 1),),)),
        lambda s: AsyncDataStream.ordered_wait(s, Jittery(), LONG, output_type=Types.INT()),
    )
    with pytest.raises(PenstockError, match=r"operator 'Jittery' gave \('a', 1\)") as caught:
        run_in_process(env)
    assert caught.value.code == "TYPE_MISMATCH"


def test_behind_key_by_an_object_makes_all_calls_of_a_key():
    env = job(
        STREAMING,
        history_then_live([], RECORDS),
        lambda s: AsyncDataStream.ordered_wait(s.key_by(lambda r: r[0]), Remembering(), LONG),
        parallelism=3,
    )
    found = run_in_process(env, Schedule(batch_sizes=(4,))).of("out")
    assert {key: count for key, count in found if key == "a"} == {"a": 14}


class Remembering(AsyncFunction):
    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    async def async_invoke(self, value: tuple[str, int]) -> list[tuple[str, int]]:
        self.seen[value[0]] += 1
        return [(value[0], self.seen[value[0]])]


class NeedsKeyed(Lives):
    def open(self, runtime_context: Any) -> None:
        runtime_context.get_state(ValueStateDescriptor("x"))


def test_there_is_no_keyed_state():
    env = job(
        STREAMING,
        Splits(((("a", 1),),)),
        lambda s: AsyncDataStream.ordered_wait(s.key_by(lambda r: r[0]), NeedsKeyed(), LONG),
    )
    with pytest.raises(PenstockError) as caught:
        run_in_process(env)
    assert caught.value.code == "GRAPH_UNKEYED_STATE"


def test_a_failure_behind_key_by_names_the_key():
    async def call(value: Any) -> list[Any]:
        raise ValueError("boom")

    env = job(
        STREAMING,
        Splits(((("a", 1),),)),
        lambda s: AsyncDataStream.ordered_wait(s.key_by(lambda r: r[0]), Calls(call), LONG),
    )
    with pytest.raises(PenstockError, match="key 'a': ValueError: boom"):
        run_in_process(env)
