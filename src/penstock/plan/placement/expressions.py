"""Phase: decides where expressions of columns are evaluated, run by run. After `choose_folds`.

    columns ──▶ Spark SQL: where, select ──▶ records of what is left ──▶ the plan without the operator
    records ──▶ worker: Arrow kernels ──▶ records

Spark SQL evaluates an operator of expressions in a batch run if only this operator reads the
source, and the source is columns of the declared types. Python then never sees the other columns and records.
Everywhere else a worker evaluates it, with the same answer; tests force both. Rows of a whole query (`place_queries`) are columns, too.

    columns ──▶ Spark SQL: parts, merged by key ──▶ the plan without the operator
    columns ──▶ Spark SQL: parts, merged by key, results ──▶ sinks

If it selects parts of aggregates, Spark SQL merges them by key, of windows by key and pane or session, and no operator merges them again.
If their state is not read after the run either, and the results go to sinks only, Spark SQL makes these too: the exchange by key group and its level have no work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.expressions.kinds import FLOATS
from penstock.expressions.steps import ExpressionChain
from penstock.graph.query_source import QuerySource
from penstock.plan.phases.edges import region_of
from penstock.plan.physical import (
    Decision,
    LevelPlan,
    PhysicalPlan,
    PlannedProjection,
    RunPlan,
    SourcePlan,
)
from penstock.plan.placement.legality import not_columns, other_values
from penstock.program.channel import SINK_LEVEL, ChannelSpec, StreamPartitioner
from penstock.program.fold import Place
from penstock.program.level import NO_COPIES, ComputedSource, LevelProgram, OperatorSpec
from penstock.program.operator_fold import function_of
from penstock.program.operators import (
    EXPRESSIONS,
    KEYED_AGGREGATE,
    KEYED_WINDOW,
    TIMESTAMPS,
)
from penstock.program.run_settings import RunKind
from penstock.program.timestamps import ColumnTimestamps

_SQL = "one projection of Spark SQL"
_MERGED = "one projection of Spark SQL, merged by key"
_PANED = "one projection of Spark SQL, merged by key and pane"
_OF_SESSIONS = "one projection of Spark SQL, merged by key and session"
_RESULTS = ", with the results"
_WORKER = "Arrow kernels in the worker"


def place_expressions(plan: PhysicalPlan) -> PhysicalPlan:
    """Choose the place of every operator of expressions in every run."""
    projections: list[PlannedProjection] = []
    decisions = list(plan.decisions)
    for run in plan.runs:
        for op in _expressions(region_of(plan, run).levels):
            timestamps = timestamps_before(plan, op)
            source, reason = source_of(plan, op if timestamps is None else timestamps)
            if source is not None:
                reason = refused(plan, run, source) or _other_values(plan, source, op.function)
            subject = f"{op.name!r} in run {run.index} ({run.name})"
            merged_for = merging_operator(plan, run, op, is_timed=timestamps is not None)
            if reason is None and timestamps is not None and merged_for is None:
                reason = f"{timestamps.name!r} comes before it"
            if source is not None and reason is None:
                assigns = None if timestamps is None else timestamps.id
                is_last = merged_for is not None and _is_finished(plan, run, source, merged_for)
                if assigns is not None and (
                    op.function.has_conditions or is_rolling(plan, merged_for)
                ):
                    is_last = False  # a result lacks times of the records, and those are checked
                projection = PlannedProjection(
                    run.index, source.id, op.id, merged_for, assigns, is_finished=is_last
                )
                projections.append(projection)
                why = f"it directly follows {source.name!r}, whose rows are columns"
                decisions.append(Decision(subject, _choice(plan, projection), why))
            else:
                decisions.append(Decision(subject, _WORKER, reason or ""))
    return replace(plan, projections=tuple(projections), decisions=tuple(decisions))


def timestamps_before(plan: PhysicalPlan, op: OperatorSpec) -> OperatorSpec | None:
    """Return the operator before `op` that assigns timestamps of a column, if it feeds nothing else and is all there is."""
    before = [
        operator
        for level in plan.levels
        for operator in level.operators
        if op.id in operator.fed_operators
    ]
    if len(before) != 1:
        return None
    (operator,) = before
    is_only = (operator.chained_to, operator.channels) == ((op.id,), ())
    return operator if is_only and assigns_column(operator) else None


def assigns_column(op: OperatorSpec) -> bool:
    """Return whether an operator assigns timestamps of a column, and does nothing else."""
    strategy = op.timestamps
    if (
        op.kind != TIMESTAMPS
        or strategy is None
        or not isinstance(strategy.assigner, ColumnTimestamps)
    ):
        return False
    return strategy.make_generator is None and strategy.idle_ms is None


def merging_operator(
    plan: PhysicalPlan, run: RunPlan, op: OperatorSpec, *, is_timed: bool = False
) -> int | None:
    """Return the operator of aggregates whose parts Spark SQL may merge, if `op` selects them.

    Behind timestamps, records are merged by key and pane or session, or by key if it has no windows.

    That is legal where the sender may merge them, because it is the same merge of the same rows, and if Spark SQL has the same
    keys and sums: equality of floats as keys differs, and it adds decimals with a digit less.
    """
    if op.chained_to or op.side_outputs or len(op.channels) != 1:
        return None
    (channel,) = (channel_ for channel_ in plan.channels if channel_.id == op.channels[0])
    if channel.target_level == SINK_LEVEL or channel.partitioner is not StreamPartitioner.HASH:
        return None
    target = channel.target_operator
    reader = _operator(plan, target)
    if reader.kind not in ((KEYED_WINDOW, KEYED_AGGREGATE) if is_timed else (KEYED_AGGREGATE,)):
        return None
    window = reader.window
    if window is not None and window.panes is None and window.session_gap_ms is None:
        return None
    aggregate = function_of(reader)
    if not isinstance(aggregate, KeyedAggregate) or not aggregate.is_merged_alike_by_sql:
        return None
    folds = (fold for fold in plan.folds if (fold.run, fold.operator) == (run.index, target))
    return target if any(Place.SENDER in fold.plan.places for fold in folds) else None


def computes_in_spark(plan: PhysicalPlan) -> bool:
    """Return whether Spark itself computes with records: a batch run reads files or a DataFrame."""
    return any(
        plan.source(reading.source).parts[part].as_split is None
        for run in plan.runs
        if run.kind is RunKind.BATCH
        for reading in run.readings
        for part in reading.parts
    )


def is_rolling(plan: PhysicalPlan, merged_for: int | None) -> bool:
    """Return whether the operator for which Spark SQL merges has no windows."""
    return merged_for is not None and _operator(plan, merged_for).kind == KEYED_AGGREGATE


def _choice(plan: PhysicalPlan, projection: PlannedProjection) -> str:
    if projection.merged_for is None:
        return _SQL
    window = _operator(plan, projection.merged_for).window
    merged = _MERGED if window is None else _PANED if window.panes else _OF_SESSIONS
    return merged + _RESULTS if projection.is_finished else merged


def _is_finished(plan: PhysicalPlan, run: RunPlan, source: SourcePlan, target: int) -> bool:
    """Return whether Spark SQL may make the results of an operator of aggregates whose parts it merges.

    That is legal if it merges all parts of a key, the state is not read after the run, and the results go to sinks only. Keys
    of floats stay with workers, which refuse NaN as a key.
    """
    reader = _operator(plan, target)
    if run.hands_over or not _is_complete(plan, run, source.id, target):
        return False
    if reader.chained_to or reader.side_outputs:
        return False
    if any(c.target_level != SINK_LEVEL for c in plan.channels if c.id in reader.channels):
        return False
    aggregate, window = function_of(reader), reader.window
    assert isinstance(aggregate, KeyedAggregate), "its parts are merged"
    if window is not None and not (window.panes and window.panes.is_tumbling):
        return False  # a window of several panes has still to be merged
    keys = aggregate.parts.field_types[: aggregate.keys]
    has_floats = any(getattr(kind, "name", "") in FLOATS for kind in keys)
    return not has_floats and aggregate.results.unprojected_because is None


def _is_complete(plan: PhysicalPlan, run: RunPlan, source: int, target: int) -> bool:
    """Return whether the merge of a source by Spark SQL is that of all records that an operator reads."""
    reading = next(reading_ for reading_ in run.readings if reading_.source == source)
    feeding = [
        c for c in plan.channels if c.target_operator == target and c.target_level != SINK_LEVEL
    ]
    is_one = len(reading.parts) == 1 or plan.source(source).is_query
    return is_one and len(feeding) == 1


def _operator(plan: PhysicalPlan, number: int) -> OperatorSpec:
    return next(
        operator for level in plan.levels for operator in level.operators if operator.id == number
    )


def _expressions(levels: tuple[LevelPlan, ...]) -> Iterator[OperatorSpec]:
    for level in levels:
        for op in level.operators:
            if op.kind == EXPRESSIONS:
                yield op


def source_of(plan: PhysicalPlan, op: OperatorSpec) -> tuple[SourcePlan | None, str | None]:
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


def refused(plan: PhysicalPlan, run: RunPlan, source: SourcePlan) -> str | None:
    """Return the reason against Spark SQL for a source in a run, None if it may compute with its rows."""
    if run.kind is not RunKind.BATCH:
        return "the run is live"
    if not plan.options.projects:
        return "execution.batch.expressions is false"
    if source.is_query:
        return None
    read = next(reading.parts for reading in run.readings if reading.source == source.id)
    parts = (source.parts[index] for index in read)
    reasons = (not_columns(part, source.type_info, source.name) for part in parts)
    return next(filter(None, reasons), None)


def _other_values(plan: PhysicalPlan, source: SourcePlan, chain: ExpressionChain) -> str | None:
    read = plan.graph.node(source.id).source
    return other_values(chain, read.query if isinstance(read, QuerySource) else None)


def with_projections(
    plan: PhysicalPlan, run: RunPlan, programs: tuple[LevelProgram, ...]
) -> tuple[LevelProgram, ...]:
    """Return the programs of a run without the operators that Spark SQL evaluates, and without levels that have no others."""
    for projection in plan.projections:
        first, *later = programs
        op = next(
            (operator for operator in first.operators if operator.id == projection.operator), None
        )
        if projection.run != run.index or op is None:
            continue
        programs = (_projected(first, projection, op), *later)
        target = projection.merged_for
        if projection.is_finished:
            programs = _finished(plan, programs, projection, op.channels)
        elif target is not None and _is_complete(plan, run, projection.source, target):
            programs = tuple(_merged(program, target, op.channels) for program in programs)
            if projection.timestamps is None and _is_local(programs, target, op.channels):
                programs = (programs[0], replace(programs[1], is_local=True))
    return programs


def _is_local(programs: tuple[LevelProgram, ...], reader: int, between: tuple[int, ...]) -> bool:
    """Return whether the level of an operator of aggregates has nothing else, and feeds sinks only."""
    if len(programs) != 2:  # noqa: PLR2004 - level 0 and its own
        return False
    later = programs[1]
    if [operator.id for operator in later.operators] != [reader]:
        return False
    (op,) = later.operators
    has_more = op.chained_to or op.side_outputs or later.local_channels
    reads, writes = {channel.id for channel in later.inputs}, later.outputs
    return (
        not has_more
        and reads == {*between}
        and all(channel.target_level == SINK_LEVEL for channel in writes)
    )


def _merged(program: LevelProgram, reader: int, between: tuple[int, ...]) -> LevelProgram:
    """Return a program whose operator of aggregates, and the channel to it, get every key once."""

    def channel(spec: ChannelSpec) -> ChannelSpec:
        if spec.id not in between or spec.fold is None:
            return spec
        return replace(spec, fold=replace(spec.fold, is_merged=True))

    def operator(spec: OperatorSpec) -> OperatorSpec:
        if spec.id != reader or spec.folding is None:
            return spec
        return replace(spec, folding=replace(spec.folding, is_merged=True))

    return replace(
        program,
        operators=tuple(map(operator, program.operators)),
        inputs=tuple(map(channel, program.inputs)),
        outputs=tuple(map(channel, program.outputs)),
    )


def _projected(
    program: LevelProgram, projection: PlannedProjection, op: OperatorSpec
) -> LevelProgram:
    """Return the program of level 0 without an operator, whose readers get the records of the source."""
    source = projection.source
    copies = {
        key: copies_of_source
        for key, copies_of_source in program.source_copies.items()
        if key != source
    }
    if op.copies != NO_COPIES:
        copies[source] = op.copies
    types = {
        key: type_of_source for key, type_of_source in program.source_types.items() if key != source
    }
    if projection.timestamps is not None:
        return replace(
            program,
            operators=tuple(_without(program, op)),
            source_types=types,
            source_copies=copies,
        )
    return replace(
        program,
        operators=tuple(operator for operator in program.operators if operator.id != op.id),
        source_operators=program.source_operators | {source: op.chained_to},
        source_channels=program.source_channels | {source: op.channels},
        source_types=types,
        source_copies=copies,
    )


def _finished(
    plan: PhysicalPlan,
    programs: tuple[LevelProgram, ...],
    projection: PlannedProjection,
    between: tuple[int, ...],
) -> tuple[LevelProgram, ...]:
    """Return programs in which the source feeds the sinks of an operator of aggregates."""
    assert projection.merged_for is not None, "results are of merged parts"
    reader = _operator(plan, projection.merged_for)
    to_sinks = tuple(replace(c, source_level=0) for c in plan.channels if c.id in reader.channels)
    first, *later = (_without_reader(program, reader, between) for program in programs)
    source = projection.source
    assigns = next(
        (operator for operator in first.operators if operator.id == projection.timestamps), None
    )
    operators = tuple(operator for operator in first.operators if operator is not assigns)
    assert reader.copies == NO_COPIES, "no operator keeps results of Spark SQL"
    copies = {key: value for key, value in first.source_copies.items() if key != source}
    first = replace(
        first,
        operators=operators,
        source_operators=first.source_operators | {source: ()},
        source_channels=first.source_channels | {source: reader.channels},
        outputs=(*first.outputs, *to_sinks),
        source_copies=copies,
        computed_sources=first.computed_sources
        | {source: ComputedSource(function_of(reader).results.type_info, assigns)},
    )
    while later and not later[-1].operators:
        later.pop()
    return (first, *later)


def _without_reader(
    program: LevelProgram, reader: OperatorSpec, between: tuple[int, ...]
) -> LevelProgram:
    gone = {*between, *reader.channels}
    return replace(
        program,
        operators=tuple(operator for operator in program.operators if operator.id != reader.id),
        inputs=tuple(channel for channel in program.inputs if channel.id not in gone),
        outputs=tuple(channel for channel in program.outputs if channel.id not in gone),
        watermark_groups={
            k: group for k, group in program.watermark_groups.items() if k not in gone
        },
    )


def _without(program: LevelProgram, op: OperatorSpec) -> Iterator[OperatorSpec]:
    """Yield the operators without one of expressions; the one before it writes to its channels."""
    for operator in program.operators:
        if operator.id == op.id:
            continue
        follows = op.id in operator.chained_to
        yield (
            replace(operator, chained_to=op.chained_to, channels=op.channels)
            if follows
            else operator
        )
