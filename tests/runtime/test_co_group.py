"""Co-groups and window joins, one behaviour at a time; `test_pair_law` has their definition."""

from __future__ import annotations

import pytest

from penstock.common import Time, Types
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessFunction,
    TaggedUnion,
    ValueStateDescriptor,
)
from penstock.datastream.window import (
    CountTrigger,
    EndOfStreamWindows,
    EventTimeSessionWindows,
    Evictor,
    GlobalWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    TumblingEventTimeWindows,
)
from penstock.errors import UserFunctionError
from penstock.runtime.operators.two_inputs import lists_by_key, pairs_by_key
from penstock.runtime.operators.windows.co_group_at_end import CoGroupWindowOperator
from penstock.state.log.blob import decode_blob
from penstock.testing import Emitted, OperatorHarness, difference, run_in_process
from tests.runtime.jobs import BATCH, MODE_IDS, MODES, by_time, environment

WHOLE = EndOfStreamWindows.get()


def tumbling(size):
    return TumblingEventTimeWindows.of(Time.milliseconds(size))


def key_of(record):
    return record[0]


def lists(first, second):
    return [([r[1] for r in first], [r[1] for r in second])]


def co_group(window, function=lists, change=lambda windows: windows):
    def build(a, b):
        return change(a.co_group(b).where(key_of).equal_to(key_of).window(window)).apply(function)

    return build


def join(window, function, change=lambda windows: windows):
    def build(a, b):
        return change(a.join(b).where(key_of).equal_to(key_of).window(window)).apply(function)

    return build


def answer(mode, build, left, right, **settings):
    env = environment(mode | settings)
    streams = [env.from_source(CollectionSource.of(of), by_time(), "s") for of in (left, right)]
    build(*streams).sink_to(DiscardingSink())
    return run_in_process(env).of()


LEFT = [("a", 1), ("b", 2), ("a", 3)]
RIGHT = [("c", 1), ("a", 2), ("a", 2)]


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_key_of_one_side_has_an_empty_list_for_the_other(mode):
    got = answer(mode, co_group(WHOLE), LEFT, RIGHT)
    assert difference(got, [([1, 3], [2, 2]), ([2], []), ([], [1])]) is None


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_lists_are_in_order_of_arrival_and_belong_to_the_function(mode):
    def emptied(first, second):
        result = [r[1] for r in first], [r[1] for r in second]
        first.clear()
        second.append("mine")
        return [result]

    left = [("a", t) for t in (5, 1, 3)]
    got = answer(mode, co_group(WHOLE, emptied), [*left, ("b", 1)], [("a", 2), ("a", 1), ("c", 3)])
    assert difference(got, [([5, 1, 3], [2, 1]), ([1], []), ([], [3])]) is None


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("function", [lambda _, __: None, lambda _, __: [], lambda _, __: iter(())])
def test_a_function_may_have_no_results(mode, function):
    assert answer(mode, co_group(WHOLE, function), LEFT, RIGHT) == []


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_function_may_have_very_many_results(mode):
    def many(first, second):
        yield from range(10_000)

    got = answer(mode, co_group(WHOLE, many), LEFT, RIGHT)
    assert difference(got, 3 * list(range(10_000))) is None


GIVEN: list[int] = []
WAITING: list[int] = []


def given_one_by_one(first, second):
    for number in range(20_000):
        GIVEN.append(number)
        yield number


def taken(number):
    WAITING.append(len(GIVEN) - number)
    return number


def test_very_many_results_leave_in_portions():
    env = environment(BATCH, 1)
    a, b = (env.from_collection([("a", 1)]) for _ in range(2))
    co_group(WHOLE, given_one_by_one)(a, b).map(taken).sink_to(DiscardingSink())
    assert len(run_in_process(env).of()) == 20_000
    assert max(WAITING) == 4096


