"""Reads the history for new and changed operators, before a job starts from a savepoint with the others' state.

    bootstrap/job/          a job that reads the history up to the positions of the savepoint, in a batch run
    bootstrap/savepoint/    the state of kept operators, and of those that have read the history

Both are steps that a later driver repeats or finds: the first is a job with records of its own, the second is
complete with its manifest. No output is visible before the batch run commits the sinks that are
new. Then the job starts from the second, as from any savepoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.config.configuration import Configuration
from penstock.config.options import (
    EVOLUTION,
    IGNORE_UNCLAIMED_STATE,
    JOB_NAME,
    RECOVERY_PATH,
    EvolutionPolicy,
)
from penstock.errors import EvolutionError, SavepointMismatchError
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath
from penstock.graph.logical import LogicalGraph
from penstock.observe.events.listeners import JobEvents
from penstock.plan.compat.bootstrap import bootstrap_graph
from penstock.plan.compat.evolution import Evolution, PartStatus, compare, sink_names, unclear_sinks
from penstock.plan.compat.function_digest import changed_functions, source_uids
from penstock.plan.phases.backlog import known_cuts, with_cuts
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.plan.planner import plan_bootstrap
from penstock.runtime.task.report import Report
from penstock.spark.driver.restore import fetched_savepoint, match_savepoint
from penstock.spark.driver.restored import Restored
from penstock.spark.job.event_log import event_log_of, job_started
from penstock.spark.job.hand_over import read_hand_over, verified_files
from penstock.spark.job.job_directory import BOOTSTRAP, JobDirectory, has_staged
from penstock.spark.job.observed_job import RESTORED, ObservedJob
from penstock.spark.job.run_outline import begun_with, outline_of
from penstock.spark.job.state_layout import StateLayout
from penstock.spark.job_client import SparkJobClient
from penstock.spark.savepoints.job_savepoints import unwritable
from penstock.spark.sources.line_reads import is_read_by_lines
from penstock.spark.sources.pinned_files import PinnedFiles, declared_schema, pin_files
from penstock.spark.sources.read_context import Pinned
from penstock.spark.sources.source_row import Pinning
from penstock.spark.sources.split_reads import NAMES
from penstock.spark.sources.table import files_of, row_of
from penstock.spark.upgrade.history import History, history_of
from penstock.spark.upgrade.policy import decide
from penstock.spark.upgrade.stored_program import stored_program
from penstock.state.merged_savepoint import StatePart, merge_state, merged_manifest
from penstock.state.savepoint import (
    MANIFEST,
    STATE_DIRECTORY,
    Savepoint,
    SourceRecord,
    prepare_directory,
    write_manifest,
)
from penstock.wire.atomic_file import PRIVATE_DIRECTORY, create_directory
from penstock.wire.job_files import remove_tree


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The part of a program that reads the history again.

    Attributes:
        plan: The program.
        evolution: Its differences to the one that made the state.
        graph: What reads the history; None if there is nothing to read it for.
        history: The history of the sources of the graph.
    """

    plan: PhysicalPlan
    evolution: Evolution
    graph: LogicalGraph | None
    history: History

    @classmethod
    def of(cls, plan: PhysicalPlan, savepoint: Savepoint, place: object) -> Bootstrap:
        """Return that of a program, given the manifest of a savepoint."""
        evolution = compare(plan, stored_program(savepoint, place))
        graph = bootstrap_graph(plan, evolution)
        sources = [] if graph is None else [node.uid for node in graph.nodes if node.source]
        history = history_of(plan, savepoint.sources, filter(None, sources))
        return cls(plan, evolution, graph, history)

    @property
    def operators(self) -> frozenset[str]:
        """Uids of the operators whose state it makes."""
        return frozenset(
            each.uid
            for each in self.evolution.operators
            if each.change in {PartStatus.NEW, PartStatus.CHANGED}
        )

    def planned(self) -> PhysicalPlan:
        """Return the plan of the job that reads the history."""
        assert self.graph is not None, "there is something to read"
        history = self.history
        return plan_bootstrap(self.graph, self.plan.options, history.numbers, history.open_splits)

    def refusals(self, savepoint: Savepoint) -> list[str]:
        """Return why the history cannot be read for the program, one line each."""
        found = [
            f"  source {uid}: {reason}" for uid, reason in sorted(self.history.refused.items())
        ]
        stored = stored_program(savepoint, self.evolution.place)
        if self.graph is not None:
            found += [
                f"  sink {name} has no uid: it may be new and need the history, or have been there before"
                for name in unclear_sinks(self.plan, stored)
            ]
        groups = self.plan.options.max_parallelism
        if self.graph is not None and groups != savepoint.max_parallelism:
            found.append(
                f"  the state has {savepoint.max_parallelism} key groups, and the program {groups}"
            )
        if self.graph is not None and any(each.is_region for each in self.plan.pipelines):
            found.append(
                "  a bounded region has results only at its end, so its history cannot be read up to a position"
            )
        return found

    def mismatches(self, savepoint: Savepoint, *, ignore_positions: bool) -> list[str]:
        """Return why a start that reads no history is refused, as `refusals` does."""
        if self.graph is None:
            try:
                match_savepoint(
                    self.plan,
                    savepoint,
                    self.evolution.place,
                    ignore_unclaimed=True,
                    ignore_positions=ignore_positions,
                )
            except SavepointMismatchError as mismatch:
                return [f"  {mismatch.problem}"]
        return []

    def check(self, savepoint: Savepoint) -> None:
        """Refuse a history that cannot be read again.

        Raises:
            EvolutionError: It cannot; the error names what is missing.
        """
        refusals = self.refusals(savepoint)
        if refusals:
            lines = "\n".join(refusals)
            raise EvolutionError(
                f"the history cannot be read again for what {self.evolution.place} does not have:\n{lines}",
                hint="Set execution.evolution to keep, with which new operators start without state; or start the "
                "program in a new directory without a savepoint, from sources that have the history.",
            )


