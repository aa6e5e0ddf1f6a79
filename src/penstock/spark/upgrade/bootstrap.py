"""Reads the history for new and changed operators, before a job starts from stored state with the others'.

    bootstrap/round-0/      what is not kept reads the history in a batch run, up to a position of the job that goes on
    bootstrap/round-1/ …    it reads what that job has read meanwhile; before the last round the job is stopped
    bootstrap/choices.json  the choices of the user about histories that cannot be read again
    bootstrap/savepoint/    the state of kept operators at the stop, and of those that have read the history

From a savepoint, or a job that has stopped, round 0 is the last. Every step is one that a later driver repeats or finds:
the rounds are jobs with records of their own, savepoints are complete with their manifests. No output is visible before the
batch run commits the sinks that are new. Then the job starts from the last savepoint, as from any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import itemgetter

from pyspark.sql import SparkSession

from penstock.config.configuration import Configuration
from penstock.config.options import (
    EVOLUTION,
    EVOLUTION_REST,
    IGNORE_UNCLAIMED_STATE,
    RECOVERY_PATH,
    EvolutionPolicy,
)
from penstock.errors import EvolutionError, SavepointMismatchError
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath
from penstock.graph.logical import LogicalGraph
from penstock.observe.events.job_events import StartedEmpty
from penstock.observe.events.listeners import JobEvents
from penstock.plan.compat.bootstrap import Stretch, bootstrap_graph
from penstock.plan.compat.evolution import Evolution, PartStatus, compare, sink_names, unclear_sinks
from penstock.plan.compat.function_digest import source_labels
from penstock.plan.physical import HistoryChoices, PhysicalPlan
from penstock.program.run_settings import RunKind
from penstock.spark.driver.restore import match_savepoint
from penstock.spark.job.event_log import job_not_started, job_started
from penstock.spark.job.job_directory import BOOTSTRAP, JobDirectory, bootstrap_round
from penstock.spark.job.observed_job import RESTORED
from penstock.spark.job.run_outline import outline_of
from penstock.spark.savepoints.job_savepoints import unwritable
from penstock.spark.upgrade.dropped_state import keep_dropped, part_of
from penstock.spark.upgrade.history import History, history_of
from penstock.spark.upgrade.history_choice import choices_of, lacking, offers, with_tables
from penstock.spark.upgrade.policy import decide
from penstock.spark.upgrade.program_part import SAVEPOINT, ProgramPart, Workplace, advance
from penstock.spark.upgrade.round_events import RoundWatch
from penstock.spark.upgrade.rounds import LastPosition, Rounds, Start, StoredState, stored_state
from penstock.spark.upgrade.stored_program import stored_program
from penstock.state.merged_savepoint import merge_state, merged_manifest
from penstock.state.savepoint import (
    MANIFEST,
    Savepoint,
    prepare_directory,
    read_savepoint,
    write_manifest,
)
from penstock.wire.atomic_file import (
    PRIVATE_DIRECTORY,
    create_directory,
    read_verified,
    write_verified,
)
from penstock.wire.job_files import remove_tree


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The part of a program that reads the history again.

    Attributes:
        evolution: Its differences to the one that made the state.
        graph: The part of the program that reads the history; None if there is nothing to read.
        history: The history of the sources of the graph; the rest of it, if some was read.
        choices: Those of the user, with the uids of the plan.
        is_needed: True if some operator or sink needs the history, be it read or not.
        is_resumed: True if an earlier attempt has read some of it.
    """

    plan: PhysicalPlan
    evolution: Evolution
    graph: LogicalGraph | None
    history: History
    choices: HistoryChoices
    is_needed: bool
    is_resumed: bool = False

    @classmethod
    def of(
        cls,
        plan: PhysicalPlan,
        savepoint: Savepoint,
        place: object,
        read: Savepoint | None = None,
    ) -> Bootstrap:
        """Return that of a program, given the manifests of a savepoint, and of a part that has read some history already."""
        evolution = compare(plan, stored_program(savepoint, place))
        choices = choices_of(plan)
        whole, graph = (bootstrap_graph(plan, evolution, empty) for empty in ((), choices.empty))
        if graph is None:
            history = history_of(plan, savepoint.sources, ())
        else:
            if read is None:
                with_tables(graph, plan, choices)  # refuses those that do not fit
            history = ProgramPart(plan, graph, choices).history(savepoint, read)
        is_needed, is_resumed = whole is not None, read is not None
        return cls(plan, evolution, graph, history, choices, is_needed, is_resumed)

    @property
    def part(self) -> ProgramPart:
        """The reading part of the program."""
        assert self.graph is not None, "there is something to read"
        return ProgramPart(self.plan, self.graph, self.choices)

    def empty_sources(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the name of each source whose history is left out, and what begins without it."""
        labels = source_labels(self.plan)
        lacks = ((labels[u], lacking(self.plan, self.evolution, u)) for u in self.choices.empty)
        return filter(itemgetter(1), lacks)

    @property
    def operators(self) -> frozenset[str]:
        """Uids of the operators whose state it makes."""
        return frozenset(
            operator.uid
            for operator in self.evolution.operators
            if operator.change in {PartStatus.NEW, PartStatus.CHANGED}
        )

    def planned(self) -> PhysicalPlan:
        """Return the plan of the job that reads the history."""
        history = self.history
        stretch = Stretch(RunKind.BATCH, history.numbers, history.open_splits)
        return self.part.planned(stretch)

    def refusals(self, savepoint: Savepoint) -> list[str]:
        """Return why the history cannot be read for the program, one line each."""
        labels, refused = source_labels(self.plan), sorted(self.history.refused.items())
        refusals = [f"  source {labels[uid]}: {reason}" for uid, reason in refused]
        stored = stored_program(savepoint, self.evolution.place)
        if self.graph is not None:
            refusals += [
                f"  sink {name} may be new and need the history, or have been there before: it has no uid, or several "
                "statements that write one table have changed"
                for name in unclear_sinks(self.plan, stored)
            ]
        groups = self.plan.options.max_parallelism
        if self.graph is not None and groups != savepoint.max_parallelism:
            refusals.append(
                f"  the state has {savepoint.max_parallelism} key groups, and the program {groups}"
            )
        if self.graph is not None and any(pipeline.is_region for pipeline in self.plan.pipelines):
            refusals.append(
                "  a bounded region has results only at its end, so its history cannot be read up to a position"
            )
        return refusals

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
        """Refuse a history that cannot be read again."""
        refusals = self.refusals(savepoint)
        if refusals:
            lines = "\n".join([*refusals, *offers(self.plan, self.history)])
            raise EvolutionError(
                f"the history cannot be read again for what {self.evolution.place} does not have:\n{lines}",
                hint="Make a choice that is listed; or set execution.evolution to keep, with which changed operators keep their "
                "state and new ones start without; or start the program in a new directory without a savepoint.",
            )


def evolved(
    directory: JobDirectory, configuration: Configuration, session: SparkSession, events: JobEvents
) -> Start:
    """Return the settings with which a job starts from stored state whose program was another one.

    The history is read first, if the policy allows it; the events of the job have the rounds.
    """
    if directory.has_begun or directory.step(RESTORED) is not None:
        return Start(configuration)
    stored = stored_state(directory, configuration)
    if stored is None:
        return Start(configuration)
    savepoint = stored.now()
    read = read_so_far(directory.path)
    bootstrap = Bootstrap.of(directory.plan, savepoint, stored.place, read)
    if not bootstrap.is_needed or _is_unclaimed(bootstrap.evolution, configuration):
        last = stored.last()
        if configuration.get(EVOLUTION) is EvolutionPolicy.ALLOW:
            evolution = compare(directory.plan, stored_program(last.savepoint, stored.place))
            keep_dropped(directory, last.path, last.savepoint, evolution)
        return last.start(_without_dropped(configuration))
    answer = decide(
        bootstrap.evolution, configuration, (EvolutionPolicy.ALLOW, EvolutionPolicy.KEEP)
    )
    if answer is EvolutionPolicy.KEEP:
        return stored.last().start(configuration)
    bootstrap.check(savepoint)
    return _Reading(directory, configuration, session, events, bootstrap, stored).start()


def read_so_far(directory: JobPath) -> Savepoint | None:
    """Return the manifest of the part that has read some history for a new job; None before the first round is complete."""
    newest = _newest_round(directory)
    return (
        None if newest is None else read_savepoint(bootstrap_round(directory, newest) / SAVEPOINT)
    )


def _newest_round(directory: JobPath) -> int | None:
    """Return the number of the newest complete round; the savepoints of those before were removed."""
    number, newest = 0, None
    while (path := bootstrap_round(directory, number)).exists():
        newest = number if (path / SAVEPOINT / MANIFEST).exists() else newest
        number += 1
    return newest


def _is_unclaimed(evolution: Evolution, configuration: Configuration) -> bool:
    """Return whether state has no operator, which is refused unless the user allows it."""
    dropped = any(part.change is PartStatus.DROPPED for part in evolution.of_state)
    allows = configuration.get(EVOLUTION) in {EvolutionPolicy.ALLOW, EvolutionPolicy.ASK}
    return dropped and not allows and not configuration.get(IGNORE_UNCLAIMED_STATE)


def _without_dropped(configuration: Configuration) -> Configuration:
    """Let a program drop state, if the policy allows changes."""
    if configuration.get(EVOLUTION) is not EvolutionPolicy.ALLOW:
        return configuration
    return configuration.layered("evolution", {IGNORE_UNCLAIMED_STATE.key: "true"}, is_final=True)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One attempt to read the history; for the attributes see `evolved`.

    Attributes:
        directory: The checkpoint directory of the job that is to start.
        bootstrap: The part of the program that reads the history.
    """

    directory: JobDirectory
    configuration: Configuration
    session: SparkSession
    events: JobEvents
    bootstrap: Bootstrap
    stored: StoredState

    def start(self) -> Start:
        """Read the history unless that is done, and return the settings that name the merged savepoint."""
        self.events.publish(job_started(self.directory.plan, self.configuration))
        try:
            return self._start()
        except BaseException as failure:
            self.events.publish(job_not_started(failure))
            raise

    def _start(self) -> Start:
        self._check_choices()
        self._check_rounds()
        for source, parts in self.bootstrap.empty_sources():
            self.events.publish(StartedEmpty(source, parts))
        target = self.directory.path / BOOTSTRAP / "savepoint"
        stopped = None
        if not (target / MANIFEST).exists():
            part, last = self._read()
            self._merge(last, part, target)
            stopped = last.stopped
        failpoint("bootstrap.merged")
        merged = {RECOVERY_PATH.key: str(target)}
        settings = self.configuration.layered("evolution", merged, is_final=True)
        return Start(settings, stopped, is_published=True)

    def _check_choices(self) -> None:
        """Refuse other choices than those of an earlier attempt, which may have read some history by them."""
        path = self.directory.path / BOOTSTRAP / "choices.json"
        choices = self.bootstrap.choices
        now = {"empty": list(choices.empty), "tables": dict(choices.tables)}
        if not path.exists():
            create_directory(path.parent, PRIVATE_DIRECTORY)
            write_verified(path, now)
        elif read_verified(path) != now:
            raise EvolutionError(
                f"an earlier attempt in {self.directory.path} has begun with other choices about histories",
                hint=f"Repeat its command; or remove {self.directory.path} and what new sinks have written, and begin again.",
            )

    def _check_rounds(self) -> None:
        """Refuse a source that goes on while its table is read, and cannot be read from a position on."""
        bootstrap, choices = self.bootstrap, self.bootstrap.choices
        if bootstrap.graph is None or not choices.tables or not self.stored.is_moving:
            return
        stands = self.stored.now()
        for uid, reason in bootstrap.part.history(stands, stands).refused.items():
            raise EvolutionError(
                f"source {source_labels(bootstrap.plan)[uid]} cannot be read in rounds beside the job: {reason}",
                hint="Stop the job with a savepoint, and repeat the command.",
            )

    def _read(self) -> tuple[JobPath | None, LastPosition]:
        """Advance what is not kept round by round; return its savepoint, and the state at the same positions."""
        if self.bootstrap.graph is None:
            return None, self.stored.last()
        limit = self.configuration.get(EVOLUTION_REST).total_seconds()
        rounds = Rounds(self.stored, limit)
        part: JobPath | None = None
        number = _newest_round(self.directory.path) or 0
        while True:
            path = bootstrap_round(self.directory.path, number)
            target, last = rounds.target(path)
            part = self._advance(number, part, target, last)
            if last is not None:
                return part, last
            if number:
                before = bootstrap_round(self.directory.path, number - 1)
                remove_tree(before / SAVEPOINT, self.directory.fence)
            number += 1

    def _advance(
        self, number: int, start: JobPath | None, target: Savepoint, last: LastPosition | None
    ) -> JobPath:
        """Read up to the positions of a round, and publish it."""
        path = bootstrap_round(self.directory.path, number)
        place = Workplace(path, self.directory.fence, self.session, self.configuration)
        part = self.bootstrap.part
        if (path / SAVEPOINT / MANIFEST).exists():
            return advance(part, start, target, place)  # an earlier driver has published it
        kind = RunKind.BATCH if start is None else RunKind.LIVE
        watch = RoundWatch(self.events, number, kind)
        advanced = advance(part, start, target, replace(place, listeners=(watch,)))
        now = target if last is not None else self.stored.now()
        watch.finish(self.directory.plan, target, now, is_last=last is not None)
        return advanced

    def _merge(self, last: LastPosition, part: JobPath | None, target: JobPath) -> None:
        """Write the savepoint from which the job starts; without a part of its own, what is not kept is empty."""
        savepoint = last.savepoint
        stored = stored_program(savepoint, self.stored.place)
        evolution = compare(self.bootstrap.plan, stored)
        if evolution.kept != self.bootstrap.evolution.kept:
            raise EvolutionError(
                f"the job of {self.stored.place} was started with another program while its history was read",
                hint=f"Remove {self.directory.path} and what new sinks have written, and begin again.",
            )
        known = {source.uid for source in evolution.sources if source.change is PartStatus.KEPT}
        sources = tuple(source for source in savepoint.sources if source.uid in known)
        kept = part_of(last.path, replace(savepoint, sources=sources), evolution.kept)
        new = []
        if part is not None:
            manifest = read_savepoint(part)
            added = tuple(source for source in manifest.sources if source.uid not in known)
            manifest = replace(manifest, sources=added)
            new.append(part_of(part, manifest, self.bootstrap.operators))
        keep_dropped(self.directory, last.path, savepoint, evolution)
        remove_tree(target, self.directory.fence)
        program = outline_of(self.bootstrap.plan, self.bootstrap.plan.runs[-1], "", "")
        try:
            prepare_directory(target)
            files = merge_state([kept, *new], target)
            failpoint("bootstrap.state")
            sinks = sink_names(self.bootstrap.plan)
            write_manifest(target, merged_manifest(kept, new, program.operators, sinks, files))
        except OSError as cause:
            raise unwritable(cause) from cause
