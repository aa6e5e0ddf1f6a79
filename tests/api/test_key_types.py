"""Keys: one rule for 1, 1.0 and True everywhere, and keys of a declared type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.datastream import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapStateDescriptor,
    RuntimeContext,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import DiscardingSink
from penstock.errors import ArgumentError, KeyTypeError, UserFunctionError
from penstock.testing import Schedule, run_in_process
from penstock.types import TypeInformation
from tests.runtime.jobs import BATCH, MODE_IDS, MODES, STREAMING, environment

ONES: list[Any] = [1, 1.0, True, 1, 2]


class Count(KeyedProcessFunction):
    """Counts a key in value state and, under the key itself, in map state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))
        self.of_key = runtime_context.get_map_state(MapStateDescriptor("of key"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.seen.update((self.seen.value() or 0) + 1)
        self.of_key[value] = (self.of_key[value] or 0) + 1
        yield ctx.get_current_key(), self.seen.value(), self.of_key[1]


class CountBoth(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self.seen.update((self.seen.value() or 0) + 1)
        yield ctx.get_current_key(), self.seen.value()

    process_element2 = process_element1


def one_at_a_time(backend: str) -> Schedule:
    return Schedule(batch_sizes=(1,), backend=backend)


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
def test_one_and_true_are_one_key_in_state(settings: dict[str, str], backend: str) -> None:
    env = environment(settings, 3)
    counted = env.from_collection(ONES).key_by(lambda value: value).process(Count())
    counted.sink_to(DiscardingSink()).name("out")
    results = run_in_process(env, one_at_a_time(backend)).of("out")
    assert sorted(results) == [(1, 1, 1), (1, 2, 2), (1, 3, 3), (1, 4, 4), (2, 1, None)]


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_one_and_true_are_one_key_of_two_streams(settings: dict[str, str]) -> None:
    env = environment(settings, 3)
    one, other = env.from_collection([1, True]), env.from_collection([1.0])
    keyed = one.connect(other).key_by(lambda value: value, lambda value: value)
    keyed.process(CountBoth()).sink_to(DiscardingSink()).name("out")
    assert sorted(run_in_process(env).of("out")) == [(1, 1), (1, 2), (1, 3)]


def test_a_partitioner_gets_the_key_as_it_is() -> None:
    env = environment(BATCH, 3)

    def choose(key: Any, subtasks: int) -> int:
        return {"int": 0, "float": 1, "bool": 2}[type(key).__name__] % subtasks

    values: list[Any] = [1, 1.0, True]
    placed = env.from_collection(values).partition_custom(choose, lambda value: value)
    placed.sink_to(DiscardingSink()).name("out")
    assert len(run_in_process(env).of("out")) == 3


class Key(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield repr(ctx.get_current_key())


def keys(records: list[Any], key_type: TypeInformation | None, select: Any = None) -> list[str]:
    env = environment(STREAMING)
    keyed = env.from_collection(records).key_by(select or (lambda value: value), key_type)
    keyed.process(Key()).sink_to(DiscardingSink()).name("out")
    return sorted(run_in_process(env).of("out"))


@pytest.mark.parametrize(
    ("key_type", "records", "expected"),
    [
        (None, [1, "1"], ["'1'", "1"]),
        (Types.PICKLED_BYTE_ARRAY(), [1, 1.5], ["1", "1.5"]),
        (Types.LONG(), [1, 2], ["1", "2"]),
        (Types.DOUBLE(), [1, 2.0], ["1.0", "2.0"]),
        (Types.STRING(), ["a"], ["'a'"]),
        (Types.BOOLEAN(), [True], ["True"]),
        (Types.TUPLE([Types.STRING(), Types.LONG()]), [["a", 1]], ["('a', 1)"]),
        (Types.ROW_NAMED(["k"], [Types.LONG()]), [(1,)], [repr(Row(k=1))]),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [bytearray(b"a")], ["b'a'"]),
        (Types.LIST(Types.LONG()), [(1, 2)], ["[1, 2]"]),
        (Types.BASIC_ARRAY(Types.LONG()), [[1]], ["[1]"]),
        (Types.OBJECT_ARRAY(Types.LONG()), [[1]], ["[1]"]),
        (Types.PRIMITIVE_ARRAY(Types.LONG()), [[1]], ["[1]"]),
    ],
)
def test_functions_see_the_declared_form(
    key_type: TypeInformation | None, records: list[Any], expected: list[str]
) -> None:
    assert keys(records, key_type) == expected


@pytest.mark.parametrize(
    ("key_type", "record"),
    [
        (Types.STRING(), 1),
        (Types.STRING(), None),
        (Types.INT(), 2**31),
        (Types.INT(), True),
        (Types.LONG(), 1.0),
        (Types.BOOLEAN(), 1),
        (Types.TUPLE([Types.LONG()]), ("a",)),
    ],
)
@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_a_key_of_another_type_is_an_error_with_its_record(
    settings: dict[str, str], key_type: TypeInformation, record: Any
) -> None:
    env = environment(settings)
    stream = env.from_collection([("x", record)])
    stream.key_by(lambda value: value[1], key_type).process(Key()).print()
    with pytest.raises(KeyTypeError) as raised:
        run_in_process(env)
    assert raised.value.code == "KEY_TYPE"
    problem = raised.value.problem
    assert f"the key {record!r} is not of its declared type {key_type!r}" in problem
    assert f"record {('x', record)!r} (number 1 of 1" in problem
    assert raised.value.origin is not None
    assert raised.value.origin.filename == __file__


def test_both_sides_of_a_connection_have_the_type() -> None:
    env = environment(BATCH)
    one, other = env.from_collection([1]), env.from_collection(["a"])
    keyed = one.connect(other).key_by(lambda n: n, lambda _: 1.5, key_type=Types.LONG())
    keyed.process(CountBoth()).print()
    with pytest.raises(KeyTypeError, match=r"1\.5"):
        run_in_process(env)


def test_errors_of_the_selector_stay_the_users() -> None:
    with pytest.raises(UserFunctionError, match="no key") as raised:
        keys([1], Types.LONG(), select=fails)
    assert "key selector" in raised.value.problem


def fails(_: object) -> int:
    raise ValueError("no key")


@pytest.mark.parametrize(
    "key_type",
    [
        Types.MAP(Types.STRING(), Types.LONG()),
        Types.INT,
        str,
    ],
)
def test_types_whose_values_cannot_be_keys_are_refused_at_once(key_type: Any) -> None:
    stream = environment(BATCH).from_collection([1])
    with pytest.raises((ArgumentError, KeyTypeError)) as raised:
        stream.key_by(lambda value: value, key_type)
    assert raised.value.origin is not None
    assert raised.value.origin.filename == __file__
