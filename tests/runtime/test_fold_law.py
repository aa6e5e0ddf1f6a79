"""The places where records are folded never change the answer.

Every legal choice of places, of every run, is forced as a value of the plan and compared with folding in
state alone: results, and their order in a key. What state does itself is for `test_windows_law` and
`test_pair_law`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Types
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    AggregateFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WatermarkStrategy,
)
from penstock.datastream.connectors import HybridSource
from penstock.datastream.window import (
    EndOfStreamWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.plan.folding.choice import legal_places
from penstock.program.fold import LATEST_LAWS, Place, latest
from penstock.program.operators import KEYED_LATEST
from penstock.runtime.fold import fold_table
from penstock.testing import Schedule, difference, run_in_process
from tests.runtime.jobs import BATCH, MIXED, Splits, by_time, environment
from tests.runtime.spill_jobs import ms

LATEST = MIXED | {"pipeline.backlog.output": "latest"}
MODES = {"batch": BATCH, "mixed": MIXED, "latest": LATEST}
SMALL = {"execution.sorted-inputs.memory": "600"}
TYPE = Types.TUPLE([Types.INT(), Types.LONG(), Types.STRING()])


def key_of(record):
    return record[0]


def greatest(a, b):
    """Associative and commutative."""
    return a[0], max(a[1], b[1]), max(a[2], b[2])


def joined(a, b):
    """Associative."""
    return a[0], max(a[1], b[1]), a[2] + b[2]


def bracketed(a, b):
    """Neither."""
    return a[0], a[1], f"({a[2]}{b[2]})"


class Letters(AggregateFunction):
    """Changes its accumulators, and gives them away as results."""

    def create_accumulator(self):
        return [None, []]

    def add(self, value, accumulator):
        accumulator[0] = value[0]
        accumulator[1].append(value[2])
        return accumulator

    def get_result(self, accumulator):
        return accumulator[0], len(accumulator[1]), "".join(accumulator[1])

    def merge(self, acc_a, acc_b):
        acc_a[0] = acc_b[0] if acc_a[0] is None else acc_a[0]
        acc_a[1].extend(acc_b[1])
        return acc_a


class AnyOrder(Letters):
    def get_result(self, accumulator):
        return accumulator[0], len(accumulator[1]), "".join(sorted(accumulator[1]))

    def is_associative(self):
        return True

    def is_commutative(self):
        return True


class InOrder(Letters):
    def is_associative(self):
        return True


class Opened(ReduceFunction):
    """May get hold of state."""

    def open(self, runtime_context):
        self.opened = True

    def reduce(self, value1, value2):
        return greatest(value1, value2)

    def is_associative(self):
        return True

    def is_commutative(self):
        return True


class Shown(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, getattr(window, "start", 0), repr(list(elements)), context.current_watermark()


def tumbling(keyed):
    return keyed.window(TumblingEventTimeWindows.of(ms(5), ms(1)))


def sliding(keyed):
    return keyed.window(SlidingEventTimeWindows.of(ms(9), ms(6)))


def gaps(keyed):
    return keyed.window(SlidingEventTimeWindows.of(ms(4), ms(6)))


def late(keyed):
    return tumbling(keyed).allowed_lateness(7)


def sessions(keyed):
    return keyed.window(EventTimeSessionWindows.with_gap(ms(3)))


def at_end(keyed):
    return keyed.window(EndOfStreamWindows.get())


WINDOWS = {
    "tumbling": tumbling,
    "sliding": sliding,
    "gaps": gaps,
    "late": late,
    "sessions": sessions,
    "end": at_end,
}

OF_WINDOWS = {
    "any order": lambda w: w.reduce(greatest, associative=True, commutative=True),
    "in order": lambda w: w.reduce(joined, associative=True),
    "no promise": lambda w: w.reduce(bracketed),
    "opened": lambda w: w.reduce(Opened()),
    "shown": lambda w: w.reduce(greatest, Shown(), associative=True, commutative=True),
    "aggregate": lambda w: w.aggregate(Letters()),
    "aggregate in order": lambda w: w.aggregate(InOrder()),
    "aggregate in any order": lambda w: w.aggregate(AnyOrder()),
    "aggregate shown": lambda w: w.aggregate(AnyOrder(), Shown()),
    "list": lambda w: w.process(Shown()),
}

THENS: dict[str, Any] = {
    "reduce, any order": lambda k: k.reduce(greatest, associative=True, commutative=True),
    "reduce, in order": lambda k: k.reduce(joined, associative=True),
    "reduce, no promise": lambda k: k.reduce(bracketed),
    **{f"{how} of {at}": lambda k, how=how, at=at: getattr(k, how)(at)
       for how, at in (("sum", 1), ("min", 1), ("max", 2), ("min_by", 2), ("max_by", 1))},
    "the last": lambda k: k._derive(
        KEYED_LATEST, "upsert", k.get_type(), function=latest, method=None, promises=LATEST_LAWS
    ),
    **{
        f"{shape}, {name}": lambda k, shape=shape, name=name: OF_WINDOWS[name](WINDOWS[shape](k))
        for shape, name in product(WINDOWS, OF_WINDOWS)
    },
}  # fmt: skip

RECORDS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-12, 40), st.sampled_from("abcd")), max_size=20
).map(tuple)
HISTORY = st.lists(RECORDS, min_size=1, max_size=3).map(tuple)
SCHEDULES = st.builds(
    Schedule,
    tasks=st.integers(1, 3),
    frame_records=st.integers(1, 7),
    batch_sizes=st.sampled_from([(3,), (100,)]),
    restart_every=st.sampled_from([None, 1]),
)


def is_timed(name):
    return name.partition(",")[0] in WINDOWS.keys() - {"end"}


def forced(plan, choice):
    """Return the plan with other places, one choice per run."""
    chosen = tuple(
        replace(fold, plan=replace(fold.plan, places=places))
        for fold, places in zip(plan.folds, choice, strict=True)
    )
    return replace(plan, folds=chosen)


def per_key(results):
    found = defaultdict(list)
    for result in results:
        found[result[0]].append(result)
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", THENS)
@given(
    history=HISTORY,
    live=RECORDS,
    schedule=SCHEDULES,
    traits=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
@settings(max_examples=4, deadline=None)
def test_every_legal_place_gives_what_state_gives(name, mode, history, live, schedule, traits):
    timed, typed, small = traits
    source: Any = Splits(history)
    if mode != "batch":
        source = HybridSource.builder(source).add_source(CollectionSource.of(live)).build()
    env = environment(MODES[mode] | (SMALL if small else {}))
    strategy = by_time(3) if timed or is_timed(name) else WatermarkStrategy.no_watermarks()
    stream = env.from_source(source, strategy, "records")
    keyed = (stream.map(lambda r: r, TYPE) if typed else stream).key_by(key_of)
    THENS[name](keyed).sink_to(DiscardingSink()).name("out")
    plan = env.plan()
    choices = [legal_places(plan, plan.runs[fold.run], fold.operator) for fold in plan.folds]
    assert all(fold.plan.places in legal for fold, legal in zip(plan.folds, choices, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold_table, "_FIRST_LOOK", 2 if small else 4096)  # tables fill at once
        first, *others = (
            run_in_process(forced(plan, choice), schedule).of() for choice in product(*choices)
        )
    for other in others:
        assert difference(other, first) is None
        assert per_key(other) == per_key(first)


def test_the_law_forces_every_place_but_spark():
    seen: set[Place] = set()
    for then in THENS.values():
        env = environment(BATCH)
        stream = env.from_source(CollectionSource.of([(0, 0, "a")]), by_time(), "records")
        then(stream.key_by(key_of)).sink_to(DiscardingSink())
        plan = env.plan()
        for fold in plan.folds:
            legal = legal_places(plan, plan.runs[fold.run], fold.operator)
            assert legal[0] == {Place.STATE}
            seen |= frozenset().union(*legal)
    assert seen == set(Place) - {Place.SOURCE_SQL}, "see tests/spark/test_field_totals.py"
