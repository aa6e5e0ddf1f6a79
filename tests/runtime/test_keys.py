"""Keys: every mode, parallelism and backend groups records as a Python dictionary does.

The oracle is a dictionary of the keys, lists as `ListKey`; it finds what key groups, frames, combined records
and addresses in state get wrong about equality.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from itertools import count
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.datastream import (
    KeyedProcessFunction,
    ListStateDescriptor,
    RuntimeContext,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from penstock.datastream.connectors import DiscardingSink
from penstock.errors import KeyTypeError, UserFunctionError
from penstock.program.channel import ChannelSpec, StreamPartitioner
from penstock.program.selected_field import getter_of
from penstock.runtime.exchange.selected_keys import SelectorCheck
from penstock.testing import OperatorHarness, Schedule, run_in_process
from penstock.types.list_key import immutable_key
from tests.runtime.jobs import MODE_IDS, MODES, environment, history_then_live


class Color(Enum):
    RED = 1


class Level(IntEnum):
    ONE = 1


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass(frozen=True)
class Place:
    x: Any


class Name(str):
    """A string like others."""

    __slots__ = ()


plus_two = timezone(timedelta(hours=2))

plain = st.sampled_from(
    [
        *(0, 1, 1.0, True, False, 0.0, -0.0, -1, 0.5, Fraction(1, 2), Decimal("0.50"), Decimal(1)),
        *(1 + 0j, 1j, 2**70, float(2**70), Level.ONE, Color.RED, None, "", "a", Name("a"), b"a"),
        *(date(2024, 1, 1), datetime(2024, 1, 1), timedelta(0)),  # noqa: DTZ001
        *(datetime(2024, 1, 1, 12, tzinfo=UTC), datetime(2024, 1, 1, 14, tzinfo=plus_two)),
    ]
)
keys = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.tuples(inner, inner),
        st.builds(Pair, plain, plain),
        st.lists(inner, max_size=2),
        st.builds(Row, plain),
        st.builds(lambda value: Row(a=value, b=1), plain),
        st.builds(lambda value: Row(b=True, a=value), plain),
        st.builds(Place, plain),
        st.frozensets(plain, max_size=2),
    ),
    max_leaves=3,
)


class Gather(KeyedProcessFunction):
    """Emits the numbers of all records of the key so far, and damages what it is shown of the key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.numbers = runtime_context.get_list_state(ListStateDescriptor("n", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.numbers.add(value[0])
        key = ctx.get_current_key()
        if isinstance(key, list):
            key.append("damage")
        yield frozenset(self.numbers.get() or ())


def numbered(key: Any) -> list[Any]:
    return list(enumerate(key))


def groups_of(env: StreamExecutionEnvironment, schedule: Schedule) -> set[frozenset[int]]:
    """Return which records had one key: the largest sets that were emitted."""
    found = set(run_in_process(env, schedule).of("out"))
    return {one for one in found if not any(one < other for other in found)}


def expected(records: list[Any]) -> set[frozenset[int]]:
    groups: dict[Any, set[int]] = {}
    for number, key in records:
        groups.setdefault(immutable_key(key), set()).add(number)
    return set(map(frozenset, groups.values()))


def key_job(
    options: dict[str, str], records: list[Any], select: Any, parallelism: int, cut: int
) -> StreamExecutionEnvironment:
    env = environment(options, parallelism)
    if options is MODES[0]:
        stream = env.from_collection(records)
    else:
        source = history_then_live(records[:cut], records[cut:])
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    stream.key_by(select).process(Gather()).sink_to(DiscardingSink()).name("out")
    return env


@pytest.mark.parametrize("options", MODES, ids=MODE_IDS)
@settings(max_examples=40)
@given(
    found=st.lists(keys, max_size=8),
    parallelism=st.integers(1, 3),
    cut=st.integers(0, 8),
    backend=st.sampled_from(["hashmap", "lmdb"]),
    batch=st.integers(1, 9),
    restart=st.sampled_from([None, 1, 2]),
)
def test_records_are_grouped_as_a_dictionary_does(
    options: dict[str, str],
    found: list[Any],
    parallelism: int,
    cut: int,
    backend: str,
    batch: int,
    restart: int | None,
) -> None:
    records = numbered(found)
    env = key_job(options, records, lambda record: record[1], parallelism, cut)
    schedule = Schedule(backend=backend, batch_sizes=(batch,), restart_every=restart)
    assert groups_of(env, schedule) == expected(records)


class Reversed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        ctx.get_current_key().append(3)
        yield ctx.get_current_key()


@pytest.mark.parametrize("options", MODES, ids=MODE_IDS)
def test_functions_are_shown_lists_made_anew(options: dict[str, str]) -> None:
    env = environment(options)
    keyed = env.from_collection([1, 2, 1]).key_by(lambda value: [value, [value]])
    keyed.process(Reversed()).sink_to(DiscardingSink()).name("out")
    assert sorted(run_in_process(env).of("out")) == [[1, [1]], [1, [1]], [2, [2]]]


@pytest.mark.parametrize("options", MODES, ids=MODE_IDS)
def test_lists_are_keys_of_sums_and_unlike_tuples(options: dict[str, str]) -> None:
    env = environment(options)
    records: list[Any] = [([1], 1), ((1,), 10), ([1], 2), ((1,), 20), ("a", 5)]
    summed = env.from_collection(records).key_by(lambda record: record[0]).sum(1)
    summed.sink_to(DiscardingSink()).name("out")
    last = {repr(record[0]): record for record in run_in_process(env).of("out")}
    assert sorted(last.values(), key=repr) == [("a", 5), ((1,), 30), ([1], 3)]


def test_the_harness_takes_and_shows_lists() -> None:
    with OperatorHarness.of(Gather(), key_selector=lambda record: [record[1]]) as harness:
        harness.push_all([(0, "x"), (1, "x")])
        descriptor = ListStateDescriptor("n", Types.LONG())
        assert harness.keys(descriptor) == [["x"]]
        assert harness.state(descriptor, ["x"]) == [0, 1]


@pytest.mark.parametrize("options", MODES, ids=MODE_IDS)
@pytest.mark.parametrize(
    ("key", "said"),
    [
        ({"a": 1}, "dict"),
        ({1}, "set"),
        (bytearray(b"a"), "bytearray"),
        ((1, {1}), "set"),
        ([{1}], "set"),
        (float("nan"), "NaN"),
        ([float("nan")], "NaN"),
        (Decimal("1e20000"), "beyond 10"),
    ],
    ids=repr,
)
def test_what_cannot_be_a_key_is_refused_with_its_record(
    options: dict[str, str], key: Any, said: str
) -> None:
    env = key_job(options, [(0, "good"), (1, key)], lambda record: record[1], 2, 1)
    with pytest.raises(KeyTypeError, match=said) as refused:
        run_in_process(env)
    assert repr((1, key)) in refused.value.problem
    assert "for operator 'Gather'" in refused.value.problem
    assert refused.value.hint
    assert refused.value.origin is not None
    assert refused.value.origin.filename == __file__


class Folded(str):
    """Equal whatever the case, which its text is not."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.casefold() == other.casefold()

    def __hash__(self) -> int:
        return hash(self.casefold())


@dataclass(frozen=True)
class Even:
    number: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Even) and self.number % 2 == other.number % 2

    def __hash__(self) -> int:
        return self.number % 2


@pytest.mark.parametrize("options", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("make", [lambda n: Folded("aA"[n % 2]), Even], ids=["str", "dataclass"])
def test_a_rule_of_the_class_is_refused_in_every_mode(options: dict[str, str], make: Any) -> None:
    records = [(number, number) for number in range(10)]
    env = key_job(options, records, lambda record: make(record[1]), 1, 5)
    with pytest.raises(KeyTypeError, match="defines __eq__ itself") as refused:
        run_in_process(env)
    assert "of record (0, 0)" in refused.value.problem
    assert "frozen dataclass" in refused.value.hint


@pytest.mark.parametrize("options", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_random_key_is_refused(options: dict[str, str], parallelism: int) -> None:
    records = [(number, number) for number in range(50)]
    env = key_job(options, records, lambda _: random.randrange(4), parallelism, 25)  # noqa: S311
    with pytest.raises(UserFunctionError, match="at the second call") as refused:
        run_in_process(env)
    assert "the key selector of operator 'Gather' returned" in refused.value.problem
    assert "for the record (" in refused.value.problem
    assert refused.value.origin is not None
    assert refused.value.origin.filename == __file__


def test_a_selector_that_fails_when_asked_again_is_refused() -> None:
    calls = count()

    def select(record: Any) -> Any:
        return 10 // (1 - min(next(calls), 1)) if record else 0

    env = key_job(MODES[0], [(0, 0)], select, 1, 0)
    with pytest.raises(UserFunctionError, match=r"returned 10 .* ZeroDivisionError"):
        run_in_process(env)


def test_a_selector_that_becomes_random_later_is_found() -> None:
    """Beyond the first records one in a thousand is asked for again."""

    def select(record: Any) -> Any:
        return random.random() if record[0] > 3000 else 0  # noqa: S311

    env = key_job(MODES[0], [(number, 0) for number in range(9000)], select, 1, 0)
    with pytest.raises(UserFunctionError, match="at the second call"):
        run_in_process(env)


def channel(select: Any) -> ChannelSpec:
    return ChannelSpec(0, 0, 1, 1, StreamPartitioner.HASH, select, None, (0,), target_name="totals")


def test_few_records_are_asked_for_again() -> None:
    calls: list[int] = []

    def select(record: int) -> int:
        calls.append(record)
        return record % 7

    check = SelectorCheck(channel(select), select)
    values = list(range(4096))
    for _ in range(3):
        check(values, [value % 7 for value in values])
    assert calls == [*range(16), *range(0, 4096, 1024), *range(0, 4096, 1024)]


@pytest.mark.parametrize("select", [itemgetter(0), attrgetter("a"), lambda record: record[0]])
def test_getters_are_not_asked_again(select: Any) -> None:
    check = SelectorCheck(channel(select), getter_of(select))
    check([(1,)], ["what it did not return"])


def test_new_objects_with_equal_content_are_no_reason_to_refuse() -> None:
    records = [(0, "a"), (1, "b")]
    for select in (lambda r: Row(r[1]), lambda r: Place(r[1]), lambda r: [r[1], (r[1],)]):
        env = key_job(MODES[1], records, select, 2, 1)
        assert groups_of(env, Schedule()) == {frozenset({0}), frozenset({1})}