def evolved(
    directory: JobDirectory, configuration: Configuration, session: SparkSession
) -> Configuration:
    """Return the settings with which a job starts from a savepoint whose program was another one.

    The history is read first, if the policy allows it.

    Raises:
        EvolutionError: The policy refuses the start, or the history cannot be read again.
        PenstockError: Reading the history failed.
    """
    configured = configuration.get(RECOVERY_PATH)
    if configured is None or directory.has_begun or directory.step(RESTORED) is not None:
        return configuration
    path, savepoint, place = fetched_savepoint(directory, configured, configuration)
    bootstrap = Bootstrap.of(directory.plan, savepoint, f"savepoint {place}")
    if bootstrap.graph is None or _is_unclaimed(bootstrap.evolution, configuration):
        return _without_dropped(configuration)
    answer = decide(
        bootstrap.evolution, configuration, (EvolutionPolicy.ALLOW, EvolutionPolicy.KEEP)
    )
    if answer is EvolutionPolicy.KEEP:
        return configuration
    bootstrap.check(savepoint)
    return _Reading(directory, configuration, session, bootstrap, savepoint, path).start()


def forget_bootstrap(directory: JobDirectory) -> None:
    """Remove what has read the history, once the state of the job is its own.

    Raises:
        JobFencedError: Another driver has taken over.
    """
    if directory.step(RESTORED) is not None:
        remove_tree(directory.path / BOOTSTRAP, directory.fence)


def _is_unclaimed(evolution: Evolution, configuration: Configuration) -> bool:
    """Return whether state has no operator, which is refused unless the user allows it."""
    dropped = any(each.change is PartStatus.DROPPED for each in evolution.of_state)
    allows = configuration.get(EVOLUTION) in {EvolutionPolicy.ALLOW, EvolutionPolicy.ASK}
    return dropped and not allows and not configuration.get(IGNORE_UNCLAIMED_STATE)


