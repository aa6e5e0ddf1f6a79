"""Types that a program declares: their serializer stores state, and snapshots name them and evolve."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, TypeInformation, Types
from penstock.datastream import KeyedProcessFunction
from penstock.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from penstock.errors import ArgumentError, DecodeError, StateError, StateMigrationError
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.testing import OperatorHarness
from penstock.types.description import describe_type, type_of
from penstock.types.user_types import user_codec
from tests.money import Money, MoneyType
from tests.types.random_types import TYPES, exact
from tests.types.type_strategies import values_of

BACKENDS = ["hashmap", "lmdb"]


class Totals(KeyedProcessFunction):
    """Adds amounts in a value, a list, a map, and inside a row."""

    def __init__(self, money: MoneyType) -> None:
        self.money = money

    def open(self, runtime_context: Any) -> None:
        nested = Types.ROW_NAMED(["last", "all"], [self.money, Types.LIST(self.money)])
        self.total = runtime_context.get_state(ValueStateDescriptor("total", self.money))
        self.each = runtime_context.get_list_state(ListStateDescriptor("each", self.money))
        self.by = runtime_context.get_map_state(
            MapStateDescriptor("by", Types.STRING(), self.money)
        )
        self.row = runtime_context.get_state(ValueStateDescriptor("row", nested))

    def process_element(self, value: Any, ctx: Any) -> Any:
        amount = Money(value)
        total = Money((self.total.value() or Money(0)).cents + value)
        self.total.update(total)
        self.each.add(amount)
        self.by.put(str(value), amount)
        row = self.row.value()
        self.row.update(Row(last=amount, all=[*(row.all if row else []), amount]))
        yield (
            total.cents,
            [m.cents for m in self.each.get()],
            sorted((k, m.cents) for k, m in self.by.items()),
            [m.cents for m in self.row.value().all],
        )


def harness(money: MoneyType, backend: str, **more: Any) -> OperatorHarness:
    return OperatorHarness.of(
        Totals(money), key_selector=lambda value: value % 2, backend=backend, **more
    )


# CodedRowData, rule 3.
@pytest.mark.parametrize("backend", BACKENDS)
def test_state_is_stored_by_the_serializer_of_its_type(backend: str) -> None:
    with harness(MoneyType("EUR"), backend) as first:
        first.push_all([1, 2, 3])
        snapshot = first.snapshot()
    with harness(MoneyType("EUR"), backend, snapshot=snapshot) as second:
        assert second.push(5) == [(9, [1, 3, 5], [("1", 1), ("3", 3), ("5", 5)], [1, 3, 5])]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_newer_serializer_reads_the_snapshot_of_an_older_one(backend: str) -> None:
    with harness(MoneyType("EUR"), backend) as first:
        first.push_all([1, 3])
        snapshot = first.snapshot()
    with harness(MoneyType("EUR", wide=True), backend, snapshot=snapshot) as second:
        answer = second.push(2**33 + 1)
        snapshot = second.snapshot()
    assert answer[0][0] == 2**33 + 5
    with harness(MoneyType("EUR", wide=True), backend, snapshot=snapshot) as third:
        assert third.push(5)[0][0] == 2**33 + 10


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (MoneyType("EUR", wide=True), MoneyType("EUR"), "does not read version 2"),
        (MoneyType("EUR"), MoneyType("USD"), "was StoredUserType(name='MoneyType(EUR)'"),
    ],
)
def test_another_type_and_an_unknown_version_are_refused(
    backend: str, old: MoneyType, new: MoneyType, words: str
) -> None:
    with harness(old, backend) as first:
        first.push(1)
        snapshot = first.snapshot()
    with (
        pytest.raises(StateMigrationError) as refused,
        harness(new, backend, snapshot=snapshot) as second,
    ):
        second.push(3)
    assert words in refused.value.problem


def test_a_snapshot_names_type_and_version() -> None:
    description = describe_type(Types.LIST(MoneyType("EUR", wide=True)))
    assert description == {"list": {"user": ["MoneyType(EUR)", 2]}}
    assert describe_type(type_of(description)) == description
    schema = StateSchema(StateKind.VALUE, MoneyType("EUR"))
    assert StateSchema.parse(schema.text()).text() == schema.text()


@pytest.mark.parametrize("damaged", [{"user": ["a"]}, {"user": [1, 1]}, {"user": ["a", True]}])
def test_what_names_no_type_is_refused(damaged: Any) -> None:
    with pytest.raises(DecodeError):
        type_of(damaged)


def test_a_type_without_a_serializer_is_refused() -> None:
    @dataclass(frozen=True)
    class Silent(TypeInformation[Any]):
        def coerce(self, value: Any) -> Any:
            return value

    with pytest.raises(ArgumentError, match="override `create_serializer`"):
        StateSchema(StateKind.VALUE, Silent()).text()


def test_a_serializer_that_fails_is_named() -> None:
    codec = user_codec(MoneyType("EUR"))
    with pytest.raises(StateError) as failed:
        codec.encode(Money(2**40 + 1))
    with pytest.raises(StateError, match="3 bytes of type MoneyType"):
        codec.decode(b"abc")
    assert "Money(1099511627777) of type MoneyType(EUR) was not serialized" in str(failed.value)


@given(TYPES.flatmap(lambda t: st.tuples(st.just(t), values_of(t))))
def test_serializers_of_types_return_what_was_written(pair: Any) -> None:
    type_info, value = pair
    value = type_info.coerce(value)
    for serializer in (type_info.create_serializer(), type_info.create_var_len_serializer()):
        stream = BytesIO()
        serializer.serialize(value, stream)
        assert exact(serializer.deserialize(BytesIO(stream.getvalue()))) == exact(value)


@pytest.mark.parametrize("name", ["create_serializer", "create_var_len_serializer"])
def test_a_serializer_refuses_other_values_and_other_bytes(name: str) -> None:
    serializer = getattr(Types.ROW([Types.INT()]), name)()
    with pytest.raises(ValueError, match="2147483648"):
        serializer.serialize(Row(2**31), BytesIO())
    with pytest.raises(DecodeError):
        serializer.deserialize(BytesIO(b"\xff\xff\xff"))
