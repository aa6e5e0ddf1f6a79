"""A changed key selector over state that another version of the program left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from penstock.common import Row, Time
from penstock.connectors.python.collection import CollectionSource
from penstock.datastream import (
    KeyedProcessFunction,
    ListStateDescriptor,
    ProcessWindowFunction,
    RuntimeContext,
)
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import StateMigrationError
from penstock.plan.compat.function_digest import job_digest
from penstock.plan.physical import PhysicalPlan
from penstock.runtime.task.chain import CODE
from penstock.testing import OperatorHarness
from penstock.testing.harness_values import HarnessSnapshot
from penstock.types.list_key import ListKey
from penstock.wire.canonical.key_bytes import encode_key, kind_of_key
from tests.runtime.jobs import BATCH, STREAMING, job


class Gather(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.seen.add(value)
        yield len(list(self.seen.get() or ()))


def as_it_is(value: Any) -> Any:
    return value


def in_a_tuple(value: Any) -> Any:
    return (value,)


def as_text(value: Any) -> Any:
    return str(value)


def as_float(value: Any) -> Any:
    return float(value)


def mixed(value: Any) -> Any:
    return str(value) if value % 2 else (value,)


def none_or(value: Any) -> Any:
    return None if value < 0 else value


BACKENDS = ["hashmap", "lmdb"]


def taken(select: Any, values: list[Any], backend: str) -> HarnessSnapshot:
    with OperatorHarness.of(Gather(), key_selector=select, backend=backend) as harness:
        harness.push_all(values)
        return harness.snapshot()


def go_on(snapshot: HarnessSnapshot, select: Any, values: list[Any], backend: str) -> list[Any]:
    with OperatorHarness.of(
        Gather(), key_selector=select, snapshot=snapshot, backend=backend
    ) as harness:
        return [each for value in values for each in harness.push(value)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("old", "new", "values", "stored", "met"),
    [
        (as_it_is, in_a_tuple, ["a", "b"], "text", "tuple"),
        (as_it_is, in_a_tuple, [1, 2], "number", "tuple"),
        (as_it_is, as_text, [1, 2], "number", "text"),
        (as_text, as_float, [1, 2], "text", "number"),
    ],
)
def test_keys_of_another_kind_are_refused(
    backend: str, old: Any, new: Any, values: list[Any], stored: str, met: str
) -> None:
    snapshot = taken(old, values, backend)
    with pytest.raises(StateMigrationError) as refused:
        go_on(snapshot, new, values, backend)
    problem = refused.value.problem
    assert refused.value.code == "STATE_MIGRATION"
    assert "operator 'Gather'" in problem
    assert f"are of kind {stored} (such as " in problem
    assert f"keys of kind {met} (such as " in problem
    assert "ignore-key-kinds" in refused.value.hint
    assert refused.value.origin is not None


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("old", "new"),
    [(as_it_is, as_float), (as_float, as_it_is), (mixed, as_text), (mixed, in_a_tuple)],
)
def test_keys_of_the_same_kind_and_one_of_several_go_on(backend: str, old: Any, new: Any) -> None:
    snapshot = taken(old, [1, 2, 3, 4], backend)
    assert go_on(snapshot, new, [1, 2], backend) in ([2, 2], [2, 1], [1, 2])


def test_the_same_program_goes_on_whatever_keys_come_first() -> None:
    assert go_on(taken(mixed, [1, 1], "hashmap"), mixed, [2, 2, 1], "hashmap") == [1, 2, 3]


def test_none_says_nothing_and_the_next_key_does() -> None:
    def other(value: Any) -> Any:
        return None if value < 0 else str(value)

    snapshot = taken(none_or, [1, 1], "hashmap")
    assert go_on(snapshot, none_or, [-1, 1], "hashmap") == [1, 3]
    assert go_on(snapshot, other, [-1, -1], "hashmap") == [1, 2]
    with pytest.raises(StateMigrationError, match="number"):
        go_on(snapshot, other, [-1, 1], "hashmap")
    # What is not decided yet is remembered so.
    with OperatorHarness.of(Gather(), key_selector=other, snapshot=snapshot) as harness:
        harness.push(-1)
        later = harness.snapshot()
    with pytest.raises(StateMigrationError, match="number"):
        go_on(later, other, [1], "hashmap")


@pytest.mark.parametrize("backend", BACKENDS)
def test_state_that_says_nothing_about_its_program_is_checked(backend: str) -> None:
    """As all of version 0.1.0 did."""
    snapshot = taken(as_it_is, ["a"], backend)
    assert any(name.endswith(CODE) for name in snapshot.memory)
    old = replace(
        snapshot, memory={k: v for k, v in snapshot.memory.items() if not k.endswith(CODE)}
    )
    assert go_on(old, as_it_is, ["a"], backend) == [2]
    with pytest.raises(StateMigrationError, match=r"text .* tuple"):
        go_on(old, in_a_tuple, ["a"], backend)


def test_state_that_is_empty_goes_with_any_key() -> None:
    assert go_on(taken(as_it_is, [], "hashmap"), in_a_tuple, ["a"], "hashmap") == [1]


class Count(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield len(list(elements))


def windows(select: Any) -> Any:
    return lambda stream: (
        stream.key_by(select)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        .process(Count())
    )


def first_field(record: Any) -> Any:
    return record[0]


def first_field_in_a_tuple(record: Any) -> Any:
    return (record[0],)


def as_pair(record: Any) -> Any:
    return (record[0], 0)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (first_field, first_field_in_a_tuple, "text .* tuple"),
        (first_field, as_pair, "text .* tuple"),
        (first_field_in_a_tuple, first_field, "tuple .* text"),
    ],
)
def test_windows_have_the_kind_of_their_records_keys(old: Any, new: Any, said: str) -> None:
    def harness(select: Any, snapshot: HarnessSnapshot | None = None) -> OperatorHarness:
        return OperatorHarness.of(windows(select), snapshot=snapshot)

    with harness(old) as first:
        first.push(("a", 1), 1)
        snapshot = first.snapshot()
    with harness(old, snapshot) as second:
        second.push(("a", 2), 2)
        assert second.advance_watermark(20) == [2]
    with harness(new, snapshot) as third, pytest.raises(StateMigrationError, match=said):
        third.push(("a", 2), 2)


class Color(Enum):
    RED = 1


@dataclass(frozen=True)
class Place:
    x: int


KEYS: dict[str | None, list[Any]] = {
    "number": [1, 1.0, True, 2**70, -(2**70), 0.5, Decimal("0.1"), 1j],
    "text": ["a", "x" * 300],
    "bytes": [b"a"],
    "tuple": [(), (1,), ("x" * 300,)],
    "list": [ListKey((1,))],
    "row": [Row(1)],
    "row with names": [Row(a=1)],
    "frozenset": [frozenset()],
    "dataclass": [Place(1)],
    "enum": [Color.RED],
    "date": [date(2024, 1, 1)],
    "datetime": [datetime(2024, 1, 1)],  # noqa: DTZ001
    "datetime with a zone": [datetime(2024, 1, 1, tzinfo=UTC)],
    "time": [time(1)],
    "time with a zone": [time(1, tzinfo=UTC)],
    "timedelta": [timedelta(1)],
    "UUID": [UUID(int=1)],
    None: [None],
}


@pytest.mark.parametrize("kind", KEYS)
def test_every_key_has_a_kind(kind: str | None) -> None:
    for key in KEYS[kind]:
        assert kind_of_key(key) == kind
        assert encode_key(key)


def plan_of(select: Any, settings: dict[str, str] = STREAMING) -> PhysicalPlan:
    source = CollectionSource.of([("a", 1)])
    return job(settings, source, lambda s: s.key_by(select).process(Gather())).plan()


def test_the_same_functions_have_one_number_in_every_mode() -> None:
    assert job_digest(plan_of(first_field)) == job_digest(plan_of(first_field, BATCH))
    assert job_digest(plan_of(lambda r: r[0])) == job_digest(plan_of(lambda r: r[0]))


def test_other_code_constants_and_helpers_have_another_number() -> None:
    def make(n: int) -> Any:
        return lambda record: record[n]

    numbers = [
        job_digest(plan_of(select))
        for select in (
            first_field,
            first_field_in_a_tuple,
            as_pair,
            make(0),
            make(1),
            lambda record: [first_field(record)],
            lambda record: [as_pair(record)],
        )
    ]
    assert len(set(numbers)) == len(numbers)
    assert all(0 <= number < 1 << 63 for number in numbers)


def test_the_check_can_be_left_out() -> None:
    settings = STREAMING | {"execution.state-recovery.ignore-key-kinds": "true"}
    assert plan_of(first_field, settings).options.ignores_key_kinds
    assert not plan_of(first_field).options.ignores_key_kinds
