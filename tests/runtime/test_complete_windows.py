"""Windows of a key group whose records are all at hand give what windows kept in panes give.

Differential: the same operator with and without RECEIVER_GROUP: the results of each key with their
timestamps, in order, and the state that is handed over. What both get wrong is for
`test_windows_law`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.datastream import AggregateFunction, ProcessWindowFunction, WindowFunction
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.errors import UserFunctionError
from penstock.program.fold import Place
from penstock.state.backends.hash.backend import HashBackend
from tests.runtime.spill_jobs import ms
from tests.runtime.window_harness import MAX, WindowHarness


class Numbers(AggregateFunction):
    """Changes its accumulator, and returns it."""

    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        accumulator.append((value[0], value[2]))
        return accumulator

    def get_result(self, accumulator):
        accumulator.append("seen")
        return accumulator

    def merge(self, a, b):
        a.extend(b)
        return a


class Seen(ProcessWindowFunction):
    """Counts the windows of a key, and says what it is told."""

    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, context.current_watermark(), list(elements)

    def clear(self, context):
        cleared.append(context.window())


class Applied(WindowFunction):
    def apply(self, key, window, inputs):
        return [(key, window.start, window.end, list(inputs)), "and"]


cleared: list[Any] = []

IN_STATE = frozenset({Place.STATE})
IN_MEMORY = IN_STATE | {Place.RECEIVER_GROUP}

FOLDS = {
    "reduce": lambda cut: cut.reduce(lambda a, b: (a[0], a[1], f"{a[2]}{b[2]}")),
    "reduce, process": lambda cut: cut.reduce(lambda a, b: (a[0], b[1], a[2]), Seen()),
    "aggregate": lambda cut: cut.aggregate(Numbers()),
    "process": lambda cut: cut.process(Seen()),
    "apply": lambda cut: cut.apply(Applied()),
}

shapes = st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(0, 5)).filter(
    lambda shape: shape[2] < shape[1]
)
records = st.lists(
    st.tuples(st.integers(0, 2), st.integers(-30, 60), st.integers(0, 9)), max_size=30
)


def run(fold, shape, lateness, final, found, *, is_complete):
    size, slide, offset = shape
    assigner = (
        TumblingEventTimeWindows.of(ms(size), ms(offset))
        if size == slide
        else SlidingEventTimeWindows.of(ms(size), ms(slide), ms(offset))
    )
    harness = WindowHarness(
        lambda s: FOLDS[fold](s.window(assigner).allowed_lateness(lateness)),
        places=IN_MEMORY if is_complete else IN_STATE,
    )
    harness.batch(final, is_last_run=final == MAX)
    cleared.clear()
    harness.add(*found)
    assert isinstance(harness.backend, HashBackend)
    state = sorted(
        (table, sorted(map(repr, part.entries.items())))
        for table, of in harness.backend._tables.items()
        for _, part in of.parts()
        if part.entries
    )
    of_keys = defaultdict(list)
    for result, stamp in harness.stamped():
        first = "and" if result == "and" else result[0]
        of_keys[first[0] if type(first) is tuple else first].append((result, stamp))
    return of_keys, sorted(map(repr, cleared)), state


@pytest.mark.parametrize("fold", FOLDS)
@settings(max_examples=60, deadline=None)
@given(
    shape=st.one_of(shapes, st.tuples(st.just(10), st.just(10), st.integers(0, 9))),
    lateness=st.sampled_from([0, 0, 3, 15]),
    final=st.one_of(st.just(MAX), st.integers(-40, 80)),
    found=records,
)
@example(shape=(10, 10, 0), lateness=0, final=19, found=[(0, 19, 1), (0, 20, 2), (0, 5, 3)])
@example(shape=(3, 10, 0), lateness=0, final=30, found=[(0, 2, 1), (0, 3, 2), (0, 32, 3)])
@example(shape=(10, 4, 1), lateness=0, final=MAX, found=[(0, 0, 1), (0, 50, 2), (0, 51, 3)])
def test_they_give_what_panes_give(fold, shape, lateness, final, found):
    wanted = run(fold, shape, lateness, final, found, is_complete=False)
    assert run(fold, shape, lateness, final, found, is_complete=True) == wanted


def test_windows_that_end_leave_no_state():
    _, _, kept = run("reduce", (10, 10, 0), 0, 19, [(0, 5, 1), (0, 19, 2)], is_complete=True)
    assert kept == []
    _, _, kept = run("reduce", (10, 10, 0), 0, 18, [(0, 5, 1), (0, 19, 2)], is_complete=True)
    assert kept != []


@pytest.mark.parametrize("is_complete", [True, False])
def test_a_function_that_fails_is_told_with_its_record(is_complete):
    def fails(a, b):
        return a[0] // b[1], 0, 0

    harness = WindowHarness(
        lambda s: s.window(TumblingEventTimeWindows.of(ms(10))).reduce(fails),
        places=IN_MEMORY if is_complete else IN_STATE,
    )
    harness.batch()
    with pytest.raises(
        UserFunctionError, match=r"record \(7, 0, 0\) \(number 2 of 3.*key 7: ZeroDiv"
    ):
        harness.add((7, 9, 0), (7, 0, 0), (7, 5, 0), stamps=[1, 2, 3])


def test_the_windows_of_one_record_leave_a_few_thousand_at_a_time(monkeypatch):
    harness = WindowHarness(
        lambda s: s.window(SlidingEventTimeWindows.of(ms(20_000), ms(1))).reduce(lambda a, _: a),
        places=IN_MEMORY,
    )
    harness.batch()
    sent = []
    monkeypatch.setattr(harness.operator, "emit", lambda values, _: sent.append(len(values)))
    harness.add((0, 5, 0))
    assert sum(sent) == 20_000
    assert max(sent) == 4096
