"""Records combined by key before they are exchanged: never another answer, and fewer records.

The law is differential: the same job with `execution.batch.combine` on and off. What it cannot see,
a mistake both share, the oracle does, which is a loop over a dictionary.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Types
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import ReduceFunction, WatermarkStrategy
from penstock.datastream.window import EndOfStreamWindows, GlobalWindows
from penstock.errors import KeyTypeError, UserFunctionError
from penstock.metrics.values import metric_results
from penstock.program.fold import ChannelFold, Fold
from penstock.runtime.fold import fold_table
from penstock.runtime.fold.sender_fold import SenderFold
from penstock.runtime.spill.spill_space import SPILLED_FILES
from penstock.testing import Schedule, difference, last_per_key, run_in_process
from tests.runtime.jobs import BATCH, MIXED, STREAMING, Splits, environment, history_then_live
from tests.runtime.switched import Switched

NONE = WatermarkStrategy.no_watermarks()
OFF = {"execution.batch.combine": "false"}
LATEST = MIXED | {"pipeline.backlog.output": "latest"}
SMALL = {"execution.sorted-inputs.memory": "600"}


def key_of(record):
    return record[0]


def joined(a, b):
    """Associative, and not commutative."""
    return a[0], a[1] + b[1]


def bracketed(a, b):
    """Not associative."""
    return a[0], f"({a[1]}{b[1]})"


def parity(number):
    return number % 2


def keyless(a, b):
    """Gives what has not the key of its arguments."""
    return a + b


class Joined(ReduceFunction):
    def reduce(self, value1, value2):
        return joined(value1, value2)

    def is_associative(self):
        return True


PAIRS = st.tuples(st.integers(0, 5), st.text("abc", min_size=1, max_size=2))
SPLITS = st.lists(st.lists(PAIRS, max_size=30).map(tuple), min_size=1, max_size=4).map(tuple)
SCHEDULES = st.builds(
    Schedule, tasks=st.integers(1, 4), frame_records=st.integers(1, 7), restart_every=st.none()
)


def run(settings_, source, then, schedule=None, parallelism=2):
    env = environment(settings_, parallelism)
    then(env.from_source(source, NONE, "records")).sink_to(DiscardingSink()).name("out")
    return run_in_process(env, schedule or Schedule())


def folded(splits, function, key=key_of):
    """The oracle: a loop."""
    found: dict[object, object] = {}
    for record in (record for split in splits for record in split):
        found[key(record)] = (
            function(found[key(record)], record) if key(record) in found else record
        )
    return Counter(found.values())


THENS = {
    "reduce": lambda s: s.key_by(key_of).reduce(joined, associative=True),
    "function": lambda s: s.key_by(key_of).reduce(Joined()),
    "window": lambda s: (
        s.key_by(key_of).window(EndOfStreamWindows.get()).reduce(joined, associative=True)
    ),
    "global": lambda s: (
        s.key_by(key_of).window(GlobalWindows.create_with_end_of_stream_trigger()).reduce(Joined())
    ),
    "no promise": lambda s: s.key_by(key_of).reduce(bracketed),
    "window, no promise": lambda s: (
        s.key_by(key_of).window(EndOfStreamWindows.get()).reduce(bracketed)
    ),
    "all": lambda s: s.window_all(EndOfStreamWindows.get()).reduce(
        lambda a, b: ("", a[1] + b[1]), associative=True
    ),
    "behind another": lambda s: (
        s.key_by(key_of)
        .reduce(joined, associative=True)
        .map(lambda r: (r[0] % 2, frozenset(r[1])))
        .key_by(key_of)
        .reduce(lambda a, b: (a[0], a[1] | b[1]), associative=True)
    ),
}


@pytest.mark.parametrize("then", THENS.values(), ids=THENS)
@given(splits=SPLITS, schedule=SCHEDULES, small=st.booleans())
@settings(max_examples=15, deadline=None)
def test_combining_never_changes_the_answer(then, splits, schedule, small):
    with_memory = BATCH | (SMALL if small else {})
    source = Splits(splits)
    combined = run(with_memory, source, then, schedule)
    assert difference(combined.of(), run(BATCH | OFF, source, then, schedule).of()) is None


@pytest.mark.parametrize("name", ["reduce", "function", "window", "global"])
@given(splits=SPLITS, schedule=SCHEDULES, small=st.booleans())
@settings(max_examples=15, deadline=None)
def test_the_answer_is_that_of_a_loop(name, splits, schedule, small):
    with_memory = BATCH | (SMALL if small else {})
    found = run(with_memory, Splits(splits), THENS[name], schedule).of()
    assert Counter(found) == folded(splits, joined)


@given(splits=st.lists(st.lists(st.integers(-9, 9)).map(tuple), min_size=1).map(tuple))
@settings(max_examples=15, deadline=None)
def test_what_records_give_together_need_not_have_their_key(splits):
    def then(s):
        return s.key_by(parity).reduce(keyless, associative=True)

    assert Counter(run(BATCH, Splits(splits), then).of()) == folded(splits, keyless, parity)


@given(history=st.lists(PAIRS, min_size=1), live=st.lists(PAIRS), schedule=SCHEDULES)
@settings(max_examples=15, deadline=None)
def test_streaming_and_mixed_runs_agree_on_the_last_result(history, live, schedule):
    from_all = CollectionSource.of([*history, *live])
    then = THENS["reduce"]
    batch = run(BATCH, from_all, then, schedule, 1).of()
    streaming = run(STREAMING, from_all, then, schedule, 1).of()
    assert difference(last_per_key(batch, key_of), last_per_key(streaming, key_of)) is None


@given(history=st.lists(PAIRS, min_size=1))
@settings(max_examples=15, deadline=None)
def test_state_at_the_switch_is_the_same(history):
    def switched(more):
        env = environment(LATEST | more, 1)
        stream = env.from_source(history_then_live(history, [(0, "z")]), NONE, "records")
        THENS["reduce"](stream).sink_to(DiscardingSink())
        return Switched(env)

    on, off = switched({}), switched(OFF)
    assert on.state == off.state
    assert Counter(on.history) == Counter(off.history)


@pytest.mark.parametrize("then", [THENS["reduce"], THENS["window"]], ids=["reduce", "window"])
@given(splits=SPLITS, schedule=SCHEDULES)
@settings(max_examples=15, deadline=None)
def test_what_is_folded_of_a_key_group_may_exceed_memory(then, splits, schedule):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold_table, "_FIRST_LOOK", 2)
        found = run(BATCH | SMALL, Splits(splits), then, schedule)
    assert Counter(found.of()) == folded(splits, joined)


def test_a_table_that_is_too_large_is_spilled_with_the_records_behind_it(monkeypatch):
    monkeypatch.setattr(fold_table, "_FIRST_LOOK", 2)
    splits = tuple(tuple((key, f"{split}.") for key in range(3000)) for split in range(3))
    found = run(BATCH | {"execution.sorted-inputs.memory": "5kb"}, Splits(splits), THENS["reduce"])
    assert Counter(found.of()) == folded(splits, joined)
    files = [v for name, v in found.report.metrics.items() if name.endswith(SPILLED_FILES)]
    assert sum(value.result for value in files) > 0


FIELDS = Types.TUPLE([Types.INT(), Types.LONG(), Types.STRING()])
TYPED = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-99, 99), st.text("ab"))).map(tuple),
    min_size=1,
).map(tuple)


@pytest.mark.parametrize("method", ["sum", "min", "max", "min_by", "max_by"])
@given(splits=TYPED, schedule=SCHEDULES, small=st.booleans())
@settings(max_examples=10, deadline=None)
def test_aggregations_of_declared_integers_keep_the_other_fields(method, splits, schedule, small):
    def then(s):
        return getattr(s.map(lambda r: r, FIELDS).key_by(key_of), method)(1)

    with_memory = BATCH | (SMALL if small else {})
    combined = run(with_memory, Splits(splits), then, schedule)
    assert difference(combined.of(), run(BATCH | OFF, Splits(splits), then, schedule).of()) is None


def combiner(memory_bytes=1 << 20, function=joined):
    fold = Fold(None, function, function, None, None)
    return SenderFold(ChannelFold(fold, True, "reduce", "reduce-1", None, memory_bytes))


def add(table, records):
    table.add([record[0] for record in records], iter(records), None)


def test_a_full_table_leaves_and_combining_ends_if_it_was_no_use():
    table = combiner(10_000)
    add(table, [(i, "a") for i in range(5000)])
    assert table.is_full
    pairs = [pair for keys, some, _ in table.take(1000) for pair in zip(keys, some, strict=True)]
    assert pairs == [(i, (i, "a")) for i in range(5000)]
    assert not table.is_useful


def test_a_full_table_of_keys_that_come_again_is_of_use():
    table = combiner(10_000)
    add(table, [(i % 100, "a") for i in range(5000)])
    assert table.is_full
    assert sum(len(keys) for keys, _, _ in table.take(64)) == 100
    assert table.is_useful
    assert not table.is_full


def test_keys_that_come_again_late_are_combined_as_long_as_memory_is_left():
    table = combiner(1 << 30)
    keys, batch = 1 << 18, 1 << 14
    for start in range(0, 2 * keys, batch):
        add(table, [(i % keys, "a") for i in range(start, start + batch)])
        assert not table.is_full
    assert sum(len(some) for some, _, _ in table.take(batch)) == keys
    assert table.is_useful


def test_values_that_grow_fill_the_table():
    table = combiner(200_000)
    add(table, [(i % 10, "a") for i in range(4096)])
    assert not table.is_full, "ten values of 410 characters"
    for _ in range(2):
        add(table, [(i % 10, "a" * 100) for i in range(4096)])
    assert table.is_full, "the same ten keys, with values of 82,000"


def test_what_was_combined_is_counted():
    table = combiner()
    add(table, [(i % 10, "a") for i in range(50)])
    list(table.take(100))
    counts = {name: value.result for name, value in table.take_metrics().items()}
    assert counts == {
        "reduce-1.combine.numRecordsIn": 50,
        "reduce-1.combine.numRecordsOut": 10,
    }
    assert {value.result for value in table.take_metrics().values()} == {0}


def test_metrics_of_a_job_tell_how_many_records_were_combined():
    records = [(i % 3, "a") for i in range(60)]
    splits = Splits((tuple(records[:30]), tuple(records[30:])))
    found = run(BATCH, splits, lambda stream: THENS["reduce"](stream).uid("joined"))
    metrics = metric_results(found.report.metrics)
    assert metrics["joined.combine.numRecordsIn"] == 60
    assert metrics["joined.combine.numRecordsOut"] == 6
    assert metrics["joined.numRecordsIn"] == 6


def test_an_error_names_the_operator_the_record_and_the_key():
    def broken(a, b):
        return a[0], a[1] / b[1]

    with pytest.raises(UserFunctionError) as failed:
        run(
            BATCH,
            Splits((((1, 4), (2, 6), (1, 0)),)),
            lambda s: s.key_by(key_of).reduce(broken, associative=True),
            parallelism=1,
        )
    problem = failed.value.problem
    assert (
        "operator 'broken' failed on record (1, 0) (number 3 of 3 in its batch), key 1" in problem
    )
    assert "ZeroDivisionError" in problem
    assert failed.value.origin is not None


def test_a_key_that_can_be_changed_is_refused_by_its_record():
    with pytest.raises(KeyTypeError) as refused:
        run(
            BATCH,
            Splits((((1, "a"), ({2}, "b")),)),
            lambda s: s.key_by(key_of).reduce(joined, associative=True),
            parallelism=1,
        )
    assert "the key of record ({2}, 'b')" in refused.value.problem
    with pytest.raises(KeyTypeError) as refused:
        run(
            BATCH,
            Splits((((1, "a"), (float("nan"), "b")),)),
            lambda s: s.key_by(key_of).reduce(joined, associative=True),
            parallelism=1,
        )
    assert "NaN" in refused.value.problem
