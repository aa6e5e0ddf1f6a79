"""A key that comes in parts fires its windows between them, and nobody can tell.

Differential: each job runs with memory enough and with hardly any, with parts of a few records, and
every key must see the same in the same order. What both get wrong is for `test_windows_law`; that
windows really are gone from memory is in `test_memory_limit`.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from penstock.runtime.operators.windows.keyed_window import KeyedWindowOperator
from penstock.runtime.task import spilled_group
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import BATCH, MIXED, by_time, environment, history_then_live
from tests.runtime.spill_jobs import Contents, Pairs, folded, half, key_of, ms, per_key, third
from tests.runtime.window_oracle import contents

PLENTY = 1 << 30

records = st.lists(
    st.tuples(st.integers(0, 1), st.integers(-20, 40), st.integers(0, 9)), max_size=60
).map(lambda found: [(*record, number) for number, record in enumerate(found)])


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return 1 + element[2]


class Timed(Contents):
    """Says what the watermark is."""

    def process(self, key, context, elements):
        for result in super().process(key, context, elements):
            yield (key, context.current_watermark(), *result[1:])


class Earlier(WindowAssigner):
    """A record belongs to the window before its own: records may come for one that has ended."""

    def assign_windows(self, element, timestamp, context):
        return TEN.assign_windows(element, timestamp - 25, context)

    def get_default_trigger(self, env):
        return EventTimeTrigger()

    def is_event_time(self):
        return True


TEN = TumblingEventTimeWindows.of(ms(10), ms(3))
SLIDING = SlidingEventTimeWindows.of(ms(10), ms(4))
SESSIONS = EventTimeSessionWindows.with_gap(ms(4))


def one(assigner, then=lambda cut: cut.process(Contents())):
    return lambda s: then(s.key_by(key_of).window(assigner))


def two(assigner):
    return lambda s: (
        half(s).co_group(third(s)).where(key_of).equal_to(key_of).window(assigner).apply(Pairs())
    )


EARLY: dict[str, Any] = {
    "tumbling": one(TEN),
    "watermark": one(TEN, lambda cut: cut.process(Timed())),
    "tumbling reduce": one(TEN, lambda cut: cut.reduce(folded)),
    "gaps": one(SlidingEventTimeWindows.of(ms(3), ms(10))),
    "sliding": one(SLIDING),
    "sliding reduce": one(SLIDING, lambda cut: cut.reduce(folded)),
    "sessions": one(SESSIONS),
    "sessions by record": one(EventTimeSessionWindows.with_dynamic_gap(Gap())),
    "late": one(TEN, lambda cut: cut.allowed_lateness(7).process(Contents())),
    "late sessions": one(SESSIONS, lambda cut: cut.allowed_lateness(7).process(Contents())),
    "late panes": one(SLIDING, lambda cut: cut.allowed_lateness(7).reduce(folded)),
    "evicted": one(TEN, lambda cut: cut.evictor(CountEvictor.of(3)).process(Contents())),
    "co-group": two(TEN),
    "co-group sliding": two(SLIDING),
    "co-group sessions": two(SESSIONS),
}
"""Jobs whose windows fire between parts."""

AT_THE_END: dict[str, Any] = {
    "own assigner": one(Earlier()),
    "own trigger": one(TEN, lambda cut: cut.trigger(CountTrigger.of(3)).process(Contents())),
    "global": one(GlobalWindows.create_with_end_of_stream_trigger()),
}
JOBS = EARLY | AT_THE_END


def run(name: str, found: list[Any], memory: int, mode: Any) -> Any:
    options = mode | {"execution.sorted-inputs.memory": str(memory)}
    env = environment(options | {"pipeline.max-parallelism": "2"}, parallelism=1)
    cut = len(found) * 2 // 3
    source = history_then_live(found[:cut], found[cut:])
    stream = env.from_source(source, by_time(100), "records")
    JOBS[name](stream).sink_to(DiscardingSink()).name("out")
    return run_in_process(env, Schedule(batch_sizes=(7,))).of()


@pytest.mark.parametrize("name", sorted(JOBS))
@pytest.mark.parametrize("mode", [BATCH, MIXED], ids=["batch", "mixed"])
@settings(max_examples=15)
@given(found=records, size=st.sampled_from([1, 2, 5]))
def test_parts_change_nothing(name, mode, found, size):
    wanted = run(name, found, PLENTY, mode)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilled_group, "PART_RECORDS", size)
        got = run(name, found, 1, mode)
    assert per_key(got) == per_key(wanted)


@pytest.mark.parametrize("name", sorted(JOBS))
def test_windows_are_not_kept_longer_than_they_must(name, monkeypatch):
    """Results leave before the key is complete."""
    early = []

    def complete(operator, watermark):
        early.append(len(operator._values))
        end(operator, watermark)

    end = KeyedWindowOperator.end_key
    monkeypatch.setattr(KeyedWindowOperator, "end_key", complete)
    monkeypatch.setattr(spilled_group, "PART_RECORDS", 4)
    run(name, [(1, n, n % 10, n) for n in range(60) if n % 15 < 9], 1, BATCH)
    assert bool(sum(early)) == (name in EARLY or name == "own trigger")


def test_a_window_waits_for_all_records_of_its_last_millisecond(monkeypatch):
    monkeypatch.setattr(spilled_group, "PART_RECORDS", 1)
    found = [(1, 12, 0, 0), (1, 12, 0, 1), (1, 13, 0, 2)]
    assert [numbers for _, _, _, *numbers in run("tumbling", found, 1, BATCH)] == [[0, 1], [2]]


def test_sessions_that_touch_are_one():
    found = [(n % 2, n * 4 + n // 6 * 9, n % 10, n) for n in range(60)]
    found = [(key, time // 2, value, n) for key, time, value, n in found]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilled_group, "PART_RECORDS", 1)
        got = run("sessions", found, 1, BATCH)
    wanted = contents(("session", 4), found)
    assert sorted((key, numbers) for key, _, _, *numbers in got) == sorted(
        (key, [record[3] for record in sorted(of, key=lambda record: record[1])])
        for (key, _), of in wanted.items()
    )
