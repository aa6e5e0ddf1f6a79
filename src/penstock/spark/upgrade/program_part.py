"""Brings a part of a program to stored positions, in a job of its own.

    PLACE/job/          the job: a batch run from the beginning, or live runs from the savepoint of the part
    PLACE/savepoint/    the part at the positions: state of all its operators, watermarks, positions

A part is any graph that reads sources of a program: what is new in it (`plan.compat.bootstrap`), or all of it. Its
sinks write as those of any job, and those that must not write are `DiscardingSink`s. Both steps are found or repeated by a
later driver: the first is a job with records of its own, the second is complete with its manifest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.config.configuration import Configuration
from penstock.config.options import CHECKPOINT_INTERVAL, JOB_NAME
from penstock.errors import EvolutionError
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath
from penstock.graph.logical import LogicalGraph
from penstock.observe.events.listeners import JobEvents, JobListener, Registration
from penstock.plan.compat.bootstrap import Stretch
from penstock.plan.compat.function_digest import changed_functions, source_uids
from penstock.plan.phases.backlog import known_cuts, with_cuts
from penstock.plan.physical import HandOver, HistoryChoices, PhysicalPlan, RunPlan
from penstock.plan.planner import plan_stretch
from penstock.program.run_settings import RunKind
from penstock.runtime.task.report import Report
from penstock.spark.driver.restored import Restored
from penstock.spark.job.event_log import event_log_of, job_started
from penstock.spark.job.hand_over import read_hand_over, verified_files
from penstock.spark.job.job_directory import JobDirectory, has_staged
from penstock.spark.job.observed_job import RESTORED, ObservedJob
from penstock.spark.job.outside import dropped, kept_by_sinks, opened
from penstock.spark.job.run_outline import begun_with, outline_of
from penstock.spark.job.state_layout import StateLayout, matched_watermarks
from penstock.spark.job_client import SparkJobClient
from penstock.spark.savepoints.job_savepoints import unwritable
from penstock.spark.sources.line_reads import is_read_by_lines
from penstock.spark.sources.pinned_files import PinnedFiles, declared_schema, pin_files
from penstock.spark.sources.read_context import Pinned
from penstock.spark.sources.source_row import Pinning
from penstock.spark.sources.split_reads import NAMES
from penstock.spark.sources.table import files_of, row_of
from penstock.spark.upgrade.history import NO_CHOICES, History, history_of, rest_of
from penstock.spark.upgrade.history_choice import with_tables
from penstock.state.merged_savepoint import StatePart, merge_state, merged_manifest
from penstock.state.savepoint import (
    MANIFEST,
    Savepoint,
    SourceRecord,
    prepare_directory,
    read_savepoint,
    restore_state,
    write_manifest,
)
from penstock.wire.atomic_file import PRIVATE_DIRECTORY, create_directory
from penstock.wire.fence import Fence
from penstock.wire.job_files import remove_tree

JOB = "job"
"""Directory of the job that reads, in the place of an advance."""

SAVEPOINT = "savepoint"
"""Directory of the part at the positions, in the place of an advance."""


@dataclass(frozen=True, slots=True)
class ProgramPart:
    """A part of a program that reads its sources by itself.

    Attributes:
        graph: The part. Sources and sinks have uids, which are those of the program.
        choices: Those about histories, with the uids of the program.
    """

    program: PhysicalPlan
    graph: LogicalGraph
    choices: HistoryChoices = NO_CHOICES

    @property
    def sources(self) -> tuple[str, ...]:
        """Uids of its sources."""
        return tuple(node.uid for node in self.graph.nodes if node.source and node.uid)

    def history(self, target: Savepoint, own: Savepoint | None = None) -> History:
        """Return what it reads to reach the positions of a savepoint, from its own or from the beginning."""
        if own is None:
            return history_of(self.program, target.sources, self.sources, self.choices)
        plan = self.planned(Stretch(RunKind.LIVE, {}, {}))
        return rest_of(plan, target.sources, own.sources, self.choices.empty)

    def planned(self, stretch: Stretch) -> PhysicalPlan:
        """Return the plan by which it reads some input."""
        graph = self.graph
        if stretch.kind is RunKind.BATCH:
            graph = with_tables(graph, self.program, self.choices)
        return plan_stretch(graph, self.program.options, stretch)


@dataclass(frozen=True, slots=True)
class Workplace:
    """The place and the means of one advance.

    Attributes:
        path: Its directory, which need not exist.
        fence: Called before files are removed; raises if another driver has taken over.
        listeners: Those of its job, beside the log of events.
    """

    path: JobPath
    fence: Fence
    session: SparkSession
    configuration: Configuration
    listeners: tuple[JobListener, ...] = ()


def advance(
    part: ProgramPart, start: JobPath | None, target: Savepoint, place: Workplace
) -> JobPath:
    """Bring a part of a program to the positions of a savepoint, and return the savepoint of the part there.

    The part reads from its own savepoint `start` on, with its state, in live runs that end at the positions; or, if that is
    None, from the beginning in a batch run. Only the positions of `target` are read. Its sinks commit epoch by epoch, or once for a batch run. Sources that the positions lack
    are read as in a new job in the batch run, and stay where they are later.

    The call is repeated with the same arguments after a kill or a failure: it goes on, or returns what is complete. After
    a batch run has been interrupted before its output was staged, it begins anew.
    """
    result = place.path / SAVEPOINT
    if (result / MANIFEST).exists():
        return result
    own = None if start is None else read_savepoint(start)
    history = part.history(target, own)
    if history.refused:
        lines = "\n".join(f"  source {uid}: {why}" for uid, why in sorted(history.refused.items()))
        raise EvolutionError(
            f"the input up to the position of job {target.job_name!r} cannot be read:\n{lines}",
            hint="Restore what is missing and repeat the command; or begin again in a new directory.",
        )
    kind = RunKind.BATCH if own is None else RunKind.LIVE
    plan = part.planned(Stretch(kind, history.numbers, history.open_splits))
    _Advance(plan, history, own, start, target, place).run(result)
    return result


@dataclass(frozen=True, slots=True)
class _Advance:
    """One attempt.

    Attributes:
        history: The history to read.
        own: The manifest of the savepoint of the part; None begins without state.
        start: Where that is.
        target: The positions.
    """

    plan: PhysicalPlan
    history: History
    own: Savepoint | None
    start: JobPath | None
    target: Savepoint
    place: Workplace

    def run(self, result: JobPath) -> None:
        """Run the job to its end, and write the savepoint."""
        place = self.place.path / JOB
        if self.own is None and not has_staged(place):
            remove_tree(place, self.place.fence)  # no output is visible
        self._read(place)
        failpoint("bootstrap.read")
        self._forget_marks(place)
        self._write(place, result)
        failpoint("bootstrap.advanced")

    def _read(self, place: JobPath) -> None:
        configuration = self.place.configuration
        name = f"{configuration.get(JOB_NAME)} ({self.plan.runs[0].name})"
        settings = configuration.layered(
            "evolution", {JOB_NAME.key: name, **_AT_ONCE}, is_final=True
        )
        create_directory(place.parent, PRIVATE_DIRECTORY)
        inner = JobDirectory.open(place, self.plan, name)
        own = (*event_log_of(inner), *map(Registration, self.place.listeners))
        events = JobEvents(inner.job_id, name, own=own)
        try:
            self._check_functions(inner)
            if inner.step(RESTORED) is None:
                inner.record(RESTORED, self._restored(inner).to_json())
            client = SparkJobClient(inner.plan, settings, inner, events, self.place.session)
            begun = job_started(inner.plan, settings)
        except BaseException:
            events.close()
            inner.release()
            raise
        client.start(begun)
        try:
            client.get_job_execution_result().result()
        except KeyboardInterrupt:
            client.cancel()
            raise

    def _forget_marks(self, place: JobPath) -> None:
        """Drop what the sinks of the job, which is finished, keep in other systems: only its directory has the names."""
        with opened(place, self.plan) as (inner,):
            for kept in kept_by_sinks(inner):
                inner.fence()
                dropped(kept)

    def _check_functions(self, inner: JobDirectory) -> None:
        """Refuse a program that has changed since it wrote to its sinks."""
        recorded = inner.step("functions")
        known = {} if recorded is None else recorded["operators"]
        if self.own is not None:
            known = {operator.uid: operator.digest for operator in self.own.operators} | known
        changed = changed_functions(inner.plan, known)
        if changed:
            names = ", ".join(f"{op.name} (uid {op.uid})" for op in changed)
            raise EvolutionError(
                f"the history was read by a program with another function of {names}",
                hint=f"Start the program that read it; or remove {self.place.path.parent.parent} and what new sinks "
                "have written, and begin again.",
            )

    def _restored(self, inner: JobDirectory) -> Restored:
        """Return state and input of the job; files have columns."""
        plan = inner.plan
        restored = self.history.restored(plan, f"savepoint of job {self.target.job_name!r}")
        left = {key: self._with_columns(plan, key, files) for key, files in restored.left.items()}
        layout = StateLayout.of(plan, inner.fingerprint)
        if self.own is None or self.start is None:
            return replace(restored, left=left, layout=layout)
        try:
            restore_state(self.start, self.own, inner.path / RESTORED)
        except OSError as cause:
            raise unwritable(cause) from cause
        marks = matched_watermarks(plan, self.own.watermarks)
        return replace(
            restored,
            left=left,
            layout=layout,
            handed=HandOver(marks, dict(self.own.memory)),
            state_files=tuple(file.name for file in self.own.files),
        )

    def _with_columns(
        self, plan: PhysicalPlan, key: tuple[int, int], files: PinnedFiles
    ) -> PinnedFiles:
        source = plan.source(key[0])
        described = files_of(source.parts[key[1]])
        assert described is not None, "it has files"
        if files.schema:
            return files
        declared = declared_schema(described)
        if declared is not None or is_read_by_lines(described):
            return replace(files, schema=(declared or StructType()).json())
        session = self.place.session
        return replace(files, schema=pin_files(session, described, source.origin).schema)

    def _write(self, place: JobPath, result: JobPath) -> None:
        """Write the savepoint of the part."""
        job = ObservedJob.at(place)
        first, *others = [self._part(run, job) for run in self.plan.runs]
        in_part = {*source_uids(self.plan).values()}
        there = tuple(source for source in self.target.sources if source.uid in in_part)
        known = {source.uid for source in there}
        own = () if self.own is None else self.own.sources
        stay = tuple(source for source in own if source.uid not in known)
        manifest = replace(first.manifest, sources=(*there, *stay, *first.manifest.sources))
        first = replace(first, manifest=manifest)
        remove_tree(result, self.place.fence)
        try:
            prepare_directory(result)
            files = merge_state([first, *others], result)
            failpoint("bootstrap.part-state")
            sinks = manifest.sinks or ()
            write_manifest(result, merged_manifest(first, others, manifest.operators, sinks, files))
        except OSError as cause:
            raise unwritable(cause) from cause

    def _part(self, run: RunPlan, job: ObservedJob) -> StatePart:
        """Return what a run gives to the savepoint."""
        done, pinned = job.record(f"run-{run.index}.done"), job.record(f"run-{run.index}.pinned")
        assert done is not None, "the run is complete"
        assert pinned is not None, "the run is complete"
        handed = read_hand_over(done)
        report = Report(watermarks=handed.watermarks, memory=handed.memory)
        cuts = known_cuts(job.record("cuts") or {})
        plan = with_cuts(self.plan, cuts)
        sources = self._new_sources(plan, run, Pinned.from_json(pinned))
        outline = outline_of(plan, run, "", job.name)
        manifest = outline.savepoint("", report, tuple(sources), (), drained=False)
        files = verified_files(job.path / f"run-{run.index}" / "snapshot", done["state_files"])
        operators = frozenset(op.uid for level in plan.levels for op in level.operators)
        return StatePart(manifest, tuple(files), operators)

    def _new_sources(
        self, plan: PhysicalPlan, run: RunPlan, pinned: Pinned
    ) -> Iterator[SourceRecord]:
        """Yield the positions of sources that the target lacks, behind the history that a run has read of them."""
        known = {source.uid for source in self.target.sources}
        uids = source_uids(plan)
        for reading in run.readings:
            uid = uids[reading.source]
            if uid not in known:
                yield self._new_source(plan, reading.source, uid, pinned)

    def _new_source(
        self, plan: PhysicalPlan, source: int, uid: str, pinned: Pinned
    ) -> SourceRecord:
        described = plan.source(source)
        last = len(described.parts) - 1
        read = {
            str(part): files.to_json() for (of, part), files in pinned.files.items() if of == source
        }
        began = {
            str(part): splits
            for (of, part), splits in begun_with({}, [pinned]).items()
            if of == source
        }
        position: dict[str, Any]
        if described.parts[last].is_bounded:
            position = _end_of(pinned, source, last)
        else:
            position, splits = self._begin_of(plan, source, last)
            began |= {} if splits is None else {str(last): splits}
        kinds = tuple(part.kind for part in described.parts)
        return SourceRecord(uid, described.name, kinds, last, position, read, began)

    def _begin_of(
        self, plan: PhysicalPlan, source: int, part: int
    ) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Return the position at which the live part of a source begins, and its splits."""
        described = plan.source(source)
        pinning = Pinning(
            self.place.session,
            plan.options.parallelism,
            described.origin,
            lambda call: call(),
            self.place.configuration,
        )
        begins = row_of(described.parts[part]).pin(pinning, described.parts[part])
        if begins.splits is None:
            return {}, None
        names = {} if begins.names is None else {NAMES: list(begins.names)}
        splits = {"splits": [list(split) for split in begins.splits], **names}
        return splits, splits


_AT_ONCE = {CHECKPOINT_INTERVAL.key: "0 ms"}
"""Settings with which a live run begins an epoch as soon as the one before has ended."""


def _end_of(pinned: Pinned, source: int, part: int) -> dict[str, Any]:
    """Return the position behind a bounded part."""
    key = source, part
    if key in pinned.splits:
        names = {NAMES: list(pinned.names[key])} if key in pinned.names else {}
        return {"splits": [[end, end] for _, end in pinned.splits[key]], **names}
    if key in pinned.files:
        return {"left": PinnedFiles({}, pinned.files[key].schema).to_json()}
    return {"rows_left": False, "rows_read": True}