class WithState(CoGroupFunction):
    def open(self, runtime_context):
        self.calls = runtime_context.get_state(ValueStateDescriptor("calls"))

    def co_group(self, first, second):
        self.calls.update((self.calls.value() or 0) + 1)
        yield next(iter([*first, *second]))[0], self.calls.value()


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_the_function_may_have_keyed_state(mode):
    got = answer(mode, co_group(tumbling(2), WithState()), LEFT, RIGHT)
    assert difference(got, [("a", 1), ("a", 2), ("b", 1), ("c", 1)]) is None
    got = answer(mode, co_group(WHOLE, WithState()), LEFT, RIGHT)
    assert difference(got, [("a", 1), ("b", 1), ("c", 1)]) is None


class Opened(CoGroupFunction):
    def open(self, runtime_context):
        self.log = ["open"]

    def co_group(self, first, second):
        yield tuple(self.log)


class OpenedJoin(JoinFunction):
    def open(self, runtime_context):
        self.log = ["open"]

    def join(self, first, second):
        return tuple(self.log)


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_functions_are_opened(mode):
    assert set(answer(mode, co_group(WHOLE, Opened()), LEFT, RIGHT)) == {("open",)}
    assert set(answer(mode, join(WHOLE, OpenedJoin()), LEFT, RIGHT)) == {("open",)}


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_results_have_the_time_of_their_window(backend):
    with OperatorHarness.of(co_group(tumbling(5)), backend=backend) as harness:
        harness.push(("a", 1), 1)
        harness.push(("a", 4), 4, input=1)
        harness.push(("a", 6), 6, input=1)
        assert harness.advance_watermark(4, input=0) == []
        assert harness.advance_watermark(7, input=1) == [([1], [4])]
        harness.end_input()
        assert harness.emitted() == [Emitted(([1], [4]), 4), Emitted(([], [6]), 9)]
        assert harness.snapshot().state == ()


