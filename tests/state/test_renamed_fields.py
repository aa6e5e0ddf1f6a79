"""Fields of stored rows with new names: declared ones keep their values, others are refused, wherever rows are.

The harness restarts an operator with another type, with both backends and both stored forms. What the types themselves
refuse, and rows of several earlier versions, comes behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Configuration, Row, Time, Types
from penstock.datastream import (
    AggregateFunction,
    AggregatingStateDescriptor,
    BroadcastProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ProcessWindowFunction,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from penstock.errors import ArgumentError, DecodeError, StateMigrationError
from penstock.spark.inspect.state_columns import newest_schema
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.log.blob import Section, encode_blob
from penstock.state.schema.entry_schema import BROADCAST_GROUP, StateKind, StateSchema
from penstock.state.schema.evolution import migration
from penstock.testing import OperatorHarness
from penstock.types import RowTypeInfo
from penstock.types.description import describe_type, type_of

BEFORE = Types.ROW_NAMED(["id", "total"], [Types.LONG(), Types.LONG()])
FIELDS = (["totals", "id"], [Types.BIG_INT(), Types.LONG()])
SILENT = Types.ROW_NAMED(*FIELDS)
RENAMED = Types.ROW_NAMED(*FIELDS, renamed={"total": "totals"})
REMOVED = Types.ROW_NAMED(*FIELDS, renamed={"total": None})


def amount(row: Any) -> Any:
    """Return the second field, under whichever name."""
    fields = row.as_dict()
    return fields["totals"] if "totals" in fields else fields["total"]


class Sums(AggregateFunction):
    """Keeps rows of a type as accumulators."""

    def __init__(self, row: RowTypeInfo) -> None:
        self.row = row

    def create_accumulator(self) -> Any:
        return self.row.coerce((0, 0))

    def add(self, value: Any, accumulator: Any) -> Any:
        return self.row.coerce(
            {"id": 1, self.row.field_names[-1]: 1}
            | {
                name: (amount(accumulator) or 0) + value
                for name in self.row.field_names
                if name != "id"
            }
        )

    def get_result(self, accumulator: Any) -> Any:
        return amount(accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return self.add(amount(acc_b), acc_a)


def row_of(row: RowTypeInfo, value: int | None) -> Any:
    return row.coerce({name: 7 if name == "id" else value for name in row.field_names})


class Keeper(KeyedProcessFunction):
    """Emits what it kept in a state, then keeps the number; negative numbers are not kept."""

    def __init__(self, kind: str, row: RowTypeInfo) -> None:
        self.kind, self.row = kind, row

    def open(self, runtime_context: Any) -> None:
        row, context = self.row, runtime_context
        if self.kind == "value":
            self.state = context.get_state(ValueStateDescriptor("s", row))
        if self.kind == "nested":
            nested = Types.LIST(
                Types.MAP(Types.STRING(), Types.TUPLE([Types.ROW_NAMED(["x"], [row])]))
            )
            self.state = context.get_state(ValueStateDescriptor("s", nested))
        if self.kind == "list":
            self.state = context.get_list_state(ListStateDescriptor("s", row))
        if self.kind == "map":
            self.state = context.get_map_state(MapStateDescriptor("s", Types.STRING(), row))
        if self.kind == "reducing":
            self.state = context.get_reducing_state(
                ReducingStateDescriptor("s", lambda _, b: b, row)
            )
        if self.kind == "aggregating":
            kept = AggregatingStateDescriptor("s", Sums(row), row)
            self.state = context.get_aggregating_state(kept)

    def process_element(self, value: int, ctx: Any) -> Any:
        kind, state = self.kind, self.state
        row = row_of(self.row, value)
        if value < 0:
            yield self.seen()
        elif kind == "value":
            state.update(row)
        elif kind == "nested":
            state.update([{"a": (Row(x=row),)}])
        elif kind == "map":
            state.put("a", row)
        else:
            state.add(value if kind == "aggregating" else row)

    def seen(self) -> Any:
        kind, state = self.kind, self.state
        if kind == "map":
            return amount(state.get("a"))
        found = state.value() if kind in {"value", "nested"} else state.get()
        if kind == "nested":
            return amount(found[0]["a"][0].x)
        if kind == "list":
            return amount(next(iter(found)))
        return found if kind == "aggregating" else amount(found)


def one_key(_: Any) -> str:
    return "k"


KINDS = ["value", "nested", "list", "map", "reducing", "aggregating"]
BACKENDS = ["hashmap", "lmdb"]


def opened(
    operator: Any, backend: str, coded: bool, snapshot: Any = None, **more: Any
) -> OperatorHarness:
    settings = Configuration().set_boolean("table.exec.enable-coded-rowdata", coded)
    return OperatorHarness.of(
        operator, backend=backend, configuration=settings, snapshot=snapshot, **more
    )


def restarted(
    make: Callable[[RowTypeInfo], Any], new: RowTypeInfo, backend: str, coded: bool, **more: Any
) -> Any:
    with opened(make(BEFORE), backend, coded, **more) as before:
        before.push(5)
        snapshot = before.snapshot()
    with opened(make(new), backend, coded, snapshot, **more) as after:
        return after.push(-1)


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KINDS)
def test_state_of_each_kind(kind: str, backend: str, coded: bool) -> None:
    def made(row: RowTypeInfo) -> Keeper:
        return Keeper(kind, row)

    assert restarted(made, RENAMED, backend, coded, key_selector=one_key) == [5]
    assert restarted(made, REMOVED, backend, coded, key_selector=one_key) == [None]
    with pytest.raises(StateMigrationError) as refused:
        restarted(made, SILENT, backend, coded, key_selector=one_key)
    assert "no longer has 'total', and has 'totals', which it had not" in refused.value.problem
    assert "renamed={'total': 'totals'}" in refused.value.hint
    assert "renamed={'total': None}" in refused.value.hint


def reduced(row: RowTypeInfo) -> Any:
    def build(stream: Any) -> Any:
        typed = stream.map(lambda n: row_of(row, n), row)
        return typed.key_by(one_key).reduce(lambda a, b: a if amount(b) < 0 else b).map(amount)

    return build


def keyed(stream: Any, row: RowTypeInfo) -> Any:
    return stream.map(lambda n: row_of(row, n), row).key_by(one_key)


def windowed(row: RowTypeInfo, assigner: Any) -> Any:
    def build(stream: Any) -> Any:
        windows = keyed(stream, row).window(assigner)
        return windows.reduce(lambda a, b: a if amount(b) < 0 else b).map(amount)

    return build


class Amounts(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield [amount(each) for each in elements]


def collected(row: RowTypeInfo) -> Any:
    def build(stream: Any) -> Any:
        windows = keyed(stream, row).window(TumblingEventTimeWindows.of(Time.seconds(9)))
        return windows.process(Amounts())

    return build


def aggregated(row: RowTypeInfo) -> Any:
    def build(stream: Any) -> Any:
        windows = stream.key_by(one_key).window(TumblingEventTimeWindows.of(Time.seconds(9)))
        return windows.aggregate(Sums(row), accumulator_type=row)

    return build


def fired(make: Callable[[RowTypeInfo], Any], new: RowTypeInfo, backend: str, coded: bool) -> Any:
    with opened(make(BEFORE), backend, coded) as before:
        before.push(5, 1)
        snapshot = before.snapshot()
    with opened(make(new), backend, coded, snapshot) as after:
        after.push(-1, 2)
        return after.advance_watermark(10_000)


WINDOWS = {
    "reduced": (lambda row: windowed(row, TumblingEventTimeWindows.of(Time.seconds(9))), 5),
    "sessions": (lambda row: windowed(row, EventTimeSessionWindows.with_gap(Time.seconds(5))), 5),
    "collected": (collected, [5, -1]),
    "aggregated": (aggregated, 4),
}


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", WINDOWS)
def test_contents_of_windows(name: str, backend: str, coded: bool) -> None:
    make, answer = WINDOWS[name]
    assert fired(make, RENAMED, backend, coded) == [answer]
    with pytest.raises(StateMigrationError, match="no longer has 'total'"):
        fired(make, SILENT, backend, coded)


@pytest.mark.parametrize("backend", BACKENDS)
def test_aggregates_of_keys(backend: str) -> None:
    assert restarted(reduced, RENAMED, backend, False) == [5]
    with pytest.raises(StateMigrationError, match="the aggregates of operator"):
        restarted(reduced, SILENT, backend, False)


class Told(BroadcastProcessFunction):
    def __init__(self, states: MapStateDescriptor) -> None:
        self.states = states

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield amount(ctx.get_broadcast_state(self.states).get("a"))

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(self.states).put("a", value)


@pytest.mark.parametrize("backend", BACKENDS)
def test_broadcast_state(backend: str) -> None:
    def opened_with(row: RowTypeInfo, snapshot: Any = None) -> OperatorHarness:
        states = MapStateDescriptor("told", Types.STRING(), row)
        return opened(Told(states), backend, False, snapshot, broadcast_states=[states])

    with opened_with(BEFORE) as before:
        before.push(row_of(BEFORE, 5), input=1)
        snapshot = before.snapshot()
    with opened_with(RENAMED, snapshot) as after:
        assert after.push(0) == [5]
    with (
        pytest.raises(StateMigrationError, match="no longer has 'total'"),
        opened_with(SILENT, snapshot) as silent,
    ):
        silent.push(0)


# --- several versions -------------------------------------------------------------------------


def longs(names: str, **renamed: str | None) -> RowTypeInfo:
    return Types.ROW_NAMED(list(names), [Types.LONG()] * len(names), renamed)


def moved(old: RowTypeInfo, new: RowTypeInfo, *values: int) -> tuple[int | None, ...]:
    change = migration(_value(old), _value(new), "the state")
    (found,) = [values] if change is None else change([values])
    return tuple(found)


def _value(row: Any) -> StateSchema:
    return StateSchema(StateKind.VALUE, row)


def test_rows_of_all_versions_are_read() -> None:
    third = longs("c", a="b", b="c")
    assert moved(longs("a"), third, 1) == moved(longs("b"), third, 1) == (1,)
    back = longs("ba", a="b")  # `a` is a new field of the third version
    assert moved(longs("a"), back, 1) == (1, None)
    assert moved(longs("b"), back, 1) == (1, None)
    assert moved(longs("ab"), back, 1, 2) == (2, 1)  # stored with both: younger than the renaming
    assert moved(longs("a"), longs("ab", a="b"), 1) == (None, 1)
    assert moved(longs("ab"), longs("bc", a=None), 1, 2) == (2, None)
    assert moved(longs("ab"), longs("cb", a=None), 1, 2) == (None, 2)


def test_fields_only_come_or_only_go() -> None:
    assert moved(longs("a"), longs("ba"), 1) == (None, 1)
    assert moved(longs("ab"), longs("b"), 1, 2) == (2,)


@pytest.mark.parametrize(
    ("old", "new", "problem", "hint"),
    [
        (longs("ab"), longs("bc"), "no longer has 'a', and has 'c', which", "{'a': 'c'}"),
        (longs("ab"), longs("cd"), "has 'a', 'b', and has 'c', 'd'", "'a': 'the new name', 'b'"),
        (longs("ab"), longs("cd", a="c"), "no longer has 'b', and has 'd'", "{'b': 'd'}"),
        (longs("ab"), longs("c", a="c", b="c"), "has both 'a' and 'b'", "{'a': None}"),
        (longs("ab"), longs("b", a="b"), "has both 'a' and 'b'", "{'a': None}"),
    ],
)
def test_what_would_be_lost_is_refused(
    old: RowTypeInfo, new: RowTypeInfo, problem: str, hint: str
) -> None:
    for was, now in [(old, new), (Types.LIST(old), Types.LIST(new))]:
        with pytest.raises(StateMigrationError) as refused:
            migration(_value(was), _value(now), "the state")
        assert problem in refused.value.problem
        assert hint in refused.value.hint


def test_keys_keep_their_names() -> None:
    def of(key: RowTypeInfo) -> StateSchema:
        return StateSchema(StateKind.MAP, Types.LONG(), key)

    assert migration(of(longs("a")), of(longs("a", b="a")), "the state") is None
    with pytest.raises(StateMigrationError, match="had keys of type"):
        migration(of(longs("b")), of(longs("a", b="a")), "the state")
    old, new = (Types.MAP(key, Types.LONG()) for key in (longs("b"), longs("a", b="a")))
    with pytest.raises(StateMigrationError, match="field 'key' was"):
        migration(_value(old), _value(new), "the state")


@pytest.mark.parametrize("names", [("ab", "a"), ("b", "ab"), ("a", "ab")])
def test_state_that_is_declared_late_loses_nothing(names: tuple[str, str]) -> None:
    """Blobs of several versions come in any order before the state is declared."""
    backend = HashBackend()
    for key, each in zip("xy", names, strict=True):
        schema = StateSchema(StateKind.BROADCAST, longs(each), Types.STRING())
        values = [tuple(ord(name) for name in each)]
        section = Section("s", schema.text(), [None], [key], values, [], [], [])
        backend.load([encode_blob("op", BROADCAST_GROUP, [section])])
    wanted = StateSchema(StateKind.BROADCAST, longs("ab"), Types.STRING())
    part = backend.table("op", "s", wanted)[BROADCAST_GROUP]
    for key, each in zip("xy", names, strict=True):
        found = part.get(None, key).as_dict()
        assert found == {name: ord(name) if name in each else None for name in "ab"}


def test_a_stored_schema_is_chosen_that_loses_nothing() -> None:
    wide, narrow = longs("ab"), longs("b")
    texts = [_value(each).text() for each in (narrow, wide)]
    assert newest_schema(texts, "the state") == _value(wide)
    old, new = longs("ab"), longs("bc", a="c")
    texts = [_value(each).text() for each in (old, new)]
    assert newest_schema(texts, "the state") == _value(new)


# --- the type ---------------------------------------------------------------------------------


def test_a_renaming_is_stored() -> None:
    row = Types.ROW_NAMED(["x"], [longs("b", a="b", c=None)])
    description = {"row": [["x", {"renamed": {"a": "b", "c": None}, "row": [["b", "Long"]]}]]}
    assert describe_type(row) == description
    assert type_of(description) == row
    assert row != Types.ROW_NAMED(["x"], [longs("b")])
    for damaged in ({"renamed": 1, "row": []}, {"renamed": {"a": 1}, "row": [["b", "Long"]]}):
        with pytest.raises(DecodeError):
            type_of(damaged)


@pytest.mark.parametrize(
    ("renamed", "problem"),
    [
        ({"a": "c"}, "'a' to 'c', which leads to 'c', which is not a field"),
        ({"a": "totl"}, "did you mean 'total'"),
        ({"total": None}, "removes a field that there is"),
        ({"a": "d", "d": "a"}, "leads back to an earlier name"),
        ({"a": "a"}, "leads back to an earlier name"),
        ({"a": 1}, "is no pair of names"),
        ({1: "total"}, "is no pair of names"),
    ],
)
def test_renamings_that_lead_nowhere(renamed: Any, problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        Types.ROW_NAMED(["total"], [Types.LONG()], renamed)
