"""Joins over unbounded state.

The law: what comes out, applied, is the join of what went in, applied, at every moment, in every
mode. The oracle (`changelogs.join`) works on whole multisets and knows nothing of changes, keys
or state: it finds pads forgotten or left behind, wrong multiplicities, order that shows. The
comparison of modes and schedules finds state that is lost or doubled.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, Row, Types
from penstock.connectors.python.collection import CollectionSource
from penstock.datastream import JoinFunction, WatermarkStrategy
from penstock.datastream.connectors import DiscardingSink, HybridSource
from penstock.errors import (
    ArgumentError,
    KeyTypeError,
    TypeMismatchError,
    UserFunctionError,
)
from penstock.program.join import JoinKind
from penstock.testing import OperatorHarness, Schedule, run_in_process
from penstock.types import RowKind
from tests.runtime.changelogs import changelogs, changes, join, materialised, rows_of
from tests.runtime.jobs import BATCH, MIXED, MODE_IDS, MODES, STREAMING, by_time, environment
from tests.testing.strategies import schedules

DELETE = RowKind.DELETE
BACKENDS = ["hashmap", "lmdb"]
KINDS = st.sampled_from([each for each in JoinKind if not each.is_existence])

ROWS = Types.ROW_NAMED(["id", "text"], [Types.LONG(), Types.STRING()])
TYPES = {"pickled": None, "rows": ROWS}


def first(record):
    return record[0]


FORMS = {
    JoinKind.INNER: lambda keys: keys.inner(),
    JoinKind.LEFT: lambda keys: keys.left(),
    JoinKind.RIGHT: lambda keys: keys.right(),
    JoinKind.FULL: lambda keys: keys.full(),
}


def joined(kind):
    return lambda a, b: FORMS[kind](a.join(b).where(first).equal_to(first))


def minus(*values):
    return Row.of_kind(DELETE, *values)


def shown(rows):
    """Return rows as text, in order of it within each kind."""
    lines = []
    for row in rows:
        left, right = ("-" if side is None else side[1] for side in (row.left, row.right))
        lines.append(f"{row.get_row_kind()} {left}{right}")
    return sorted(lines, key=lambda line: (line[0] == "+", line))


# At every moment: a harness of one subtask, in micro-batches of any kind.

portions = st.lists(
    st.tuples(st.integers(0, 1), st.lists(changes, min_size=1, max_size=4)), max_size=14
)


@pytest.mark.parametrize("types", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=80)
@given(
    kind=KINDS,
    portions=portions,
    cut=st.integers(0, 14),
    coded=st.tuples(st.booleans(), st.booleans()),
)
def test_after_every_micro_batch_the_output_is_the_join(backend, types, kind, portions, cut, coded):
    """Also if it is started anew at the cut, with coded rows switched on or off there."""

    def harness(snapshot=None):
        form = Configuration()
        form.set("table.exec.enable-coded-rowdata", coded[snapshot is not None])
        return OperatorHarness.of(
            joined(kind),
            backend=backend,
            input_types=(types, types),
            configuration=form,
            snapshot=snapshot,
        )

    running = harness()
    inputs: tuple[list[Row], list[Row]] = ([], [])
    output: list[Row] = []
    try:
        for number, (side, portion) in enumerate(portions):
            if number == cut:
                snapshot = running.snapshot()
                running.close()
                running = harness(snapshot)
            inputs[side].extend(portion)
            output += running.push_all(portion, input=side)
            wanted = join(rows_of(inputs[0]), rows_of(inputs[1]), kind)
            assert materialised(output) == wanted
    finally:
        running.close()


# At the end: whole jobs, in every mode and with accidents.


def source(history, live):
    return (
        HybridSource.builder(CollectionSource.of(history))
        .add_source(CollectionSource.of(live))
        .build()
    )


def kind_and_payload(change, _):
    """A time that has nothing to do with the order of arrival; a deletion may come first."""
    return change.get_row_kind().value * 7 % 5 + ord(change[1])


def job(mode, parallelism, kind, left, right, cut, *, timed=False, types=None, coded=False):
    env = environment(mode | {"table.exec.enable-coded-rowdata": str(coded).lower()}, parallelism)
    strategy = (
        by_time(50).with_timestamp_assigner(kind_and_payload)
        if timed
        else WatermarkStrategy.no_watermarks()
    )
    streams = [
        env.from_source(source(log[:cut], log[cut:]), strategy, name)
        for name, log in (("left", left), ("right", right))
    ]
    if types is not None:
        streams = [stream.map(lambda row: row, types) for stream in streams]
    joined(kind)(*streams).sink_to(DiscardingSink()).name("out")
    return env


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@settings(max_examples=120)
@given(
    kind=KINDS,
    left=changelogs,
    right=changelogs,
    cut=st.integers(0, 25),
    schedule=schedules,
    parallelism=st.integers(1, 3),
    options=st.fixed_dictionaries(
        {
            "timed": st.booleans(),
            "types": st.sampled_from(list(TYPES.values())),
            "coded": st.booleans(),
        }
    ),
)
def test_every_mode_ends_with_the_join(
    *, mode, kind, left, right, cut, schedule, parallelism, options
):
    env = job(mode, parallelism, kind, left, right, cut, **options)
    output = run_in_process(env, schedule).of("out")
    assert materialised(output) == join(rows_of(left), rows_of(right), kind)


@settings(max_examples=60)
@given(kind=KINDS, left=changelogs, right=changelogs, schedule=schedules)
def test_batch_only_inserts_and_each_row_once(kind, left, right, schedule):
    output = run_in_process(job(BATCH, 2, kind, left, right, 10), schedule).of("out")
    assert {row.get_row_kind() for row in output} <= {RowKind.INSERT}
    assert len(output) == join(rows_of(left), rows_of(right), kind).total()


@settings(max_examples=60)
@given(
    kind=KINDS,
    left=changelogs,
    right=changelogs,
    cut=st.integers(0, 25),
    sizes=st.lists(st.integers(0, 8), min_size=1, max_size=4).filter(any).map(tuple),
    accidents=schedules,
)
def test_accidents_do_not_show(kind, left, right, cut, sizes, accidents):
    quiet = Schedule(tasks=accidents.tasks, batch_sizes=sizes)
    troubled = Schedule(
        tasks=accidents.tasks,
        batch_sizes=sizes,
        restart_every=accidents.restart_every,
        workers=accidents.workers,
        fail_every=accidents.fail_every,
        backend=accidents.backend,
    )
    one, other = (
        Counter(map(repr, run_in_process(job(MIXED, 2, kind, left, right, cut), s).of("out")))
        for s in (quiet, troubled)
    )
    assert one == other


# Examples: the changes themselves.


@pytest.mark.parametrize("backend", BACKENDS)
def test_left_join_step_by_step(backend):
    with OperatorHarness.of(joined(JoinKind.LEFT), backend=backend) as harness:
        left = lambda *rows: shown(harness.push_all(rows, input=0))  # noqa: E731
        right = lambda *rows: shown(harness.push_all(rows, input=1))  # noqa: E731
        assert left(Row(1, "a")) == ["+I a-"]
        assert right(Row(2, "z")) == []
        assert right(Row(1, "x")) == ["-D a-", "+I ax"]
        assert right(Row(1, "y")) == ["+I ay"]
        assert right(minus(1, "x")) == ["-D ax"]
        assert right(minus(1, "y")) == ["-D ay", "+I a-"]
        assert left(minus(1, "a")) == ["-D a-"]
        assert right(Row(1, "y")) == []


def test_an_update_gives_a_deletion_and_an_insertion():
    before = Row.of_kind(RowKind.UPDATE_BEFORE, 1, "a")
    after = Row.of_kind(RowKind.UPDATE_AFTER, 1, "b")
    with OperatorHarness.of(joined(JoinKind.INNER)) as harness:
        harness.push(Row(1, "x"), input=1)
        assert shown(harness.push(Row(1, "a"))) == ["+I ax"]
        assert shown(harness.push_all([before, after])) == ["-D ax", "+I bx"]


def test_what_cancels_out_in_a_micro_batch_does_not_appear():
    with OperatorHarness.of(joined(JoinKind.FULL)) as harness:
        assert harness.push_all([Row(1, "a"), minus(1, "a")]) == []
        assert shown(harness.push(Row(1, "a"))) == ["+I a-"]


def test_a_deletion_before_its_insertion_cancels_it():
    with OperatorHarness.of(joined(JoinKind.LEFT)) as harness:
        assert harness.push(minus(1, "a")) == []
        assert harness.push(Row(1, "a")) == []
        assert shown(harness.push(Row(1, "a"))) == ["+I a-"]


@pytest.mark.parametrize("key", [None, (1, None), Row(None, 1)])
def test_keys_with_a_none_match_nothing(key):
    with OperatorHarness.of(joined(JoinKind.FULL)) as harness:
        assert shown(harness.push((key, "a"))) == ["+I a-"]
        assert shown(harness.push((key, "x"), input=1)) == ["+I -x"]
    with OperatorHarness.of(joined(JoinKind.INNER)) as harness:
        assert harness.push((key, "a")) == harness.push((key, "x"), input=1) == []


def test_records_that_are_no_rows_are_insertions():
    with OperatorHarness.of(joined(JoinKind.INNER)) as harness:
        harness.push([1, {"nested": [1]}])
        (row,) = harness.push((1, "x"), input=1)
    assert row == Row(left=[1, {"nested": [1]}], right=(1, "x"))


def test_many_rows_of_one_key_come_out_in_several_batches():
    with OperatorHarness.of(joined(JoinKind.INNER)) as harness:
        harness.push_all([(1, n) for n in range(130)])
        output = harness.push_all([(1, n) for n in range(130)], input=1)
    assert len(output) == len({(row.left, row.right) for row in output}) == 130 * 130


def test_results_have_no_timestamps():
    with OperatorHarness.of(joined(JoinKind.LEFT)) as harness:
        harness.push(Row(1, "a"), timestamp=5)
        assert [emitted.timestamp for emitted in harness.emitted()] == [None]


def test_a_record_that_cannot_be_found_again_is_refused():
    with (
        OperatorHarness.of(joined(JoinKind.LEFT)) as harness,
        pytest.raises(KeyTypeError, match="cannot be compared"),
    ):
        harness.push((1, int))


def test_a_failing_key_names_the_record():
    with (
        OperatorHarness.of(joined(JoinKind.LEFT)) as harness,
        pytest.raises(UserFunctionError) as refused,
    ):
        harness.push(7)
    assert "7" in refused.value.problem


# apply


def flat(left, right):
    return Row(id=left[0], text=left[1], other=None if right is None else right[1])


FLAT = Types.ROW_NAMED(["id", "text", "other"], [Types.LONG(), Types.STRING(), Types.STRING()])


def test_apply_makes_rows_and_keeps_their_kind():
    build = lambda a, b: joined(JoinKind.LEFT)(a, b).apply(flat, FLAT)  # noqa: E731
    with OperatorHarness.of(build) as harness:
        harness.push(Row(1, "a"))
        gone, new = harness.push(Row(1, "x"), input=1)
    assert gone == Row.of_kind(DELETE, id=1, text="a", other=None)
    assert new == Row(id=1, text="a", other="x")


def test_apply_may_return_one_of_the_records_and_state_does_not_notice():
    build = lambda a, b: joined(JoinKind.LEFT)(a, b).apply(lambda left, _: left)  # noqa: E731
    with OperatorHarness.of(build) as harness:
        assert harness.push(Row(1, "a")) == [Row(1, "a")]
        assert harness.push(Row(1, "x"), input=1) == [minus(1, "a"), Row(1, "a")]
        assert harness.push(minus(1, "x"), input=1) == [minus(1, "a"), Row(1, "a")]
        assert harness.push(minus(1, "a")) == [minus(1, "a")]


class Greet(JoinFunction):
    def open(self, runtime_context):
        self.greeting = runtime_context.get_job_parameter("greeting", "hello")

    def join(self, first, second):
        return Row(self.greeting, first[1], second[1])


def test_apply_takes_a_join_function_and_opens_it():
    build = lambda a, b: joined(JoinKind.INNER)(a, b).apply(Greet())  # noqa: E731
    with OperatorHarness.of(build) as harness:
        harness.push((1, "a"))
        assert harness.push((1, "x"), input=1) == [Row("hello", "a", "x")]


def test_apply_refuses_results_that_cannot_carry_a_kind():
    build = lambda a, b: joined(JoinKind.LEFT)(a, b).apply(lambda left, _: tuple(left))  # noqa: E731
    with OperatorHarness.of(build) as harness, pytest.raises(TypeMismatchError, match="not a Row"):
        harness.push(Row(1, "a"))


def test_apply_refuses_what_is_no_function():
    env = environment(STREAMING)
    stream = env.from_collection([(1, "a")])
    with pytest.raises(ArgumentError, match="JoinFunction"):
        joined(JoinKind.INNER)(stream, stream).apply(3)


# Types and time-to-live


def test_the_type_of_the_result_is_made_of_those_of_the_sides():
    env = environment(STREAMING)
    rows = env.from_collection([Row(id=1, text="a")], ROWS)
    assert joined(JoinKind.INNER)(rows, rows).get_type() == Types.ROW_NAMED(
        ["left", "right"], [ROWS, ROWS]
    )


def with_ttl(ttl, kind, **arguments):
    options = Configuration().set("table.exec.state.ttl", ttl)
    return OperatorHarness.of(joined(kind), configuration=options, **arguments)


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_nobody_changes_are_forgotten_after_the_time_to_live(backend):
    with with_ttl("10 s", JoinKind.LEFT, backend=backend) as harness:
        assert shown(harness.push(Row(1, "a"))) == ["+I a-"]
        assert shown(harness.push(Row(1, "x"), input=1)) == ["-D a-", "+I ax"]
        harness.advance_processing_time(9_000)
        assert shown(harness.push(Row(1, "b"))) == ["+I bx"]
        harness.advance_processing_time(12_000)
        assert shown(harness.push(Row(1, "y"), input=1)) == ["+I by"]
        # What is deleted and not there has expired, and is not owed.
        assert harness.push(minus(1, "a")) == []
        assert shown(harness.push(Row(1, "a"))) == ["+I ay"]


@settings(max_examples=100)
@given(
    kind=KINDS,
    portions=st.lists(
        st.tuples(st.integers(0, 1), st.lists(changes, min_size=1, max_size=3), st.integers(0, 8)),
        max_size=14,
    ),
    switch=st.integers(0, 14),
    backend=st.sampled_from(BACKENDS),
)
def test_with_a_time_to_live_nothing_is_deleted_that_is_not_there(kind, portions, switch, backend):
    # It is switched off meanwhile.
    now = 0
    output: list[Row] = []
    harness = with_ttl("10 ms", kind, backend=backend)
    try:
        for number, (side, portion, later) in enumerate(portions):
            if number == switch:
                snapshot = harness.snapshot()
                harness.close()
                harness = with_ttl("0", kind, backend=backend, snapshot=snapshot)
            now += later
            harness.advance_processing_time(now)
            output += harness.push_all(portion, input=side)
            materialised(output)
    finally:
        harness.close()


def test_without_a_time_to_live_rows_stay():
    with OperatorHarness.of(joined(JoinKind.INNER)) as harness:
        harness.push(Row(1, "a"))
        harness.advance_processing_time(timedelta(days=4000) // timedelta(milliseconds=1))
        assert shown(harness.push(Row(1, "x"), input=1)) == ["+I ax"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_are_found_again_when_their_type_has_grown(backend):
    grown = Types.ROW_NAMED(["id", "new", "text"], [Types.LONG(), Types.INT(), Types.STRING()])

    def harness(row_type, snapshot=None):
        return OperatorHarness.of(
            joined(JoinKind.LEFT),
            backend=backend,
            input_types=(row_type, row_type),
            snapshot=snapshot,
        )

    with harness(ROWS) as before:
        before.push_all([Row(1, "a"), Row(1, "b")])
        snapshot = before.snapshot()
    with harness(grown, snapshot) as after:
        (gone,) = after.push(minus(1, None, "a"))
        assert gone == Row.of_kind(DELETE, left=Row(id=1, new=None, text="a"), right=None)
        (new,) = after.push(Row(1, 7, "c"))
        assert new.left == Row(id=1, new=7, text="c")