class Stamp(ProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.timestamp()


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize(
    "window", [WHOLE, GlobalWindows.create_with_end_of_stream_trigger()], ids=["time", "global"]
)
def test_results_at_the_end_have_the_time_of_their_window(mode, window):
    env = environment(mode)
    streams = [env.from_source(CollectionSource.of(of), by_time(), "s") for of in (LEFT, RIGHT)]
    co_group(window)(*streams).process(Stamp()).sink_to(DiscardingSink())
    (end,) = set(run_in_process(env).of())
    (made,) = window.assign_windows(None, 0, None)
    assert end == made.max_timestamp()


def test_what_is_stored_has_no_tags():
    types = [
        Types.TUPLE([Types.STRING(), Types.LONG()]),
        Types.TUPLE([Types.STRING(), Types.INT()]),
    ]
    with OperatorHarness.of(co_group(tumbling(5)), input_types=types) as harness:
        harness.push(("a", 1), 1)
        harness.push(("a", 2), 2, input=1)
        sections = {
            section.state: section
            for blob in harness.snapshot().state
            for section in decode_blob(blob)
        }
    stored = [sections[name] for name in ("_window_contents", "_window_contents_2")]
    assert [section.values for section in stored] == [[[("a", 1)]], [[("a", 2)]]]
    assert [("Long" in section.schema, "Int" in section.schema) for section in stored] == [
        (True, False),
        (False, True),
    ]


def test_late_records_are_dropped_and_counted():
    with OperatorHarness.of(co_group(tumbling(5))) as harness:
        harness.advance_watermark(4)
        assert harness.push(("a", 4), 4, input=1) == []
        assert harness.metric("numLateRecordsDropped") == 1
        assert harness.end_input() == []


def test_allowed_lateness_fires_again():
    build = co_group(tumbling(5), change=lambda windows: windows.allowed_lateness(10))
    with OperatorHarness.of(build) as harness:
        harness.push(("a", 1), 1)
        assert harness.advance_watermark(4) == [([1], [])]
        assert harness.push(("a", 2), 2, input=1) == [([1], [2])]


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_trigger_counts_the_records_of_both_sides(mode):
    def build(a, b):
        windows = a.co_group(b).where(key_of).equal_to(key_of).window(GlobalWindows.create())
        return windows.trigger(PurgingTrigger.of(CountTrigger.of(2))).apply(lists)

    got = answer(mode, build, [("a", 1), ("b", 1)], [("a", 2)])
    assert got == [([1], [2])]


class OnlyFirst(Evictor):
    def evict_before(self, elements, size, window, ctx):
        assert all(type(record) is TaggedUnion for _, record in elements)
        elements[:] = [pair for pair in elements if pair[1].is_one()]

    def evict_after(self, elements, size, window, ctx):
        pass


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_an_evictor_knows_the_sides(mode):
    build = co_group(tumbling(5), change=lambda windows: windows.evictor(OnlyFirst()))
    got = answer(mode, build, [("a", 1)], [("a", 2), ("b", 1)])
    assert got == [([1], [])]


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return 10 if element.is_one() else 1


def test_an_assigner_knows_the_sides():
    build = co_group(EventTimeSessionWindows.with_dynamic_gap(Gap()))
    got = answer(BATCH, build, [("a", 1)], [("a", 8), ("b", 1), ("b", 8)])
    assert difference(got, [([1], [8]), ([], [1]), ([], [8])]) is None


def test_a_tagged_record_is_of_one_side():
    one, two = TaggedUnion(0, "x"), TaggedUnion(1, "y")
    assert (one.is_one(), one.is_two(), one.get_one(), one.get_two()) == (True, False, "x", None)
    assert (two.is_one(), two.is_two(), two.get_one(), two.get_two()) == (False, True, None, "y")


class Words(FlatJoinFunction):
    def join(self, first, second):
        if first[1] == second[1]:
            return None
        return [first[1], second[1]]


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_flat_join_has_any_number_of_results_per_pair(mode):
    got = answer(mode, join(WHOLE, Words()), LEFT, [("a", 3), ("b", 2)])
    assert difference(got, [1, 3]) is None


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_join_has_one_result_per_pair_none_included(mode):
    got = answer(mode, join(WHOLE, lambda _, __: None), LEFT, RIGHT)
    assert got == [None] * 4


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_failing_function_names_the_key(mode):
    def fails(first, second):
        yield 1
        raise ValueError("no")

    for window in (WHOLE, tumbling(5)):
        with pytest.raises(UserFunctionError) as failure:
            answer(mode, co_group(window, fails), [("kk", 1)], [])
        assert "key 'kk'" in failure.value.problem
        assert str(failure.value.origin).endswith("in fails")


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("window", [WHOLE, tumbling(5)], ids=["end", "tumbling"])
def test_a_failing_key_selector_names_the_record(mode, window):
    def build(a, b):
        keyed = a.co_group(b).where(key_of).equal_to(lambda record: record[7])
        return keyed.window(window).apply(lists)

    with pytest.raises(UserFunctionError, match="IndexError"):
        answer(mode, build, [], [("kk", 1)])


# FLIP-331, rule 4.
def test_a_batch_run_keeps_no_state_for_a_window_at_the_end(monkeypatch):
    def refuse(self, values, timestamps):
        raise AssertionError

    monkeypatch.setattr(CoGroupWindowOperator, "process", refuse)
    assert len(answer(BATCH, co_group(WHOLE), LEFT, RIGHT)) == 3
    with pytest.raises(UserFunctionError, match="AssertionError"):
        answer(BATCH, co_group(tumbling(5)), LEFT, RIGHT)


@pytest.mark.parametrize("keys", [[3, 1, 2], [3, 1, 3]])
def test_pairs_by_key_are_in_order(keys):
    values = ["x", "y", "z"]
    pairs = pairs_by_key((keys, values), ([1, 9], ["v", "w"]))
    got = [one for some in pairs for one in zip(*some, strict=True)]
    first = lists_by_key(keys, values)
    assert [key for key, _, _ in got] == [*first, 9]
    assert {key: left for key, left, _ in got} == first | {9: []}
    assert [right for key, _, right in got if key in {1, 9}] == [["v"], ["w"]]


def test_equal_keys_are_one_key():
    got = answer(BATCH, co_group(WHOLE), [(1, 1), (True, 2)], [(1.0, 3)])
    assert got == [([1, 2], [3])]
