"""Reads the parts of sources as DataFrames of frames in batch runs, and makes records of rows in all.

`table` contains the differences between sources. Some Arrow batches have no limit of bytes: Spark fills a batch
for a worker until it has `maxRecordsPerBatch` rows or `maxBytesPerBatch` bytes, and adds up its bytes after
every row, which costs as much as reading the row from a file and sending it. A row of numbers and times has a
size that is known before, so a batch of them needs no limit of bytes.

Tasks read the limit from the session of their query, and other jobs of the user's session have frames, which are large rows. So the
query gets a session of its own: a copy of the user's, as every streaming query of Spark has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial, reduce
from typing import Any, cast

from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame
from pyspark.sql import types as sql

from penstock.connectors.files.lines.decoder import LineDecoder
from penstock.connectors.spark_source import by_position
from penstock.errors import SourceError
from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.expressions.paned import by_pane, by_piece
from penstock.graph.log_source import LogSource
from penstock.graph.logical import LogicalGraph
from penstock.graph.query_source import QuerySource
from penstock.graph.source import Source
from penstock.plan.phases.pipelines import TaskGroup, task_groups, tasks_reading
from penstock.plan.physical import PlannedFirstRows, PlannedProjection
from penstock.program.timestamps import ColumnTimestamps
from penstock.program.windows import RegularWindows
from penstock.runtime.task.chain import operators_behind
from penstock.spark.expressions.aggregates import finished, finished_windows, merged
from penstock.spark.expressions.first_rows import FirstOfKeys, first_of_keys
from penstock.spark.expressions.projection import has_errors, projected
from penstock.spark.expressions.queries import rows_of_query
from penstock.spark.session.job_settings import BATCH_BYTES, MAX_BATCH_BYTES
from penstock.spark.sources.line_reads import columns_of, decoder_of
from penstock.spark.sources.read_context import ReadContext
from penstock.spark.sources.split_reads import SplitRange, cut_ranges
from penstock.spark.sources.table import row_of
from penstock.spark.worker.frames import DDL
from penstock.spark.worker.level_tasks import ColumnsTask, LocalLevels, PositionsTask
from penstock.spark.worker.payload import Payload
from penstock.spark.worker.sink_task import MESSAGE_DDL, LastLevel, SinkTask
from penstock.spark.worker.worker_memory import LiveAttempt
from penstock.types.records import RowTypeInfo, TupleTypeInfo

_MAX_BATCH_RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"

_NO_LIMIT = str((1 << 31) - 1)
"""Spark compares with this number, and then it does not count."""

_BYTES: Mapping[type[sql.DataType], int] = {
    sql.BooleanType: 1,
    sql.ByteType: 1,
    sql.ShortType: 2,
    sql.IntegerType: 4,
    sql.LongType: 8,
    sql.FloatType: 4,
    sql.DoubleType: 8,
    sql.DecimalType: 16,
    sql.DateType: 4,
    sql.TimestampType: 8,
    sql.TimestampNTZType: 8,
}
"""Types whose values have one size in Arrow; all others have no greatest one."""


def has_small_batches(rows: DataFrame) -> bool:
    """Return whether a batch of so many rows as it may have is within the limit of bytes, whatever is in them."""
    most = int(str(rows.sparkSession.conf.get(_MAX_BATCH_RECORDS)))
    sizes = [_BYTES.get(type(field.dataType)) for field in rows.schema.fields]
    known = [size for size in sizes if size is not None]
    return most > 0 and len(known) == len(sizes) and most * sum(known) <= MAX_BATCH_BYTES


def without_limit(frame: DataFrame) -> DataFrame:
    """Return a DataFrame that is computed without a limit of bytes; only if all rows that workers get are small."""
    planned: Any = frame._jdf  # noqa: SLF001 - Python has no other way to a copy of a session
    jvm: Any = frame.sparkSession._jvm  # noqa: SLF001
    session = planned.sparkSession().cloneSession()
    session.conf().set(BATCH_BYTES, _NO_LIMIT)
    dataset = jvm.org.apache.spark.sql.classic.Dataset.ofRows(
        session, planned.queryExecution().analyzed()
    )
    return DataFrame(dataset, frame.sparkSession)


POSITIONS_DDL = "event STRING, source INT, split INT, first LONG, last LONG, finished BOOLEAN"
"""Rows of split sources and of the control log. `event` is one of:

