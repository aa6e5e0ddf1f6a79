"""Groups to which rows are added one by one, in plain Python: the oracle of groups on parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from penstock.api.functions.context import RuntimeContext
from penstock.api.functions.function_classes import KeyedProcessFunction
from penstock.api.state.descriptors import MapStateDescriptor, ValueStateDescriptor, expiring
from penstock.expressions.merging import order_of
from penstock.expressions.python.times import millis_of
from penstock.relation.groups import WindowGroupBy
from penstock.relation.parts import AggregateCall
from penstock.sql.functions.accumulators import (
    ACCUMULATORS,
    OF_VALUES,
    Accumulator,
    Parts,
)
from penstock.sql.functions.changes import RowMaker, signed
from penstock.sql.lowering import keyed, windows
from penstock.sql.lowering.evaluated import row_type
from penstock.types import Types
from penstock.types.row import Row
from penstock.types.sql_types import FLOATS, SqlType

OF_COUNTS: dict[str, Callable[[list[tuple[Any, int]]], Any]] = {
    "LISTAGG": lambda counts: (
        ",".join(value for value, count in sorted(counts) for _ in range(count)) or None
    ),
    "ARRAY_AGG": lambda counts: (
        [
            value
            for value, count in sorted(counts, key=lambda each: order_of(each[0]))
            for _ in range(count)
        ]
        or None
    ),
    "COLLECT": dict,
}
"""Aggregates of values and how often each is there; lists are in order of their values."""


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """An aggregation.

    Attributes:
        keys: How many of the first columns are the group.
        calls: The aggregates.
        names: Names of the columns of the result: those of the group, then the aggregates.
        is_insert_only: Whether no row is ever taken back.
        ttl_ms: Time in milliseconds after the last change of a group at which it is forgotten; None is never.
    """

    keys: int
    calls: tuple[AggregateCall, ...]
    names: tuple[str, ...]
    is_insert_only: bool
    ttl_ms: int | None = None


class RunningAggregate:
    """One aggregate of the current group: its parts, and its values if it needs them."""

    def __init__(self, call: AggregateCall, *, keeps_values: bool) -> None:
        """Make the aggregate."""
        self.call = call
        self.keeps_values = keeps_values
        self.values: Any = None
        self._accumulator = _accumulator(call) if call.function in ACCUMULATORS else None
        if call.user is not None:
            self._accumulator = _of_user(call.user, call.result)
        self._is_float = call.source.name in FLOATS
        self.types = (
            (call.source.type_info,) if self._accumulator is None else self._accumulator.types
        )
        self._choose = OF_VALUES.get(call.function)

    def start(self) -> Parts:
        """Return the parts of a new group."""
        return [None] if self._accumulator is None else list(self._accumulator.start)

    def apply(self, parts: Parts, changes: list[tuple[list[Any], int]]) -> None:
        """Change the parts, and the values in state, by rows."""
        chosen = self._chosen(changes)
        if self.keeps_values:
            chosen = self._of_values(chosen)
        if self._accumulator is not None:
            add = self._accumulator.add
            for value, sign in chosen:
                add(parts, value, sign)
        elif not self.keeps_values and self._choose is not None and chosen:
            known = [] if parts[0] is None else [parts[0]]
            parts[0] = self._choose([*known, *(value for value, _ in chosen)])

    def result(self, parts: Parts) -> Any:
        """Return the result of the group."""
        if self._accumulator is not None:
            return self._accumulator.result(parts)
        if not self.keeps_values:
            return parts[0]
        counts = [(self._decoded(key), count) for key, count in self.values.items() if count > 0]
        if self._choose is not None:
            return self._choose(value for value, _ in counts)
        if self.call.is_distinct:
            counts = [(value, 1) for value, _ in counts]
        if self.call.function == "LISTAGG":
            texts = [value for value, count in sorted(counts) for _ in range(count)]
            return self.call.separator.join(texts) if texts else None
        return OF_COUNTS[self.call.function](counts)

    def _chosen(self, changes: list[tuple[list[Any], int]]) -> list[tuple[Any, int]]:
        """Return the values of the argument that are not NULL, of rows that satisfy the filter."""
        condition, arguments = self.call.filter, self.call.arguments
        if condition is not None:
            changes = [each for each in changes if each[0][condition] is True]
        if not arguments:
            return [(True, sign) for _, sign in changes]
        if self.call.user is not None:
            return [(tuple(values[at] for at in arguments), sign) for values, sign in changes]
        (at, *_) = arguments
        return [(values[at], sign) for values, sign in changes if values[at] is not None]

    def _of_values(self, chosen: list[tuple[Any, int]]) -> list[tuple[Any, int]]:
        """Write counts of values, and return those that appeared or went."""
        net: dict[Any, int] = {}
        for value, sign in chosen:
            key = repr(value) if self._is_float else value
            net[key] = net.get(key, 0) + sign
        made = []
        for key, change in net.items():
            if not change:
                continue
            before = self.values.get(key) or 0
            now = before + change
            if now:
                self.values.put(key, now)
            else:
                self.values.remove(key)
            if (before > 0) is not (now > 0):
                made.append((self._decoded(key), 1 if now > 0 else -1))
        return made

    def _decoded(self, key: Any) -> Any:
        return float(key) if self._is_float else key


class GroupAggregateFunction:
    """Returns the changes of the rows of groups."""

    def __init__(self, spec: GroupSpec) -> None:
        """Make the function."""
        self._spec = spec

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        spec = self._spec
        self._maker = RowMaker(spec.names)
        self._aggregates = [
            RunningAggregate(
                call, keeps_values=keeps_values(call, is_insert_only=spec.is_insert_only)
            )
            for call in spec.calls
        ]
        types = [Types.LONG(), *(kind for each in self._aggregates for kind in each.types)]
        names = [f"p{at}" for at in range(len(types))]
        parts = ValueStateDescriptor("parts", Types.ROW_NAMED(names, types))
        self._parts = runtime_context.get_state(expiring(parts, spec.ttl_ms))
        self._part_rows = RowMaker(names)
        for at, each in enumerate(self._aggregates):
            if each.keeps_values:
                values = expiring(values_state(at, each.call), spec.ttl_ms)
                each.values = runtime_context.get_map_state(values)

    def process_changes(self, key: Any, rows: list[Row]) -> list[Row]:
        """Return the changes that rows of a group make."""
        changes = signed(rows)
        group = changes[0][0][: self._spec.keys]
        stored = self._parts.value()
        count, parts = self._read(stored)
        before = self._row(group, parts) if count > 0 else None
        count += sum(sign for _, sign in changes)
        for each, of_each in zip(self._aggregates, parts, strict=True):
            each.apply(of_each, changes)
        if count or self._has_values():
            self._write(count, parts)
        elif stored is not None:
            self._parts.clear()
        return self._maker.difference(before, self._row(group, parts) if count > 0 else None)

    def add(self, rows: list[Row]) -> None:
        """Add rows to the current group, without a result."""
        changes = signed(rows)
        count, parts = self._read(self._parts.value())
        for each, of_each in zip(self._aggregates, parts, strict=True):
            each.apply(of_each, changes)
        self._write(count + len(rows), parts)

    def take(self, group: Sequence[Any]) -> list[Row]:
        """Return the row of the current group, and forget it."""
        _, parts = self._read(self._parts.value())
        made = self._maker.rows([self._row(group, parts)])
        self._parts.clear()
        for each in self._aggregates:
            if each.keeps_values:
                each.values.clear()
        return made

    def _write(self, count: int, parts: list[Parts]) -> None:
        flat = [count, *(part for of_each in parts for part in of_each)]
        (made,) = self._part_rows.rows([flat])
        self._parts.update(made)

    def _has_values(self) -> bool:
        return any(each.keeps_values and not each.values.is_empty() for each in self._aggregates)

    def _read(self, stored: Row | None) -> tuple[int, list[Parts]]:
        if stored is None:
            return 0, [each.start() for each in self._aggregates]
        flat = list(stored)
        parts, at = [], 1
        for each in self._aggregates:
            parts.append(flat[at : at + len(each.types)])
            at += len(each.types)
        return flat[0], parts

    def _row(self, group: Sequence[Any], parts: list[Parts]) -> list[Any]:
        results = (
            each.result(of_each) for each, of_each in zip(self._aggregates, parts, strict=True)
        )
        return [*group, *results]


def keeps_values(call: AggregateCall, *, is_insert_only: bool) -> bool:
    """Return whether an aggregate keeps the values of the group in state."""
    if call.user is not None:
        return False
    if call.function in OF_VALUES:
        return not is_insert_only
    return call.is_distinct or call.function in OF_COUNTS


def values_state(at: int, call: AggregateCall) -> MapStateDescriptor:
    """Return the state of the values of an aggregate: value, of a float its text, to count."""
    is_float = call.source.name in FLOATS
    key = Types.STRING() if is_float else call.source.type_info
    return MapStateDescriptor(f"values-{at}", key, Types.LONG())


def _accumulator(call: AggregateCall) -> Accumulator:
    return ACCUMULATORS[call.function](call.source, call.result)


def _of_user(function: Any, result: SqlType) -> Accumulator:
    """Return the accumulator of an aggregate of the user: the object that its methods change."""
    coerce: Callable[[Any], Any] = result.type_info.coerce

    def add(parts: Parts, values: tuple[Any, ...], sign: int) -> None:
        if parts[0] is None:
            parts[0] = function.create_accumulator()
        (function.accumulate if sign > 0 else function.retract)(parts[0], *values)

    def final(parts: Parts) -> Any:
        found = function.get_value(function.create_accumulator() if parts[0] is None else parts[0])
        return None if found is None else coerce(found)

    return Accumulator((Types.PICKLED_BYTE_ARRAY(),), (None,), add, final)


class WindowAggregateFunction(KeyedProcessFunction[Any, Any, Row]):
    """Emits the rows of groups at the ends of their windows."""

    def __init__(self, spec: GroupSpec, end: int) -> None:
        """Make the function."""
        self._groups = GroupAggregateFunction(spec)
        self._keys = spec.keys
        self._end = end

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get hold of the state."""
        self._groups.open(runtime_context)
        key = ValueStateDescriptor("group", Types.PICKLED_BYTE_ARRAY())
        self._key = runtime_context.get_state(key)
        self._late = runtime_context.get_metrics_group().counter("numLateRecordsDropped")

    def process_element(self, value: Row, ctx: Any) -> None:
        """Add a row to its group."""
        last = millis_of(value[self._end]) - 1
        timers = ctx.timer_service()
        if last <= timers.current_watermark():
            self._late.inc()
            return
        if self._key.value() is None:
            self._key.update(list(value)[: self._keys])
            timers.register_event_time_timer(last)
        self._groups.add([value])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Row]:
        """Emit the row of the group."""
        group = self._key.value()
        if group is not None:
            self._key.clear()
            yield from self._groups.take(group)


