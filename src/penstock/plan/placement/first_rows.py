"""Phase: lets Spark SQL leave the first rows of each key, before records are made. After `place_expressions`.

    columns ──▶ Spark SQL: where, select, the first rows of each key ──▶ records of these ──▶ the plan as it is

The operator of first rows (`top_n`, ROW_NUMBER with a bound, LIMIT) then finds them among few records, and its state is the same. So it
is legal for each source alone, and in a run that hands over. It needs one order: all columns of a row decide, in types that Spark SQL
has in the same order. NaN is greater than all numbers in both; two zeros are equal in both, so rows of either sign are left.

Records of which timestamps are assigned before have a meaning of their own, also if a condition drops them: the last one of a key in
order of time is left, and one without a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from penstock.expressions.typing import RecordType
from penstock.plan.phases.edges import region_of
from penstock.plan.physical import Decision, PhysicalPlan, PlannedFirstRows, RunPlan, SourcePlan
from penstock.plan.placement.expressions import (
    assigns_column,
    refused,
    source_of,
    timestamps_before,
)
from penstock.plan.placement.legality import KEYS
from penstock.program.channel import SINK_LEVEL, ChannelSpec, StreamPartitioner
from penstock.program.level import OperatorSpec
from penstock.program.operator_fold import function_of
from penstock.program.operators import EXPRESSIONS, KEYED_TOP_N
from penstock.program.run_settings import RunKind
from penstock.program.selected_field import field_positions
from penstock.types.sql_types import FLOATS, of_type_info

_ALL = "all of them, in workers"


def place_first_rows(plan: PhysicalPlan) -> PhysicalPlan:
    """Choose who reduces the rows of every operator of first rows, in every batch run."""
    first_rows: list[PlannedFirstRows] = []
    decisions = list(plan.decisions)
    for candidate in _candidates(plan):
        refusal = next(filter(None, (rule(candidate) for rule in _RULES)), None)
        if refusal is not None:
            decisions.append(Decision(candidate.subject, _ALL, refusal))
            continue
        planned = candidate.planned()
        first_rows.append(planned)
        name = plan.source(planned.source).name
        choice = f"the first {candidate.spec.end} of each key, by Spark SQL"
        why = f"the rows of {name!r} are columns, and have one order"
        decisions.append(Decision(candidate.subject, choice, why))
    return replace(plan, first_rows=tuple(first_rows), decisions=tuple(decisions))


@dataclass(frozen=True, slots=True)
class _Path:
    """The way of records from a source to an operator of first rows."""

    source: SourcePlan
    timestamps: OperatorSpec | None
    expressions: OperatorSpec | None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An operator of first rows in one run, and a channel that it reads."""

    plan: PhysicalPlan
    run: RunPlan
    op: OperatorSpec
    channel: ChannelSpec

    @property
    def subject(self) -> str:
        """Name in plans."""
        return f"rows of {self.op.name!r} in run {self.run.index} ({self.run.name})"

    @property
    def spec(self) -> Any:
        """Order and number of the first rows."""
        return function_of(self.op).spec

    @property
    def records(self) -> RecordType:
        """Type of the rows."""
        row_type: RecordType = self.spec.row_type
        return row_type

    @property
    def keys(self) -> tuple[int, ...] | None:
        """Positions of the columns of the key; None if it is computed."""
        selector = self.channel.key_selector
        return selector and field_positions(selector, self.records.field_names)

    def path(self) -> _Path | str:
        """Return the way of its records, or the reason why it is another one."""
        plan, key = self.plan, self.channel.id
        sources = [id_ for id_, channels in plan.source_channels if key in channels]
        writers = [op for level in plan.levels for op in level.operators if key in op.channels]
        if len(sources) + len(writers) != 1:
            return "it reads several streams"
        if sources:
            (number,) = sources
            known = plan.source(number)
            readers = dict(plan.source_operators).get(number), dict(plan.source_channels)[number]
            is_only = not readers[0] and readers[1] == (key,)
            return _Path(known, None, None) if is_only else f"{known.name!r} has other readers"
        (last,) = writers
        if last.chained_to or last.side_outputs or last.channels != (key,):
            return f"{last.name!r} before it has other readers"
        expressions = last if last.kind == EXPRESSIONS else None
        if expressions is None and not assigns_column(last):
            return f"{last.name!r} comes before it"
        timestamps = last if expressions is None else timestamps_before(plan, last)
        source, reason = source_of(plan, timestamps or last)
        return reason or "" if source is None else _Path(source, timestamps, expressions)

    def planned(self) -> PlannedFirstRows:
        """Return the plan value; only if it is legal."""
        path, keys = self.path(), self.keys
        assert isinstance(path, _Path), "it is legal"
        assert keys is not None, "it is legal"
        here = self.run.index, path.source.id, self.op.id, keys
        if path.timestamps is None:
            return PlannedFirstRows(*here)
        return PlannedFirstRows(
            *here, path.timestamps.id, None if path.expressions is None else path.expressions.id
        )


def _candidates(plan: PhysicalPlan) -> Iterator[_Candidate]:
    for run in plan.runs:
        if run.kind is not RunKind.BATCH:
            continue
        region = region_of(plan, run)
        for channel in region.channels:
            if channel.target_level == SINK_LEVEL:
                continue
            level = next(level for level in region.levels if level.level == channel.target_level)
            op = next(op for op in level.operators if op.id == channel.target_operator)
            if op.kind == KEYED_TOP_N:
                yield _Candidate(plan, run, op, channel)


def _other_rows(candidate: _Candidate) -> str | None:
    spec = candidate.spec
    if spec.are_counted or spec.identity:
        return "its rows change"
    if spec.ttl_ms is not None:
        return "state is forgotten after a time"
    ordered = {column.position for column in spec.order.columns}
    names = candidate.records.field_names
    rest = [name for position, name in enumerate(names) if position not in ordered]
    return f"the column {rest[0]!r} has no order" if rest else None


def _other_types(candidate: _Candidate) -> str | None:
    keys, types = candidate.keys, tuple(map(of_type_info, candidate.records.field_types))
    if candidate.channel.partitioner is not StreamPartitioner.HASH or keys is None:
        return "its key is no columns"
    for position, kind in enumerate(types):
        if kind.name not in (KEYS if position in keys else KEYS | {*FLOATS}):
            return f"the column {candidate.records.field_names[position]!r} is {kind}"
    return None


def _other_path(candidate: _Candidate) -> str | None:
    path = candidate.path()
    if not isinstance(path, _Path):
        return path
    plan, run = candidate.plan, candidate.run
    reason = refused(plan, run, path.source)
    if reason is not None or path.expressions is None:
        return reason
    if path.timestamps is not None:
        unprojected: str | None = function_of(path.expressions).unprojected_because
        return unprojected
    evaluated = {(projection.run, projection.operator) for projection in plan.projections}
    is_evaluated = (run.index, path.expressions.id) in evaluated
    return None if is_evaluated else f"workers compute {path.expressions.name!r}"


_RULES: tuple[Callable[[_Candidate], str | None], ...] = (_other_rows, _other_types, _other_path)
"""Reasons against Spark SQL; the plan shows the first one."""
