"""Runs a whole job in this process, with the classes that run on Spark."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.api.environment.environment import StreamExecutionEnvironment
from penstock.api.streams.data_stream import DataStream
from penstock.config.configuration import job_parameters
from penstock.connectors.cache import ResultSink, with_stored_result
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.plan.phases.backlog import decide_cuts, snapshot_parts, with_cuts, with_snapshot
from penstock.plan.physical import HandOver, PhysicalPlan, RunPlan
from penstock.plan.planner import plan_job
from penstock.plan.programs import programs_of
from penstock.program.channel import SINK_LEVEL
from penstock.program.level import LevelProgram
from penstock.program.run_settings import RunKind
from penstock.testing.batch_run import run_batch
from penstock.testing.live_run import LiveInput, run_live
from penstock.testing.logs import Piece, splits_of, with_sources_made
from penstock.testing.results import InProcessSinkStage, Results
from penstock.testing.schedule import Schedule


def run_in_process(
    program: StreamExecutionEnvironment | PhysicalPlan,
    schedule: Schedule | None = None,
    *,
    parameters: Mapping[str, str] | None = None,
) -> Results:
    """Run a program in this process and return what its sinks received.

    Operators, frames, change logs and hand-overs are those of a run on Spark; subtasks run one after the
    other. Sinks write no output: the records of every sink are captured.

    Args:
        program: An environment whose streams were built but not executed, or its plan. Both
            can be run again.
        schedule: Division of the input into micro-batches, and failures to inject. None is
            large micro-batches without failures.
        parameters: Global job parameters of a plan; an environment has its own.

    Returns:
        The records of every sink, in order of commit, and counts over the whole run.

    Raises:
        SourceError: A source cannot be read in process: only those that number their records
            can (collections, sequences, generators).
        PenstockError: The program is wrong, or a user function failed.

    Example:
        >>> sink = numbers.map(lambda n: n * 10).sink_to(DiscardingSink()).name("tens")
        >>> run_in_process(env, Schedule(batch_sizes=(2,))).of("tens")
        [10, 20, 30, 40]
    """
    schedule = schedule or Schedule()
    if isinstance(program, StreamExecutionEnvironment):
        parameters = job_parameters(program.get_configuration())
        program = program.plan()
    with ExitStack() as files:
        program = _with_snapshots(with_cuts(program, decide_cuts(program)), files)
        program = with_sources_made(program)
        return _Job(program, schedule, dict(parameters or {})).run()


def collect(stream: DataStream[Any], schedule: Schedule | None = None) -> list[Any]:
    """Run the operators that lead to a stream in this process, and return the stream's records.

    The program does not change: its sinks do not run, and no sink is added.

    Args:
        stream: A stream of a program whose sources `run_in_process` can read.
        schedule: See `run_in_process`.

    Returns:
        The records in order of commit. With one subtask and the same schedule the order is the
        same in every run; with more, records of different subtasks have no order.

    Raises:
        SourceError: A source cannot be read in process.
        PenstockError: The program is wrong, or a user function failed.

    Example:
        >>> collect(numbers.map(lambda n: n * 10))
        [10, 20, 30, 40]
    """
    environment = stream.get_execution_environment()
    graph, settings = environment.graph, environment.get_configuration()
    sink = stream.sink_to(DiscardingSink()).node_id
    try:
        plan = plan_job(graph.logical_graph(sink), settings)
    finally:
        graph.remove(sink)
    return run_in_process(plan, schedule, parameters=job_parameters(settings)).of(0)


class _Job:
    """One execution of a plan."""

    def __init__(self, plan: PhysicalPlan, schedule: Schedule, parameters: dict[str, str]) -> None:
        self._plan = plan
        self._schedule = schedule
        self._parameters = parameters
        self._sinks = {
            channel.id: channel.target_operator
            for channel in plan.channels
            if channel.target_level == SINK_LEVEL
        }
        self._results = Results(
            names=tuple(sink.name for sink in plan.sinks), records=tuple([] for _ in plan.sinks)
        )
        self._handed = HandOver()
        self._state: list[bytes] = []

    def run(self) -> Results:
        # Pipelines share nothing, so one after the other gives the answers of all at the same time.
        for run in self._plan.runs:
            if run == self._plan.runs_of(run.pipeline)[0]:
                self._handed, self._state = HandOver(), []
            stage = InProcessSinkStage(
                self._results, self._sinks, [sink.uid for sink in self._plan.sinks]
            )
            self._run_one(run, stage)
            if run.hands_over:
                self._handed = HandOver(stage.report.watermarks, stage.report.memory)
                self._state = stage.state
            self._plan = self._with_results()
        return _without_stored_results(self._plan, self._results)

    def _with_results(self) -> PhysicalPlan:
        """Return the plan with what sinks of results hold by now."""
        held = {
            sink.sink.result: tuple(self._results.records[sink.index])
            for sink in self._plan.sinks
            if isinstance(sink.sink, ResultSink)
        }
        return self._plan.with_parts(
            lambda part: with_stored_result(
                part, lambda read: replace(read, values=held[read.result])
            )
        )

    def _run_one(self, run: RunPlan, stage: InProcessSinkStage) -> None:
        pieces = list(splits_of(self._plan, run))
        programs = self._programs(run, _splits_of_logs(self._plan, run, pieces))
        if run.kind is RunKind.BATCH:
            run_batch(self._plan, run, programs, self._schedule, stage, pieces)
            return
        self._results.micro_batches = run_live(
            run,
            programs,
            LiveInput(self._plan, run, pieces, self._schedule),
            self._schedule,
            stage,
            state=self._state,
            first_batch=self._results.micro_batches,
        )

    def _programs(
        self, run: RunPlan, splits: Mapping[tuple[int, int], int]
    ) -> tuple[LevelProgram, ...]:
        return programs_of(
            self._plan,
            run,
            tasks=self._schedule.tasks or self._plan.options.parallelism,
            max_frame_records=self._schedule.frame_records,
            handed=self._handed,
            job_parameters=self._parameters,
            open_splits=splits,
        )


def _with_snapshots(plan: PhysicalPlan, files: ExitStack) -> PhysicalPlan:
    """Return the plan with the snapshots of its logs, which are taken now."""
    for source, part in snapshot_parts(plan).items():
        directory = files.enter_context(tempfile.TemporaryDirectory(prefix="penstock-"))
        plan = with_snapshot(plan, source, part.capture(Path(directory)))
    return plan


def _splits_of_logs(
    plan: PhysicalPlan, run: RunPlan, pieces: Sequence[Piece]
) -> dict[tuple[int, int], int]:
    """Return (source id, part) to the number of splits of each part, of sources that look splits up."""
    counts = Counter((piece.source_id, piece.part_number) for piece in pieces)
    split_counts: dict[tuple[int, int], int] = {}
    for reading in run.readings:
        parts = [plan.source(reading.source).parts[part].as_split for part in reading.parts]
        if any(part is not None and part.is_log for part in parts):
            split_counts |= {
                (reading.source, part): counts[reading.source, part] for part in reading.parts
            }
    return split_counts


def _without_stored_results(plan: PhysicalPlan, results: Results) -> Results:
    """Return the results without those stored for the job itself; its sinks are the last ones."""
    own = sum(not isinstance(sink.sink, ResultSink) for sink in plan.sinks)
    return replace(
        results,
        names=results.names[:own],
        records=results.records[:own],
        commits=[counts[:own] for counts in results.commits],
    )
