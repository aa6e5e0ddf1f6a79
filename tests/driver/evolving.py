"""Runs a program to a position, then a changed one from there, in this process: with the history read again, and as if it had always run.

v1       [0, P1)            gives state, watermarks and positions, as a savepoint has them
history  [0, P1)            the plan of what is not kept, as one batch run
v2       [P1, P2) [P2, end) from both, merged by uid

law      v2 [0, P1) [P1, P2) [P2, end)

In rounds, the history ends at the first stop before P1, and live runs go on from there to the next one and to P1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.plan.compat.bootstrap import Stretch
from penstock.plan.compat.function_digest import source_uids
from penstock.plan.physical import HandOver, PhysicalPlan, RunPlan
from penstock.plan.programs import programs_of
from penstock.program.channel import SINK_LEVEL
from penstock.program.run_settings import RunKind
from penstock.runtime.task.report import Report
from penstock.spark.driver.restore import match_savepoint
from penstock.spark.job.run_outline import outline_of
from penstock.spark.job.state_layout import matched_watermarks
from penstock.spark.upgrade.bootstrap import Bootstrap
from penstock.spark.upgrade.program_part import ProgramPart
from penstock.state.log.blob import key_group_of, operator_of
from penstock.state.merged_savepoint import StatePart, merged_manifest
from penstock.state.replay import replay
from penstock.state.savepoint import Savepoint, SourceRecord, StateFile
from penstock.testing.batch_run import run_batch
from penstock.testing.live_run import LiveInput, run_live
from penstock.testing.logs import Piece, splits_of
from penstock.testing.results import InProcessSinkStage, Results
from penstock.testing.schedule import Schedule
from penstock.types.strict_equality import shape_of

Ranges = Mapping[tuple[str, int], tuple[int, int]]
"""(uid of a source, split) to the positions that a segment reads."""


@dataclass
class Segment:
    """What one run has left."""

    plan: PhysicalPlan
    run: RunPlan
    sinks: dict[str, list[Any]]
    handed: HandOver = field(default_factory=HandOver)
    state: list[bytes] = field(default_factory=list)

    def part(self, sources: Sequence[SourceRecord], operators: frozenset[str]) -> StatePart:
        """Return what a savepoint would have of some operators."""
        uids = tuple(sorted({operator_of(blob) for blob in self.state}))
        report = Report(watermarks=self.handed.watermarks, memory=self.handed.memory)
        files = (StateFile("rows", 0, "", uids),)
        manifest = outline_of(self.plan, self.run, "id", "job").savepoint(
            "id", report, tuple(sources), files, drained=False
        )
        return StatePart(Savepoint.from_json(manifest.to_json()), (), operators)

    def state_of(self, operators: frozenset[str]) -> list[bytes]:
        return [blob for blob in self.state if operator_of(blob) in operators]


def contents(state: Sequence[bytes]) -> dict[Any, Any]:
    """Return the entries of all states, by value."""
    groups: dict[tuple[str, int], list[tuple[str, bytes]]] = {}
    for blob in state:
        groups.setdefault((operator_of(blob), key_group_of(blob)), []).append(("test", blob))
    found: dict[Any, Any] = {}
    for (uid, group), blobs in groups.items():
        for section in replay(blobs).sections():
            for at, key in enumerate(section.keys):
                subkey = None if section.subkeys is None else shape_of(section.subkeys[at])
                address = (uid, group, section.state, shape_of(key), subkey)
                found[address] = shape_of(section.values[at])
    return found


def pieces_of(plan: PhysicalPlan, run: RunPlan, ranges: Ranges | None) -> list[Piece]:
    """Return the input of a run: some positions of each split, or what is left of all."""

    uids = source_uids(plan)
    found = []
    for piece in splits_of(plan, run):
        if ranges is None:
            found.append(piece)
            continue
        start, end = ranges[uids[piece.source_id], piece.split]
        found.append(replace(piece, start=start, end=end, finished=end == piece.end))
    return found


def run_segment(
    plan: PhysicalPlan,
    run: RunPlan,
    ranges: Ranges | None,
    schedule: Schedule,
    *,
    handed: HandOver,
    state: Sequence[bytes] = (),
    ends: bool = False,
) -> Segment:
    """Run one segment."""
    readings = tuple(replace(reading, ends=ends) for reading in run.readings)
    run = replace(run, hands_over=not ends, readings=readings)
    plan = replace(plan, runs=(run,))
    results = Results(tuple(s.uid for s in plan.sinks), tuple([] for _ in plan.sinks))
    channels = {c.id: c.target_operator for c in plan.channels if c.target_level == SINK_LEVEL}
    stage = InProcessSinkStage(results, channels, [sink.uid for sink in plan.sinks])
    programs = programs_of(
        plan,
        run,
        tasks=plan.options.parallelism,
        max_frame_records=schedule.frame_records,
        handed=handed,
        job_parameters={},
        open_splits={},
    )
    pieces = pieces_of(plan, run, ranges)
    if run.kind is RunKind.BATCH:
        run_batch(plan, run, programs, schedule, stage, pieces)
    else:
        source = LiveInput(plan, run, pieces, schedule)
        run_live(run, programs, source, schedule, stage, state=list(state), first_batch=0)
    sinks = {sink.uid: results.records[sink.index] for sink in plan.sinks}
    after = HandOver(stage.report.watermarks, stage.report.memory)
    return Segment(plan, run, sinks, after, stage.state)


def lengths(plan: PhysicalPlan) -> dict[tuple[str, int], int]:

    uids = source_uids(plan)
    (run,) = plan.runs
    return {(uids[p.source_id], p.split): p.end or 0 for p in splits_of(plan, run)}


def records_at(plan: PhysicalPlan, ranges: Ranges) -> tuple[SourceRecord, ...]:
    """Return the positions of sources at the end of a segment."""

    sizes = lengths(plan)
    made = []
    for source, uid in source_uids(plan).items():
        described = plan.source(source)
        kinds = tuple(part.kind for part in described.parts)
        splits = [key for key in ranges if key[0] == uid]
        at = {"splits": [[ranges[key][1], sizes[key]] for key in splits]}
        began = {"0": {"splits": [[0, sizes[key]] for key in splits]}}
        made.append(SourceRecord(uid, described.name, kinds, 0, at, {}, began))
    return tuple(made)


@dataclass
class Upgraded:
    """A changed program after the history was read.

    Attributes:
        bootstrap: What has read it.
        before: Sink to what the job that read it has written.
        middle: What the program made up to the second position.
        last: What it made up to the end.
    """

    bootstrap: Bootstrap
    before: dict[str, list[Any]]
    middle: Segment
    last: Segment


def stand_at(plan: PhysicalPlan, at: Ranges, schedule: Schedule) -> tuple[Segment, Savepoint]:
    """Run a program to a position, and return what a savepoint has there."""
    (run,) = plan.runs
    done = run_segment(plan, run, at, schedule, handed=HandOver())
    return done, done.part(records_at(plan, at), frozenset()).manifest


def upgrade(
    old: PhysicalPlan,
    new: PhysicalPlan,
    first: Ranges,
    second: Ranges,
    schedule: Schedule,
    read_less: int = 0,
    stops: Sequence[Ranges] = (),
) -> Upgraded:
    """Run the old program to the first position, read the history for the new one, and run that from there.

    Args:
        old: The program that makes the state.
        new: The changed program.
        first: The first positions.
        second: The second ones.
        schedule: Its micro-batches.
        read_less: Number of positions that the history lacks, for the control.
        stops: Positions before the first ones, up to which rounds read.
    """
    done, savepoint = stand_at(old, first, schedule)
    bootstrap = Bootstrap.of(new, savepoint, "v1")
    assert bootstrap.refusals(savepoint) == []
    known = {each.uid for each in savepoint.sources}
    kept = done.part(records_at(old, first), bootstrap.evolution.kept)
    parts, state, before = [], done.state_of(bootstrap.evolution.kept), dict[str, list[Any]]()
    if bootstrap.graph is not None:
        targets = [replace(savepoint, sources=records_at(old, at)) for at in (*stops, first)]
        history = read_in_rounds(bootstrap.part, targets, schedule, read_less)
        added = tuple(r for r in history.sources if r.uid not in known)
        parts = [history.segment.part(added, bootstrap.operators)]
        state += history.segment.state_of(bootstrap.operators)
        before = history.sinks
    program = outline_of(new, new.runs[-1], "", "")
    merged = merged_manifest(kept, parts, program.operators, ())
    restored = match_savepoint(
        new, merged, "merged", ignore_unclaimed=False, ignore_positions=False
    )
    (run,) = new.runs
    middle = run_segment(
        new, run, between(new, first, second), schedule, handed=restored.handed, state=state
    )
    last = run_segment(
        new,
        run,
        between(new, second, None),
        schedule,
        handed=middle.handed,
        state=middle.state,
        ends=True,
    )
    return Upgraded(bootstrap, before, middle, last)


@dataclass
class Rounds:
    """What has read the history, behind the last round.

    Attributes:
        segment: The last round.
        sinks: Sink to what all rounds have written.
        sources: The positions of all sources.
    """

    segment: Segment
    sinks: dict[str, list[Any]]
    sources: tuple[SourceRecord, ...]


def read_in_rounds(
    part: ProgramPart, targets: Sequence[Savepoint], schedule: Schedule, read_less: int = 0
) -> Rounds:
    """Advance a part of a program from position to position, as `advance` does with Spark."""
    made: Rounds | None = None
    for target in targets:
        own = None if made is None else made.segment.part(made.sources, frozenset()).manifest
        read = part.history(target, own)
        assert not read.refused
        kind = RunKind.BATCH if own is None else RunKind.LIVE
        plan = part.planned(Stretch(kind, read.numbers, read.open_splits))
        ranges = dict(sizes_to_ranges(lengths(plan)))
        less = read_less if target is targets[-1] else 0
        for uid, parts in read.parts.items():
            for split, (start, end) in enumerate((parts[0].splits if parts else None) or ()):
                assert end is not None
                ranges[uid, split] = (start, end - less)
        (run,) = plan.runs
        handed = HandOver()
        if own is not None:
            handed = HandOver(matched_watermarks(plan, own.watermarks), dict(own.memory))
        state = [] if made is None else made.segment.state
        segment = run_segment(plan, run, ranges, schedule, handed=handed, state=state)
        known = {each.uid for each in target.sources}
        stay = [] if made is None else [r for r in made.sources if r.uid not in known]
        new = (
            [] if made is not None else [r for r in records_at(plan, ranges) if r.uid not in known]
        )
        written = {
            uid: [*(made.sinks[uid] if made else ()), *rows] for uid, rows in segment.sinks.items()
        }
        made = Rounds(segment, written, (*target.sources, *stay, *new))
    assert made is not None, "there is a position"
    return made


def sizes_to_ranges(sizes: Mapping[tuple[str, int], int]) -> Ranges:
    return {key: (0, size) for key, size in sizes.items()}


def between(plan: PhysicalPlan, low: Ranges, high: Ranges | None) -> Ranges:
    """Return the positions between two; a source that is in neither was read with the history."""
    return {
        key: (low[key][1], size if high is None else high[key][1]) if key in low else (size, size)
        for key, size in lengths(plan).items()
    }


def from_the_beginning(
    plan: PhysicalPlan,
    first: Ranges,
    second: Ranges,
    schedule: Schedule,
    stops: Sequence[Ranges] = (),
) -> tuple[Segment, Segment, Segment]:
    """Run the changed program as if it had always been there; it is started again at each position."""
    (run,) = plan.runs
    begin = (stops or (first,))[0]
    one = run_segment(
        plan,
        run,
        {key: begin.get(key, (0, size)) for key, size in lengths(plan).items()},
        schedule,
        handed=HandOver(),
    )
    reached, sinks = begin, one.sinks
    for at in (*stops[1:], *((first,) if stops else ())):
        ranges = between(plan, reached, at)
        one = run_segment(plan, run, ranges, schedule, handed=one.handed, state=one.state)
        sinks = {uid: rows + one.sinks[uid] for uid, rows in sinks.items()}
        reached = at
    one = replace(one, sinks=sinks)
    two = run_segment(
        plan, run, between(plan, first, second), schedule, handed=one.handed, state=one.state
    )
    three = run_segment(
        plan,
        run,
        between(plan, second, None),
        schedule,
        handed=two.handed,
        state=two.state,
        ends=True,
    )
    return one, two, three
