"""From source parts to DataFrames of frames: one branch per source, batch and live side by side.

| part | batch run | live run |
|---|---|---|
| `SplitSource` | rows (split, range), records made in the worker | the same rows from the positions stream |
| `FileSource` | the pinned files | a file stream; pinned files only, or all but the pinned ones |
| `SparkSource`, batch | the DataFrame | files it was written to first |
| `SparkSource`, streaming | refused by the planner | the DataFrame |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.config.configuration import Configuration
from penstock.config.options import MAX_FILES_PER_BATCH, MAX_RECORDS_PER_BATCH
from penstock.connectors.column_positions import by_position
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.spark_source import SparkSource
from penstock.errors import SourceError
from penstock.graph.endpoints import Source, SplitSource
from penstock.plan.phases.backlog import catch_up_factor
from penstock.plan.phases.instances import TaskGroup, task_groups, tasks_reading
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.program.combining import ColumnCombine
from penstock.program.level import LevelProgram
from penstock.runtime.task.chain import operators_behind
from penstock.spark.failures.translation import translate
from penstock.spark.sources.combined_columns import CombinedColumnsTask, combined
from penstock.spark.sources.file_options import reader_options
from penstock.spark.sources.file_paths import (
    base_path,
    depths_of,
    escaped,
    is_literal,
    is_not_deeper,
    load_path,
    may_contain,
    metadata_path,
    stream_path,
)
from penstock.spark.sources.pinned_files import PinnedFiles, declared_schema, reader
from penstock.spark.sources.position_rows import POSITIONS_DDL
from penstock.spark.worker.frames import DDL
from penstock.spark.worker.level_zero_tasks import ColumnsTask, PositionsTask
from penstock.spark.worker.payload import Payload
from penstock.spark.worker.worker_environment import WorkerEnvironment
from penstock.spark.worker.worker_memory import LiveAttempt
from penstock.wire.fence import Fence

SOURCE_OPTION = "penstock.source"


@dataclass(frozen=True, slots=True)
class Pinned:
    """What a run reads, decided before it reads.

    Attributes:
        files: (source id, part index) to pinned files.
        splits: (source id, part index) to split ranges.
    """

    files: dict[tuple[int, int], PinnedFiles] = field(default_factory=dict)
    splits: dict[tuple[int, int], list[tuple[int, int | None]]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, recorded: dict[str, Any]) -> Pinned:
        """Return what the step `pinned` of a run recorded."""
        return cls(
            files={_key(k): PinnedFiles.from_json(v) for k, v in recorded["files"].items()},
            splits={
                _key(k): [(start, end) for start, end in v] for k, v in recorded["splits"].items()
            },
        )

    def open_splits(self) -> dict[int, int]:
        """Return source id to the number of its splits with something left to read."""
        return {
            source: sum(start != end for start, end in splits)
            for (source, _), splits in self.splits.items()
        }


@dataclass(frozen=True, slots=True)
class ReadContext:
    """Everything reading needs.

    Attributes:
        session: Spark.
        plan: The job.
        run: The run.
        program: Of level 0.
        levels: Number of levels, level 0 included.
        pinned: What this run reads.
        earlier: What was read of files before this run, by (source id, part index).
        read_frames: Sources whose batch DataFrame was read before this job began.
        directory: Of the run, for what must be written down.
        configuration: Of the job.
        files_per_batch: Files that a micro-batch takes of a source, where it is not the usual.
        as_trees: Sources whose files are listed as a tree; see `planned_files`.
        first_records: Records that the first micro-batch of the run takes of each source that
            counts them; 0 is as many as any other.
        workers: What the job brings along beside its program, None if nothing.
        combines_columns: Columns may be combined before records are made of them (batch run).
        attempt: Of a live run; None in a batch run.
        fence: Of the driver; Spark's JVM asks it before every micro-batch. None lets it go on.
    """

    session: SparkSession
    plan: PhysicalPlan
    run: RunPlan
    program: LevelProgram
    levels: int
    pinned: Pinned
    earlier: dict[tuple[int, int], PinnedFiles]
    directory: Path
    configuration: Configuration
    read_frames: frozenset[int] = frozenset()
    files_per_batch: Mapping[int, int] = field(default_factory=dict)
    as_trees: frozenset[int] = frozenset()
    first_records: int = 0
    workers: WorkerEnvironment | None = None
    combines_columns: bool = False
    attempt: LiveAttempt | None = None
    fence: Fence | None = None

    def column_combine(self, source: int) -> ColumnCombine | None:
        """Return how columns of a source are combined before records are made of them."""
        if not self.combines_columns or source in self.program.source_types:
            return None
        specs = [spec.combine for spec in self.program.outputs if spec.combine is not None]
        return next((how for spec in specs for at, how in spec.columns if at == source), None)

    def parts(self) -> list[tuple[int, int, Source]]:
        """Return (source id, part index, part) in order of reading."""
        return [
            (reading.source, part, self.plan.source(reading.source).parts[part])
            for reading in self.run.readings
            for part in reading.parts
        ]


def batch_frames(context: ReadContext, times: Accumulator[dict[str, int]]) -> DataFrame:
    """Return the frames of level 0 of a batch run.

    Branches are united in order of parts, so their tasks are numbered in that order.

    Args:
        context: What reading needs.
        times: Where tasks tell their times.
    """
    columns = Payload.of(context.program, context.workers)
    branches = []
    for group in task_groups(context.plan, context.run):
        (source, part), *_ = group.parts
        described = context.plan.source(source).parts[part]
        if isinstance(described, SplitSource):
            branches.append(_batch_splits(context, group, times))
            continue
        frame = _batch_rows(context, source, part, described)
        how = context.column_combine(source)
        few = None if how is None else combined(frame, how, context.program.settings.parallelism)
        if few is not None:
            task = CombinedColumnsTask(columns, source, unwrap=False, times=times, columns=how)
            branches.append(few.mapInArrow(task, DDL))
            continue
        branches.append(
            _columns(_in_tasks(context, source, frame), columns, source, described, times)
        )
    return reduce(DataFrame.union, branches)


def _batch_splits(
    context: ReadContext, group: TaskGroup, times: Accumulator[dict[str, int]]
) -> DataFrame:
    """Return the frames of split sources that are read in the same tasks."""
    rows = [
        ("range", source, split, start, end, True)
        for source, part in group.parts
        for split, (start, end) in enumerate(context.pinned.splits[source, part])
    ]
    tasks = max(min(len(rows), group.tasks or len(rows)), 1)
    frame = context.session.createDataFrame(
        context.session.sparkContext.parallelize(rows, tasks), POSITIONS_DDL
    )
    described = {source: context.plan.source(source).parts[part] for source, part in group.parts}
    payload = Payload.of((context.program, described, context.levels), context.workers)
    made: DataFrame = frame.mapInArrow(PositionsTask(payload, times), DDL)
    return made


def _in_tasks(context: ReadContext, source: int, rows: DataFrame) -> DataFrame:
    """Return rows in no more tasks than the functions that are chained to a source have.

    Where there are none, nobody can tell, and Spark may read in as many tasks as it likes.
    """
    tasks = tasks_reading(context.plan, source)
    chained = operators_behind(context.program, context.program.source_operators.get(source, ()))
    has_objects = any(
        spec.method is not None for spec in context.program.operators if spec.id in chained
    )
    return rows.coalesce(tasks) if tasks is not None and has_objects else rows


def live_frames(context: ReadContext) -> DataFrame:
    """Return the frames of level 0 of a live run; the positions stream is always the first."""
    split_parts: dict[int, Any] = {}
    described_splits = []
    branches = []
    columns = Payload.of(context.program, context.workers)
    ending = {reading.source for reading in context.run.readings if reading.ends}
    for source, part, described in context.parts():
        if isinstance(described, SplitSource):
            split_parts[source] = described
            described_splits.append(
                {
                    "source": source,
                    "splits": context.pinned.splits[source, part],
                    "rate": described.records_per_second,
                    "ends": source in ending,
                    "tasks": tasks_reading(context.plan, source),
                }
            )
        else:
            frame = _in_tasks(context, source, _live_rows(context, source, part, described))
            branches.append(_columns(frame, columns, source, described, attempt=context.attempt))
    positions = (
        context.session.readStream.format("penstock-positions")
        .option("control", str(context.directory / "control"))
        .option("sources", json.dumps(described_splits))
        .option("max_records", str(context.configuration.get(MAX_RECORDS_PER_BATCH)))
        .option(
            "catch_up_factor", str(catch_up_factor(context.configuration, MAX_RECORDS_PER_BATCH))
        )
        .option("first_records", str(context.first_records))
    )
    if context.fence is not None:
        positions = positions.option("fence", context.fence.to_text())
    payload = Payload.of((context.program, split_parts, context.levels), context.workers)
    first = positions.load().mapInArrow(PositionsTask(payload, attempt=context.attempt), DDL)
    return reduce(DataFrame.union, branches, first)


def _columns(
    frame: DataFrame,
    payload: Payload,
    source: int,
    described: Source,
    times: Accumulator[dict[str, int]] | None = None,
    attempt: LiveAttempt | None = None,
) -> DataFrame:
    names = None if _is_text(described) else tuple(frame.columns)
    task = ColumnsTask(payload, source, names is None, times, names, attempt)
    return by_position(frame).mapInArrow(task, DDL)  # type: ignore[no-any-return]


def _is_text(part: Source) -> bool:
    return isinstance(part, FileSource) and part.format == "text"


def _batch_rows(context: ReadContext, source: int, part: int, described: Source) -> DataFrame:
    if isinstance(described, SparkSource):
        frame: DataFrame = described.dataframe
        return frame
    if not isinstance(described, FileSource):
        raise _unknown(described)
    pinned = context.pinned.files[source, part]
    schema = StructType.fromJson(json.loads(pinned.schema))
    if not pinned.files:
        return context.session.createDataFrame([], schema)
    options = base_path(described.path) | reader_options(described)
    made = context.session.read.format(described.format).options(**options)
    return made.schema(schema).load([load_path(uri) for uri in sorted(pinned.files)])


def _live_rows(context: ReadContext, source: int, part: int, described: Source) -> DataFrame:
    if isinstance(described, SparkSource):
        frame: DataFrame = described.dataframe
        return frame if frame.isStreaming else _materialised(context, source, frame)
    if not isinstance(described, FileSource):
        raise _unknown(described)
    schema = row_schema(context, source, part, described)
    base = base_path(described.path) if is_literal(described.path) else {}
    stream = (
        context.session.readStream.format(described.format)
        .options(**base | reader_options(described) | _stream_options(context, source))
        .option("maxFilesPerTrigger", str(_files_per_batch(context, source)))
        .schema(schema)
        .load(stream_path(described.path))
    )
    # Of Spark, also if the files have a column of this name.
    path = stream.metadataColumn("_metadata").getField("file_path")
    if source in context.as_trees:
        deepest = max(depths_of(described.path)) + 1
        stream = stream.where(is_not_deeper(path, deepest))
    if described.is_bounded:
        only = [metadata_path(uri) for uri in sorted(context.pinned.files[source, part].files)]
        return stream.where(path.isin(only))
    earlier = [pinned for (owner, _), pinned in context.earlier.items() if owner == source]
    inside = [uri for each in earlier for uri in each.files if may_contain(described.path, uri)]
    if not inside:
        return stream
    read_already = [metadata_path(uri) for uri in inside]
    return stream.where(~path.isin(read_already))


def _files_per_batch(context: ReadContext, source: int) -> int:
    usual: int = context.configuration.get(MAX_FILES_PER_BATCH)
    return context.files_per_batch.get(source, usual)


def _stream_options(context: ReadContext, source: int) -> dict[str, str]:
    """Return the options of every file stream of ours.

    Spark carries options it does not know along: `SOURCE_OPTION` tells of whom a stream is.
    """
    tree = {"recursiveFileLookup": "true"} if source in context.as_trees else {}
    # Spark would silently skip a file that is a week older than the newest one.
    return {"maxFileAge": "36500d", SOURCE_OPTION: str(source)} | tree


def read_by(context: ReadContext, source: int, part: int, described: FileSource, uri: str) -> bool:
    """Return whether a part of a source reads a file."""
    if described.is_bounded:
        return uri in context.pinned.files[source, part].files
    return may_contain(described.path, uri)


def row_schema(context: ReadContext, source: int, part: int, described: FileSource) -> StructType:
    """Return the declared schema, that of the pinned files, or that of an earlier part.

    Raises:
        SourceError: None is known.
    """
    declared = declared_schema(described)
    if declared is not None:
        return declared
    known = context.pinned.files | context.earlier
    for number in range(part, -1, -1):
        if (source, number) in known and known[source, number].schema:
            return StructType.fromJson(json.loads(known[source, number].schema))
    try:
        inferred: StructType = (
            reader(context.session, described).load(stream_path(described.path)).schema
        )
    except Exception as cause:
        raise SourceError(
            f"the columns of {described.describe()} are unknown: "
            f"{translate(cause, 'inferring them').problem}",
            hint="Declare type_info, because there is no file yet to infer it from.",
            origin=context.plan.source(source).origin,
        ) from cause
    return inferred


def _materialised(context: ReadContext, source: int, frame: DataFrame) -> DataFrame:
    """Write a batch DataFrame once and stream the files."""
    target = context.directory / f"dataframe-{source}"
    if source in context.read_frames:
        frame = frame.limit(0)
    names, written = frame.columns, by_position(frame)
    if not (target / "_SUCCESS").exists():
        written.write.mode("overwrite").parquet(str(target))
        schema = written.schema
    else:
        schema = context.session.read.parquet(escaped(target)).schema  # 0.1.0 kept the names
    stream = context.session.readStream.schema(schema)
    limit = str(context.configuration.get(MAX_FILES_PER_BATCH))
    options = _stream_options(context, source) | {"maxFilesPerTrigger": limit}
    return stream.options(**options).parquet(escaped(target)).toDF(*names)


def _unknown(part: Source) -> SourceError:
    return SourceError(
        f"{type(part).__name__} is neither a SplitSource, a FileSource nor a SparkSource",
        hint="Derive your source from SplitSource, or wrap a DataFrame in SparkSource.",
    )


def _key(name: str) -> tuple[int, int]:
    source, part = name.split(".")
    return int(source), int(part)
