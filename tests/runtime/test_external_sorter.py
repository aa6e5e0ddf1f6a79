"""The sorter for operators of the user's own: compared with `sorted`, and in jobs of every mode.

Finds: records that a run, a block or a merge loses, doubles or puts elsewhere, files that stay, records that
a checkpoint would lose. That memory is bounded is in `test_memory_limit`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import groupby, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    AbstractInput,
    MapFunction,
    MultipleConnectedStreams,
    MultipleInputStreamOperator,
    OneInputStreamOperator,
    OperatorAttributesBuilder,
    ValueStateDescriptor,
)
from penstock.errors import (
    ArgumentError,
    KeyTypeError,
    SpillError,
    TypeMismatchError,
    UserFunctionError,
)
from penstock.metrics.values import CounterValue
from penstock.runtime.spill.external_sort import RecordSorter
from penstock.runtime.spill.spill_space import SpillCounts, SpillSpace
from penstock.testing import OperatorHarness, difference, run_in_process
from tests.runtime.jobs import (
    BATCH,
    MIXED,
    MODE_IDS,
    MODES,
    STREAMING,
    by_time,
    environment,
    history_then_live,
)
from tests.testing.strategies import schedules

keys = st.one_of(
    st.integers(-3, 3), st.sampled_from(["a", "b", None, (1, "x"), True, 1.0, 2.5]), st.text("ab")
)
entries = st.lists(st.tuples(keys, st.one_of(st.none(), st.integers(-5, 5))), max_size=120)


@pytest.fixture
def space(tmp_path):
    made = SpillSpace(40_000, tmp_path)
    yield made
    made.close()
    assert list(tmp_path.iterdir()) == []


def sorter_in(space, share=1.0):
    return RecordSorter(space, SpillCounts(), share)


@given(found=entries, memory=st.sampled_from([1, 10_000, 1 << 24]))
def test_records_come_by_key_then_time_and_equal_ones_as_they_were_added(found, memory):
    space, counts = SpillSpace(memory), SpillCounts()
    sorter = RecordSorter(space, counts, 1.0)
    for number, (key, time) in enumerate(found):
        sorter.add(key, number, time)
    assert len(sorter) == len(found)
    emitted = list(sorter)
    assert list(sorter) == emitted  # again
    assert sorted(number for _, _, number in emitted) == list(range(len(found)))
    assert all(found[number] == (key, time) for key, time, number in emitted)
    groups = [(key, [each[1:] for each in some]) for key, some in groupby(emitted, lambda e: e[0])]
    assert len({key for key, _ in groups}) == len(groups)  # each key is in one place
    for _, times in groups:
        order = [(-(2**63) if time is None else time, number) for time, number in times]
        assert order == sorted(order)
    numbers = [key for key, _ in groups if type(key) is int]
    assert numbers == sorted(numbers)
    sorter.close()
    if memory != 10_000:  # there it depends on the size of the keys
        assert (counts.files > 0) is (memory == 1 and len(found) > 0)
    space.close()


def test_it_is_read_lazily_and_memory_holds_a_part(space):
    sorter = sorter_in(space)
    for number in range(20_000):
        sorter.add(number % 7, "x" * 20, -number)
        assert len(sorter._entries) < 100
    assert "of them on disk" in repr(sorter)
    first = list(islice(sorter, 3))
    assert [(key, time) for key, time, _ in first] == [(0, -19_999), (0, -19_992), (0, -19_985)]
    times = [time for key, time, _ in sorter if key == 6]
    assert times == sorted(times)
    assert len(times) == len(range(6, 20_000, 7))
    sorter.close()


def test_readers_may_be_nested(space):
    sorter = sorter_in(space)
    for number in range(500):
        sorter.add("all", number, number)
    pairs = [(a[2], b[2]) for a in islice(sorter, 2) for b in sorter]
    assert pairs == [(a, b) for a in (0, 1) for b in range(500)]
    sorter.close()


def test_it_can_be_filled_again_and_files_go(space, tmp_path):
    sorter = sorter_in(space)
    for turn in range(3):
        for number in range(1000):
            sorter.add(number % 3, number)
        assert any(tmp_path.rglob("*.mdb"))
        assert len(list(sorter)) == 1000, turn
        sorter.clear()
        assert len(sorter) == 0
        assert list(sorter) == []
        sorter.clear()
        assert not any(tmp_path.rglob("*.mdb"))
    sorter.close()
    sorter.close()


def test_use_out_of_turn_is_an_error(space):
    sorter = sorter_in(space)
    for number in range(1000):
        sorter.add(number, number)
    reader = iter(sorter)
    next(reader)
    with pytest.raises(SpillError, match="has been read"):
        sorter.add(1, 1)
    sorter.clear()
    sorter.add(5, "new")
    with pytest.raises(SpillError):
        next(reader)
    assert list(sorter) == [(5, None, "new")]
    sorter.close()
    for use in (lambda: sorter.add(1, 1), lambda: iter(sorter), sorter.clear):
        with pytest.raises(SpillError, match="is closed"):
            use()


def test_what_cannot_be_sorted_is_refused_when_it_is_added(space):
    sorter = sorter_in(space)
    with pytest.raises(KeyTypeError):
        sorter.add({}, 1)
    with pytest.raises(KeyTypeError):
        sorter.add(float("nan"), 1)
    with pytest.raises(TypeMismatchError, match=r"timestamp 1\.5"):
        sorter.add(1, 1, 1.5)
    sorter.add([1, [2]], "list")
    assert list(sorter) == [([1, [2]], None, "list")]
    sorter.close()


def test_a_damaged_file_is_an_error(space, tmp_path):
    sorter = sorter_in(space)
    for number in range(3000):
        sorter.add(number, "x" * 50)
    (file,) = tmp_path.rglob("*.mdb")
    file.write_bytes(file.read_bytes()[:8192])
    with pytest.raises(SpillError, match="damaged"):
        list(sorter)
    sorter.close()


class Sorted(OneInputStreamOperator):
    """Emits runs of sorted records: at every checkpoint, and at the end."""

    def __init__(self, *, sorts_itself=False, at_end=False):
        self.builder = (
            OperatorAttributesBuilder()
            .set_internal_sorter_supported(sorts_itself)
            .set_output_only_after_end_of_stream(at_end)
        )

    def get_operator_attributes(self):
        return self.builder.build()

    def open(self, runtime_context):
        self.sorter = runtime_context.create_external_sorter()

    def process_element(self, value, ctx):
        self.sorter.add(value[0], value, ctx.timestamp())

    def prepare_snapshot_pre_barrier(self):
        self.give()

    def process_record_attributes(self, record_attributes):
        self.give()
        super().process_record_attributes(record_attributes)

    def end_input(self):
        self.give()

    def give(self):
        for _, timestamp, value in self.sorter:
            self.output.collect(value, timestamp)
        self.sorter.clear()


records = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.integers(0, 50), st.integers(1, 9)), max_size=30
)
SMALL = {"execution.sorted-inputs.memory": "20kb"}


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("keyed", [False, True])
@given(found=records, cut=st.integers(0, 30), schedule=schedules, parallelism=st.integers(1, 3))
def test_no_record_is_lost_in_any_mode(mode, keyed, found, cut, schedule, parallelism):
    env = environment(mode | SMALL, parallelism)
    stream = env.from_source(history_then_live(found[:cut], found[cut:]), by_time(99), "records")
    stream = stream.key_by(lambda r: r[0]) if keyed else stream
    stream.transform("sorted", None, Sorted(sorts_itself=keyed)).sink_to(DiscardingSink())
    assert difference(run_in_process(env, schedule).of(), found) is None


@pytest.mark.parametrize("settings", [BATCH, STREAMING], ids=["batch", "streaming"])
def test_it_sorts_a_bounded_region_that_does_not_fit_in_memory(settings, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = [("abc"[n % 3], n * 7919 % 1000, n) for n in range(3000)]
    env = environment(settings | SMALL, 1)
    at_end = env.from_collection(found).assign_timestamps_and_watermarks(by_time(1000))
    ordered = at_end.rebalance().transform("sorted", None, Sorted(at_end=True))
    ordered.sink_to(DiscardingSink())
    emitted = run_in_process(env).of()
    assert emitted == sorted(found, key=lambda r: (r[0], r[1]))
    assert list(tmp_path.iterdir()) == []


def test_spilling_of_a_sorter_is_measured():
    env = environment(BATCH | SMALL, 1)
    stream = env.from_collection([(n, n) for n in range(3000)]).rebalance()
    stream.transform("sorted", None, Sorted()).uid("sorted").sink_to(DiscardingSink())
    spilled = run_in_process(env).report.metrics["sorted.numBytesSpilled"]
    assert isinstance(spilled, CounterValue)
    assert spilled.count > 0


class Joining(AbstractInput):
    def __init__(self, owner, input_id, sorter):
        super().__init__(owner, input_id)
        self.sorter = sorter

    def process_element(self, value, ctx):
        self.owner.sorters[self.sorter].add(value[0], value)


class SortMerge(MultipleInputStreamOperator):
    """Counts records per key and input: three sorters, each with a third of the memory."""

    def open(self, runtime_context):
        self.sorters = [runtime_context.create_external_sorter(share=1 / 3) for _ in range(3)]
        self.counts = runtime_context.get_state(ValueStateDescriptor("counts"))

    def get_inputs(self):
        return [Joining(self, number + 1, number) for number in range(3)]

    def get_operator_attributes(self):
        return OperatorAttributesBuilder().set_internal_sorter_supported(True).build()

    def prepare_snapshot_pre_barrier(self):
        self.give()

    def end_input(self, input_id):
        self.give()

    def process_record_attributes(self, record_attributes, input_id):
        if not record_attributes.is_backlog():
            self.give()
        super().process_record_attributes(record_attributes, input_id)

    def give(self):
        for number, sorter in enumerate(self.sorters):
            for key, some in groupby(sorter, lambda entry: entry[0]):
                self.keys.set_current_key(key)
                counts = list(self.counts.value() or (0, 0, 0))
                counts[number] += len(list(some))
                self.counts.update(tuple(counts))
                self.output.collect((key, tuple(counts)))
            sorter.clear()


# FLIP-327, rule 13.
@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@given(found=st.lists(records, min_size=3, max_size=3), cut=st.integers(0, 30), schedule=schedules)
def test_operators_of_several_inputs_sort_each_of_them(mode, found, cut, schedule):
    env = environment(mode | SMALL, 2)
    streams = MultipleConnectedStreams(
        *(
            env.from_source(history_then_live(of[:cut], of[cut:]), by_time(99), f"source {n}")
            for n, of in enumerate(found)
        )
    )
    key_of = [lambda r: r[0]] * 3
    streams.key_by(*key_of).transform("counts", None, SortMerge()).sink_to(DiscardingSink())
    greatest: dict[str, tuple[int, ...]] = defaultdict(lambda: (0, 0, 0))
    for key, counts in run_in_process(env, schedule).of():
        greatest[key] = max(greatest[key], counts, key=sum)
    every = [Counter(r[0] for r in of) for of in found]
    wanted = {key: tuple(counts[key] for counts in every) for key in set().union(*every)}
    assert greatest == wanted


class Forgets(Sorted):
    def prepare_snapshot_pre_barrier(self):
        pass

    def process_record_attributes(self, record_attributes):
        pass


@pytest.mark.parametrize("keyed", [False, True])
def test_records_that_a_checkpoint_would_lose_are_an_error(keyed):
    def of(stream):
        stream = stream.key_by(lambda r: r[0]) if keyed else stream
        return stream.transform("forgets", None, Forgets())

    with (
        OperatorHarness.of(of) as harness,
        pytest.raises(
            UserFunctionError, match="'forgets' has 1 unread records in sorters at a check"
        ),
    ):
        harness.push(("a", 1))


class NeverReads(Forgets):
    def end_input(self):
        pass


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_records_that_nobody_reads_are_an_error_in_every_mode(mode, keyed):
    env = environment(mode, 1)
    stream = env.from_source(history_then_live([("a", 1)], [("a", 2)]), by_time(), "records")
    stream = stream.key_by(lambda r: r[0]) if keyed else stream
    stream.transform("reads nothing", None, NeverReads()).sink_to(DiscardingSink())
    with pytest.raises(UserFunctionError, match=r"'reads nothing' has . unread records in sorters"):
        run_in_process(env)


def test_sorters_are_closed_with_their_operator_whatever_close_does():
    made = []

    class Keeps(Sorted):
        def open(self, runtime_context):
            super().open(runtime_context)
            made.append(self.sorter)

        def close(self):
            raise ValueError("no")

    harness = OperatorHarness.of(lambda stream: stream.transform("keeps", None, Keeps()))
    harness.push(("a", 1))
    with pytest.raises(UserFunctionError):
        harness.close()
    with pytest.raises(SpillError, match="is closed"):
        made[0].add(1, 1)


class Asks(MapFunction):
    def open(self, runtime_context):
        runtime_context.create_external_sorter()

    def map(self, value):
        return value


def test_functions_have_no_sorter():
    with pytest.raises(ArgumentError, match="is for operators"):
        OperatorHarness.of(lambda stream: stream.rebalance().map(Asks()))


@pytest.mark.parametrize("share", [0, -1, 1.5, "half", None, True, float("nan")])
def test_a_share_is_a_part_of_the_memory(share):
    class Wrong(Sorted):
        def open(self, runtime_context):
            runtime_context.create_external_sorter(share)

    with pytest.raises(ArgumentError, match="got share="):
        OperatorHarness.of(lambda stream: stream.transform("wrong", None, Wrong()))


def test_mixed_history_is_sorted_before_it_is_emitted():
    found = [("b", 3), ("a", 2), ("b", 1)]
    env = environment(MIXED, 1)
    stream = env.from_source(history_then_live(found, [("c", 9), ("a", 8)]), by_time(99), "records")
    stream.rebalance().transform("sorted", None, Sorted()).sink_to(DiscardingSink())
    emitted = run_in_process(env).of()
    assert emitted[:3] == [("a", 2), ("b", 1), ("b", 3)]
    assert emitted[3:] == [("a", 8), ("c", 9)]
