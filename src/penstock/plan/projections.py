"""Phase: decides where expressions of columns are evaluated, run by run. After `choose_folds`.

    columns ──▶ Spark SQL: where, select ──▶ records of what is left ──▶ the plan without the operator
    records ──▶ worker: Arrow kernels ──▶ records

Spark SQL evaluates an operator of expressions in a batch run if nothing but this operator reads the
source, and the source is columns of the declared types. Python then never sees the other columns and records.
Everywhere else a worker evaluates it, with the same answer; tests force both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.expressions.steps import WhereStep
from penstock.plan.phases.regions import region_of
from penstock.plan.physical import (
    Decision,
    LevelPlan,
    PhysicalPlan,
    PlannedProjection,
    RunPlan,
    SourcePlan,
)
from penstock.program.channel import SINK_LEVEL
from penstock.program.folding.fold import Place
from penstock.program.folding.operator_fold import function_of
from penstock.program.level import LevelProgram
from penstock.program.operator_spec import NO_COPIES, OperatorSpec
from penstock.program.operators import (
    EXPRESSIONS,
    KEYED_AGGREGATE,
    KEYED_WINDOW,
    TIMESTAMPS,
)
from penstock.program.partitioning import StreamPartitioner
from penstock.program.run_settings import RunKind
from penstock.program.timestamps import ColumnTimestamps

_SQL = "one projection of Spark SQL"
_MERGED = "one projection of Spark SQL, merged by key"
_PANED = "one projection of Spark SQL, merged by key and pane"
_WORKER = "Arrow kernels in the worker"


def place_expressions(plan: PhysicalPlan) -> PhysicalPlan:
    """Choose the place of every operator of expressions in every run."""
    projections: list[PlannedProjection] = []
    decisions = list(plan.decisions)
    for run in plan.runs:
        for op in _expressions(region_of(plan, run).levels):
            timestamps = _timestamps_before(plan, op)
            source, reason = _source_of(plan, op if timestamps is None else timestamps)
            if source is not None:
                reason = _refused(plan, run, source) or op.function.unprojected_because
            subject = f"{op.name!r} in run {run.index} ({run.name})"
            merged_for = merging_operator(plan, run, op, is_timed=timestamps is not None)
            if reason is None and timestamps is not None:
                reason = _not_by_pane(timestamps, op, merged_for)
            if source is not None and reason is None:
                assigns = None if timestamps is None else timestamps.id
                projections.append(
                    PlannedProjection(run.index, source.id, op.id, merged_for, assigns)
                )
                why = f"it directly follows {source.name!r}, whose rows are columns"
                choice = _SQL if merged_for is None else _MERGED if assigns is None else _PANED
                decisions.append(Decision(subject, choice, why))
            else:
                decisions.append(Decision(subject, _WORKER, reason or ""))
    return replace(plan, projections=tuple(projections), decisions=tuple(decisions))


def _timestamps_before(plan: PhysicalPlan, op: OperatorSpec) -> OperatorSpec | None:
    """Return the operator before `op` that assigns timestamps of a column, if it feeds nothing else and is all there is."""
    before = [
        each for level in plan.levels for each in level.operators if op.id in each.fed_operators
    ]
    if len(before) != 1 or before[0].kind != TIMESTAMPS or before[0].timestamps is None:
        return None
    (found,) = before
    assigns, is_only = found.timestamps, (found.chained_to, found.channels) == ((op.id,), ())
    assert assigns is not None, "it was asked"
    is_column = isinstance(assigns.assigner, ColumnTimestamps) and assigns.make_generator is None
    return found if is_only and is_column and assigns.idle_ms is None else None


def _not_by_pane(timestamps: OperatorSpec, op: OperatorSpec, merged_for: int | None) -> str | None:
    """Tell why Spark SQL does not merge parts by key and pane, where timestamps are assigned before them."""
    if merged_for is None:
        return f"{timestamps.name!r} comes before it"
    if any(isinstance(step, WhereStep) for step in op.function.steps):
        return "the records that a condition drops have timestamps, of which watermarks are made"
    return None


def merging_operator(
    plan: PhysicalPlan, run: RunPlan, op: OperatorSpec, *, is_timed: bool = False
) -> int | None:
    """Return the operator of aggregates whose parts Spark SQL may merge, if `op` selects them.

    With timestamps it is one of windows whose records are merged by key and pane.

    That is legal where the sender may merge them, because it is the same merge of the same rows, and if Spark SQL has the same
    keys and sums: equality of floats as keys differs, and it adds decimals with a digit less.
    """
    if op.chained_to or op.side_outputs or len(op.channels) != 1:
        return None
    (channel,) = (each for each in plan.channels if each.id == op.channels[0])
    if channel.target_level == SINK_LEVEL or channel.partitioner is not StreamPartitioner.HASH:
        return None
    target = channel.target_operator
    reader = next(each for level in plan.levels for each in level.operators if each.id == target)
    if reader.kind != (KEYED_WINDOW if is_timed else KEYED_AGGREGATE):
        return None
    aggregate = function_of(reader)
    if not isinstance(aggregate, KeyedAggregate) or not aggregate.is_merged_alike_by_sql:
        return None
    folds = (each for each in plan.folds if (each.run, each.operator) == (run.index, target))
    return target if any(Place.SENDER in fold.plan.places for fold in folds) else None


def only_projection(plan: PhysicalPlan) -> PlannedProjection | None:
    """Return the projection of Spark SQL that is all a job computes; None if workers compute something.

    Then Spark alone can make the records of its only sink.
    """
    if len(plan.runs) != 1 or len(plan.sinks) != 1 or len(plan.projections) != 1:
        return None
    (run,), (projection,) = plan.runs, plan.projections
    computed = {op.id for level in plan.levels for op in level.operators}
    if run.hands_over or computed - {projection.operator, projection.merged_for}:
        return None
    if projection.merged_for is not None:
        results = plan.graph.node(projection.merged_for).function.results
        if results.unprojected_because is not None:
            return None
    return projection if len(plan.sources) == 1 else None


def _expressions(levels: tuple[LevelPlan, ...]) -> Iterator[OperatorSpec]:
    for level in levels:
        for op in level.operators:
            if op.kind == EXPRESSIONS:
                yield op


def _source_of(plan: PhysicalPlan, op: OperatorSpec) -> tuple[SourcePlan | None, str | None]:
    """Return the only source that feeds an operator and nothing else, or the reason why there is none."""
    feeding = [key for key, targets in plan.source_operators if op.id in targets]
    others = [
        other.name
        for level in plan.levels
        for other in level.operators
        if op.id in other.fed_operators
    ]
    if others:
        return None, f"{others[0]!r} comes before it"
    if len(feeding) != 1 or _is_fed_by_channel(plan, op):
        return None, "it reads several streams, or behind an exchange"
    (key,) = feeding
    source = plan.source(key)
    readers = dict(plan.source_operators)[key]
    if readers != (op.id,) or dict(plan.source_channels).get(key):
        return None, f"{source.name!r} has other readers"
    return source, None


def _is_fed_by_channel(plan: PhysicalPlan, op: OperatorSpec) -> bool:
    """Return whether records reach an operator in frames. The numbers of sinks are not those of operators."""
    return any(c.target_operator == op.id and c.target_level != SINK_LEVEL for c in plan.channels)


def _refused(plan: PhysicalPlan, run: RunPlan, source: SourcePlan) -> str | None:
    if run.kind is not RunKind.BATCH:
        return "the run is live"
    if not plan.options.projects:
        return "execution.batch.expressions is false"
    if source.is_query:
        return f"Spark SQL computes the query {source.name!r}, and it comes behind that"
    read = next(reading.parts for reading in run.readings if reading.source == source.id)
    for part in (source.parts[index] for index in read):
        if part.unprojected_because is not None:
            return f"{part.describe()} is its source, and {part.unprojected_because}"
        if part.get_produced_type() != source.type_info:
            return f"{part.describe()} has other types than {source.name!r} declares"
    return None


def with_projections(plan: PhysicalPlan, run: RunPlan, program: LevelProgram) -> LevelProgram:
    """Return the program of level 0 without the operators that Spark SQL evaluates."""
    operators = {op.id: op for op in program.operators}
    for projection in plan.projections:
        op = operators.get(projection.operator)
        if projection.run != run.index or op is None or program.level != 0:
            continue
        source = projection.source
        copies = {key: each for key, each in program.source_copies.items() if key != source}
        if op.copies != NO_COPIES:
            copies[source] = op.copies
        if projection.timestamps is not None:
            program = replace(
                program,
                operators=tuple(_without(program, op)),
                source_types={k: each for k, each in program.source_types.items() if k != source},
                source_copies=copies,
            )
            continue
        program = replace(
            program,
            operators=tuple(each for each in program.operators if each.id != op.id),
            source_operators=program.source_operators | {source: op.chained_to},
            source_channels=program.source_channels | {source: op.channels},
            source_types={k: each for k, each in program.source_types.items() if k != source},
            source_copies=copies,
        )
    return program


def _without(program: LevelProgram, op: OperatorSpec) -> Iterator[OperatorSpec]:
    """Yield the operators without one of expressions; the one before it writes to its channels."""
    for each in program.operators:
        if each.id == op.id:
            continue
        follows = op.id in each.chained_to
        yield replace(each, chained_to=op.chained_to, channels=op.channels) if follows else each