def _without_dropped(configuration: Configuration) -> Configuration:
    """Let a program drop state, if the policy allows changes."""
    if configuration.get(EVOLUTION) is not EvolutionPolicy.ALLOW:
        return configuration
    return configuration.layered("evolution", {IGNORE_UNCLAIMED_STATE.key: "true"}, is_final=True)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One attempt to read the history; the attributes are those of `evolved`.

    Attributes:
        directory: The checkpoint directory of the job that is to start.
        configuration: Its settings.
        session: Spark.
        bootstrap: What reads the history.
        savepoint: The manifest of the savepoint.
        path: Where its state is.
    """

    directory: JobDirectory
    configuration: Configuration
    session: SparkSession
    bootstrap: Bootstrap
    savepoint: Savepoint
    path: JobPath

    def start(self) -> Configuration:
        """Read the history unless that is done, and return the settings that name the new savepoint."""
        target = self.directory.path / BOOTSTRAP / "savepoint"
        if not (target / MANIFEST).exists():
            plan = self._read(self.directory.path / BOOTSTRAP / "job")
            failpoint("bootstrap.read")
            self._merge(plan, target)
        failpoint("bootstrap.merged")
        merged = {RECOVERY_PATH.key: str(target), IGNORE_UNCLAIMED_STATE.key: "true"}
        return self.configuration.layered("evolution", merged, is_final=True)

    def _read(self, place: JobPath) -> PhysicalPlan:
        """Run the job that reads the history to its end, and return its plan."""
        name = f"{self.configuration.get(JOB_NAME)} (history)"
        settings = self.configuration.layered("evolution", {JOB_NAME.key: name}, is_final=True)
        if not has_staged(self.directory.path):
            remove_tree(place, self.directory.fence)  # no output is visible
        create_directory(place.parent, PRIVATE_DIRECTORY)
        inner = JobDirectory.open(place, self.bootstrap.planned(), name)
        events = JobEvents(inner.job_id, name, own=event_log_of(inner))
        try:
            self._check_functions(inner)
            if inner.step(RESTORED) is None:
                inner.record(RESTORED, self._restored(inner).to_json())
            client = SparkJobClient(inner.plan, settings, inner, events, self.session)
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
        return inner.plan

    def _check_functions(self, inner: JobDirectory) -> None:
        """Refuse a program that has changed since it wrote the history to its sinks.

        Raises:
            EvolutionError: It has.
        """
        recorded = inner.step("functions")
        changed = () if recorded is None else changed_functions(inner.plan, recorded["operators"])
        if changed:
            names = ", ".join(f"{op.name} (uid {op.uid})" for op in changed)
            raise EvolutionError(
                f"the history was read by a program with another function of {names}",
                hint=f"Start the program that read it; or remove {self.directory.path} and what new sinks have "
                "written, and begin again.",
            )

    def _restored(self, inner: JobDirectory) -> Restored:
        """Return the input of the job, whose files have columns."""
        plan = inner.plan
        restored = self.bootstrap.history.restored(plan, self.bootstrap.evolution.place)
        left = {key: self._with_columns(plan, key, files) for key, files in restored.left.items()}
        return replace(restored, left=left, layout=StateLayout.of(plan, inner.fingerprint))

    def _with_columns(
        self, plan: PhysicalPlan, key: tuple[int, int], files: PinnedFiles
    ) -> PinnedFiles:
        source = plan.source(key[0])
        described = files_of(source.parts[key[1]])
        assert described is not None, "it has files"
        if files.schema or declared_schema(described) is not None:
            return files
        if is_read_by_lines(described):
            return replace(files, schema=StructType().json())
        return replace(files, schema=pin_files(self.session, described, source.origin).schema)

    def _merge(self, plan: PhysicalPlan, target: JobPath) -> None:
        """Write the savepoint from which the job starts.

        Raises:
            SavepointError: It cannot be written.
            StateError: State is damaged.
        """
        evolution = self.bootstrap.evolution
        known = {each.uid for each in evolution.sources if each.change is PartStatus.KEPT}
        sources = tuple(each for each in self.savepoint.sources if each.uid in known)
        files = {file.name: file.sha256 for file in self.savepoint.files}
        kept = StatePart(
            replace(self.savepoint, sources=sources),
            tuple(verified_files(self.path / STATE_DIRECTORY, files)),
            evolution.kept,
        )
        job = ObservedJob.at(self.directory.path / BOOTSTRAP / "job")
        new = [self._part(plan, run, job) for run in plan.runs]
        remove_tree(target, self.directory.fence)
        program = outline_of(self.bootstrap.plan, self.bootstrap.plan.runs[-1], "", "")
        try:
            prepare_directory(target)
            files_written = merge_state([kept, *new], target)
            failpoint("bootstrap.state")
            write_manifest(
                target,
                merged_manifest(
                    kept, new, program.operators, sink_names(self.bootstrap.plan), files_written
                ),
            )
        except OSError as cause:
            raise unwritable(cause) from cause

    def _part(self, plan: PhysicalPlan, run: RunPlan, job: ObservedJob) -> StatePart:
        """Return what a run that has read the history gives to the savepoint."""
        done, pinned = job.record(f"run-{run.index}.done"), job.record(f"run-{run.index}.pinned")
        assert done is not None, "the run is complete"
        assert pinned is not None, "the run is complete"
        snapshot = job.path / f"run-{run.index}" / "snapshot"
        handed = read_hand_over(done)
        report = Report(watermarks=handed.watermarks, memory=handed.memory)
        cuts = known_cuts(job.record("cuts") or {})
        sources = self._new_sources(with_cuts(plan, cuts), run, Pinned.from_json(pinned))
        outline = outline_of(plan, run, "", "")
        manifest = outline.savepoint("", report, tuple(sources), (), drained=False)
        files = verified_files(snapshot, done["state_files"])
        return StatePart(manifest, tuple(files), self.bootstrap.operators)

    def _new_sources(
        self, plan: PhysicalPlan, run: RunPlan, pinned: Pinned
    ) -> Iterator[SourceRecord]:
        """Yield the positions of new sources behind the history that a run has read of them."""
        new = {
            each.uid for each in self.bootstrap.evolution.sources if each.change is PartStatus.NEW
        }
        uids = source_uids(plan)
        for reading in run.readings:
            uid = uids[reading.source]
            if uid in new:
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
            self.session,
            plan.options.parallelism,
            described.origin,
            lambda call: call(),
            self.configuration,
        )
        begins = row_of(described.parts[part]).pin(pinning, described.parts[part])
        if begins.splits is None:
            return {}, None
        names = {} if begins.names is None else {NAMES: list(begins.names)}
        splits = {"splits": [list(split) for split in begins.splits], **names}
        return splits, splits


def _end_of(pinned: Pinned, source: int, part: int) -> dict[str, Any]:
    """Return the position behind a bounded part."""
    key = source, part
    if key in pinned.splits:
        names = {NAMES: list(pinned.names[key])} if key in pinned.names else {}
        return {"splits": [[end, end] for _, end in pinned.splits[key]], **names}
    if key in pinned.files:
        return {"left": PinnedFiles({}, pinned.files[key].schema).to_json()}
    return {"rows_left": False, "rows_read": True}