def _grouped(lowering: Any, relation: Any, name: str) -> Any:
    spec = _spec(relation, lowering.ttl_ms, is_insert_only=relation.input.is_insert_only)
    rows = keyed.by_columns(lowering.stream(relation.input), tuple(range(relation.group)))
    return keyed.changes_of(rows, GroupAggregateFunction(spec), relation.columns, name)


def _in_windows(lowering: Any, relation: Any) -> Any:
    bounds = enumerate(relation.input.columns[: relation.group])
    end = next(at for at, each in bounds if each.window == "end")
    rows = keyed.by_columns(lowering.stream(relation.input), tuple(range(relation.group)))
    spec = _spec(relation, None, is_insert_only=True)
    return rows.process(WindowAggregateFunction(spec, end), row_type(relation.columns))


def _spec(relation: Any, ttl_ms: int | None, *, is_insert_only: bool) -> GroupSpec:
    names = tuple(each.name for each in relation.columns)
    ttl_ms = relation.ttl_ms or ttl_ms
    return GroupSpec(relation.group, relation.calls, names, is_insert_only, ttl_ms)


@contextmanager
def on_accumulators(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compute groups, of windows too, by the oracle."""
    with monkeypatch.context() as patched:
        patched.setattr(keyed, "merged_groups", _grouped)
        patched.setattr(WindowGroupBy, "rows", "asked for")
        patched.setattr(windows, "grouped_row_by_row", _in_windows)
        yield