range           read positions [first, last) of a split; `finished` if the split ends there
end             the source has ended
start           the run begins: call every subtask of every level
handover        the run ends: every subtask writes its state
tick            time has passed: call every subtask
next            the source goes on with its next part (loop of epochs only)
savepoint:<id>  a savepoint is requested: every subtask writes its state
"""

RANGES_DDL = f"{POSITIONS_DDL}, name STRING"
"""The same rows with the id of the split, if the source names its splits.

Rows of a loop also have `part`, the part of the source, if the run reads several.
"""


_RANGES_PER_CORE = 2
"""Ranges of logs in a batch run; more than one per core even out what they cost."""


def batch_frames(
    context: ReadContext, times: Accumulator[dict[str, int]], sinks: SinkTask | None = None
) -> DataFrame:
    """Return the frames of level 0 of a batch run, or the messages of its sinks.

    The union is in order of parts, so their tasks are numbered in that order.
    """
    read = list(_batch_rows(context, times))
    frames = reduce(DataFrame.union, [_called(context, sinks, rows, task) for rows, task in read])
    # Without sinks it makes frames, which are large rows for the next level.
    if sinks is not None and all(has_small_batches(rows) for rows, _ in read):
        return without_limit(frames)
    return frames


def _batch_rows(
    context: ReadContext, times: Accumulator[dict[str, int]]
) -> Iterator[tuple[DataFrame, ColumnsTask | PositionsTask]]:
    """Yield the rows of parts, in their order, and what makes records of them."""
    columns = Payload.of(context.program, context.workers)
    for group in _branches(context):
        (source, part), *_ = group.parts
        described = context.plan.source(source).parts[part]
        if context.plan.source(source).is_query:
            rows_of = _computed(context, source, _query_rows(context, source))
            query_rows = in_tasks(context, source, rows_of)
            yield _columns(query_rows, columns, source, described, times)
            continue
        rows = row_of(described).batch
        if rows is None:
            yield _batch_splits(context, group, times)
            continue
        frame = rows(context, source, part, described)
        if context.most_tasks is not None:
            frame = frame.coalesce(context.most_tasks)
        frame, lines = _projected(context, source, described, frame)
        frame = in_tasks(context, source, frame)
        yield _columns(frame, columns, source, described, times, lines=lines)


def _branches(context: ReadContext) -> list[TaskGroup]:
    """Return the groups that are read together, in the order of the union; the parts of a query are one group."""
    return [
        group
        for group in task_groups(context.plan, context.run)
        if not context.plan.source(group.parts[0][0]).is_query or group.parts[0][1] == 0
    ]


def fewer_rows(context: ReadContext) -> list[int | None]:
    """Return for each part of the union of a batch run the source of which Spark SQL leaves fewer rows than it reads.

    None is a part whose rows are all counted where they become records.
    """
    left = {
        projection.source
        for projection in context.plan.projections
        if projection.run == context.run.index
        and (
            projection.merged_for is not None
            or context.plan.graph.node(projection.operator).function.has_conditions
        )
    }
    left |= {rows.source for rows in context.plan.first_rows if rows.run == context.run.index}
    sources = (group.parts[0][0] for group in _branches(context))
    return [
        source if source in left or context.plan.source(source).is_query else None
        for source in sources
    ]


def _query_rows(context: ReadContext, source: int) -> DataFrame:
    """Return the rows of a query that is a source."""
    node = context.plan.graph.node(source)
    query = node.source
    assert isinstance(query, QuerySource), "the plan has query_rows it one"
    frames = []
    for part, described in enumerate(context.plan.source(source).parts):
        rows = row_of(described).batch
        assert rows is not None, "the plan has seen that it is columns"
        frame = rows(context, source, part, described)
        frames.append(columns_of(frame, described, node.origin, context.lines_read))
    query_rows = rows_of_query(query.query, frames, node.origin)
    return query_rows.toDF(*query.row_type.get_field_names())


def _called(
    context: ReadContext, sinks: SinkTask | None, rows: DataFrame, task: LastLevel
) -> DataFrame:
    """Return the output of level 0 for rows: its frames, or the messages of the sinks that take these."""
    if sinks is None:
        return rows.mapInArrow(task, DDL)
    last = task
    if context.behind is not None:
        last = LocalLevels(task, context.behind, context.program.settings.parallelism)
    return rows.mapInArrow(replace(sinks, last_level=last), MESSAGE_DDL)


def _projected(
    context: ReadContext, source: int, described: Source, frame: DataFrame
) -> tuple[DataFrame, LineDecoder | None]:
    """Return the rows of a source behind what Spark SQL evaluates, if there is anything, and the decoder of lines that are left."""
    origin = context.plan.source(source).origin
    if any(_placed(context, source)):
        rows = columns_of(frame, described, origin, context.lines_read)
        return _computed(context, source, rows), None
    total = context.field_total(source)
    if total is not None and has_errors(frame.sparkSession):  # else NULL would replace them
        parts = projected(
            columns_of(frame, described, origin, context.lines_read), total.chain, None
        )
        tasks = context.program.settings.parallelism
        return merged(parts, total.aggregate, tasks, is_ordered=context.behind is None), None
    return frame, decoder_of(described, origin, context.lines_read)


def _placed(
    context: ReadContext, source: int
) -> tuple[PlannedProjection | None, PlannedFirstRows | None]:
    """Return what Spark SQL evaluates behind a source."""
    here = (context.run.index, source)
    projection = next((e for e in context.plan.projections if (e.run, e.source) == here), None)
    return projection, next((e for e in context.plan.first_rows if (e.run, e.source) == here), None)


def _computed(context: ReadContext, source: int, frame: DataFrame) -> DataFrame:
    """Return the columns of a source behind what Spark SQL evaluates."""
    projection, first = _placed(context, source)
    if projection is not None:
        frame = _evaluated(context, projection, frame)
    return frame if first is None else _first_rows(context, first, projection, frame)


def _evaluated(context: ReadContext, planned: PlannedProjection, frame: DataFrame) -> DataFrame:
    graph, tasks = context.plan.graph, context.program.settings.parallelism
    node = graph.node(planned.operator)
    if planned.merged_for is None:
        return projected(frame, node.function, node.origin)
    chain, (aggregate, windows, gap) = node.function, _aggregate_of(graph, planned.merged_for)
    if gap is not None:
        assert planned.timestamps is not None, "sessions are of timestamps"
        chain, aggregate = by_piece(chain, aggregate, _time_of(graph, planned.timestamps), gap)
    elif planned.timestamps is not None:
        column = _time_of(graph, planned.timestamps)
        panes = None if windows is None else (windows.width, windows.offset)
        keeps = not planned.is_finished
        chain, aggregate = by_pane(chain, aggregate, column, panes, keeps_time=keeps)
    if not planned.is_finished:
        parts = projected(frame, chain, node.origin)
        ordered = context.behind is None
        return merged(parts, aggregate, tasks, session_gap_ms=gap, is_ordered=ordered)
    type_info = context.program.computed_sources[planned.source].type_info
    if windows is None:
        few = finished(frame, chain, aggregate, type_info, node.origin)
    else:
        few = finished_windows(frame, chain, aggregate, windows.width, type_info, node.origin)
    return few.coalesce(tasks)


def _first_rows(
    context: ReadContext,
    planned: PlannedFirstRows,
    projection: PlannedProjection | None,
    frame: DataFrame,
) -> DataFrame:
    graph, source = context.plan.graph, context.plan.source(planned.source)
    node = graph.node(planned.operator)
    spec, records, time, chain = node.function.spec, source.type_info, None, None
    if projection is not None:
        records = graph.node(projection.operator).function.type_info
    if planned.timestamps is not None:
        time = _time_of(graph, planned.timestamps)
    if planned.expressions is not None:
        chain = graph.node(planned.expressions).function
    assert isinstance(records, RowTypeInfo | TupleTypeInfo), "they have columns"
    first_rows = FirstOfKeys(records, chain, planned.keys, spec.order, spec.end, time)
    return first_of_keys(frame, first_rows, context.program.settings.parallelism, node.origin)


def _aggregate_of(
    graph: LogicalGraph, operator: int
) -> tuple[KeyedAggregate, RegularWindows | None, int | None]:
    """Return the merge of an operator of aggregates, and the shape of its windows or the gap of its sessions if it has some."""
    node = graph.node(operator)
    if node.window is None:
        return node.function, None, None
    return node.window.fold_function, node.window.panes, node.window.session_gap_ms


def _time_of(graph: LogicalGraph, operator: int) -> str:
    """Return the column of which an operator assigns timestamps."""
    marks = graph.node(operator).watermarking
    assert marks is not None, "it assigns timestamps"
    assert isinstance(marks.assigner, ColumnTimestamps), "it assigns timestamps of a column"
    return marks.assigner.name


def _batch_splits(
    context: ReadContext, group: TaskGroup, times: Accumulator[dict[str, int]]
) -> tuple[DataFrame, PositionsTask]:
    """Return the ranges of split sources that share tasks, and what reads them."""
    spark = context.session.sparkContext
    whole = [split_range for key in group.parts for split_range in _ranges(context, *key)]
    count = group.tasks or context.most_tasks or _RANGES_PER_CORE * spark.defaultParallelism
    ranges: list[SplitRange] = context.patiently(partial(cut_ranges, whole, count))
    rows = [split_range.row() for split_range in ranges]
    limits = (limit for limit in (group.tasks, context.most_tasks) if limit is not None)
    tasks = max(min(len(rows), *limits, len(rows)), 1)
    frame = context.session.createDataFrame(spark.parallelize(rows, tasks), RANGES_DDL)
    described = {source: context.plan.source(source).parts[part] for source, part in group.parts}
    payload = Payload.of((context.program, described, context.levels), context.workers)
    return frame, PositionsTask(payload, times)


def _ranges(context: ReadContext, source: int, part: int) -> list[SplitRange]:
    """Return the pinned splits of a part of a source."""
    splits = context.pinned.splits[source, part]
    names = context.pinned.names.get((source, part))
    described = context.plan.source(source).parts[part]
    finite = [(start, end) for start, end in splits if end is not None]
    if len(finite) < len(splits):
        raise SourceError(
            f"{described.describe()} is read in a batch run, but a split of it never ends",
            hint="Return False from is_bounded if the source is unbounded, or end its splits.",
            origin=context.plan.source(source).origin,
        )
    (reading,) = (reading for reading in context.run.readings if reading.source == source)
    finished = [not reading.is_open(part, split) for split in range(len(finite))]
    if names is None:
        return [
            SplitRange(source, split, *ends, finished[split]) for split, ends in enumerate(finite)
        ]
    log = cast("LogSource", described)
    return [
        SplitRange(
            source,
            split,
            *ends,
            finished[split],
            name=name,
            cost=partial(log.exact_cost, name) if log.is_divisible else None,
        )
        for split, (name, ends) in enumerate(zip(names, finite, strict=True))
    ]


def in_tasks(context: ReadContext, source: int, rows: DataFrame) -> DataFrame:
    """Return rows with at most as many tasks as the functions chained to a source have subtasks.

    Without such functions the number of tasks does not matter, and Spark chooses it.
    """
    tasks = tasks_reading(context.plan, source, context.run)
    chained = operators_behind(context.program, context.program.source_operators.get(source, ()))
    has_objects = any(
        spec.method is not None for spec in context.program.operators if spec.id in chained
    )
    return rows.coalesce(tasks) if tasks is not None and has_objects else rows


def _columns(
    frame: DataFrame,
    payload: Payload,
    source: int,
    described: Source,
    times: Accumulator[dict[str, int]] | None = None,
    attempt: LiveAttempt | None = None,
    lines: LineDecoder | None = None,
) -> tuple[DataFrame, ColumnsTask]:
    """Return the rows of a source, with columns named by position, and what makes records of them."""
    return by_position(frame), columns_task(
        payload, source, described, frame, times, attempt, lines
    )


def columns_task(
    payload: Payload,
    source: int,
    described: Source,
    frame: DataFrame,
    times: Accumulator[dict[str, int]] | None = None,
    attempt: LiveAttempt | None = None,
    lines: LineDecoder | None = None,
) -> ColumnsTask:
    """Return the function that makes records of the rows of a source."""
    is_value = lines is None and row_of(described).is_value(described)
    names = None if is_value or lines is not None else tuple(frame.columns)
    return ColumnsTask(payload, source, is_value, times, names, attempt, lines)
