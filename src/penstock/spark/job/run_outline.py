"""The outline of a live run: the facts of a savepoint that do not depend on the micro-batch.

The outline is made of the plan when the run starts, and recorded in the checkpoint directory
(`run-N.outline.json`), so that a savepoint can be made without the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from penstock.filesystem.stored_path import JobPath
from penstock.graph.hybrid import SnapshotPart
from penstock.plan.compat.evolution import described_inputs, sink_names
from penstock.plan.compat.function_digest import function_digests, source_uids
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.runtime.task.report import Report
from penstock.spark.job.job_directory import snapshot_step
from penstock.spark.job.state_layout import ChannelOutline, StateLayout, channel_outlines
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.sources.read_context import Pinned
from penstock.spark.sources.source_row import PartReading
from penstock.spark.sources.split_reads import LATER, NAMES, SNAPSHOT
from penstock.spark.sources.table import row_named, row_of
from penstock.state.savepoint import (
    OperatorRecord,
    Savepoint,
    SourceRecord,
    StateFile,
    WatermarkRecord,
)
from penstock.wire.atomic_file import read_verified

Began = Mapping[tuple[int, int], dict[str, Any] | None]
"""(source id, part) to the splits with which a job began to read it; None if that was not recorded."""


def begun_with(known: Began, pinned: Iterable[Pinned]) -> dict[tuple[int, int], Any]:
    """Return the splits with which a job began, given those of its savepoint and what its runs have pinned, in order."""
    begun = dict(known)
    for run_input in pinned:
        for key, splits in run_input.splits.items():
            names = {NAMES: list(run_input.names[key])} if key in run_input.names else {}
            begun.setdefault(key, {"splits": [list(split) for split in splits], **names})
    return begun


SWITCHES = "switches"
"""Key of the switches of a source in its position: part to the switch at which it is made."""


@dataclass(frozen=True, slots=True)
class SourceOutline:
    """One source in a live run.

    Attributes:
        part: The part that this run reads, the first one if it reads several; None if it reads none.
        kind: Name of a `SourceKind`, None without part.
        later: Part to the name of its `SourceKind`, of further parts that this run reads.
    """

    id: int
    uid: str
    name: str
    kinds: tuple[str, ...]
    part: int | None = None
    kind: str | None = None
    later: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunOutline:
    """A live run.

    Attributes:
        sources: Those that its pipeline adds to savepoints.
    """

    job_id: str
    job_name: str
    run: str
    parallelism: int
    max_parallelism: int
    operators: tuple[OperatorRecord, ...]
    sources: tuple[SourceOutline, ...]
    channels: Mapping[int, ChannelOutline]
    fingerprint: str
    sinks: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the form to record."""
        return asdict(self)

    @classmethod
    def from_json(cls, recorded: dict[str, Any]) -> RunOutline:
        """Return the object that `to_json` encoded."""
        return cls(
            **recorded
            | {
                "operators": tuple(map(OperatorRecord.from_json, recorded["operators"])),
                "sinks": tuple(recorded["sinks"]),
                "sources": tuple(
                    SourceOutline(
                        **source
                        | {
                            "kinds": tuple(source["kinds"]),
                            "later": {int(p): k for p, k in source["later"].items()},
                        }
                    )
                    for source in recorded["sources"]
                ),
                "channels": {
                    int(channel): ChannelOutline.from_json(outline)
                    for channel, outline in recorded["channels"].items()
                },
            }
        )

    def savepoint(
        self,
        savepoint_id: str,
        report: Report,
        sources: tuple[SourceRecord, ...],
        files: tuple[StateFile, ...],
        *,
        drained: bool,
    ) -> Savepoint:
        """Return the manifest of a new savepoint of this run."""
        return Savepoint(
            id=savepoint_id,
            taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
            job_id=self.job_id,
            job_name=self.job_name,
            run=self.run,
            parallelism=self.parallelism,
            max_parallelism=self.max_parallelism,
            drained=drained,
            operators=self.operators,
            sources=sources,
            # An input that a drain has ended continues after the savepoint.
            watermarks=() if drained else self._watermarks(report),
            memory=report.memory,
            files=files,
            sinks=self.sinks,
        )

    @property
    def layout(self) -> StateLayout:
        """The layout of the state of the run."""
        return StateLayout(self.fingerprint, self.max_parallelism, self.channels)

    def _watermarks(self, report: Report) -> tuple[WatermarkRecord, ...]:
        uids = {source.id: source.uid for source in self.sources}
        return self.layout.records(report.watermarks, uids)


def outline_of(
    plan: PhysicalPlan, run: RunPlan, job_id: str, job_name: str, fingerprint: str = ""
) -> RunOutline:
    """Return the outline of a live run, given the fingerprint that the plan had when the directory was opened."""
    uids, digests, inputs = source_uids(plan), function_digests(plan), described_inputs(plan)
    unnamed = {node.id for node in plan.graph.nodes if node.uid is None}
    sources: dict[int, SourceOutline] = {
        source.id: SourceOutline(
            source.id, uids[source.id], source.name, tuple(part.kind for part in source.parts)
        )
        for source in plan.sources_recorded_by(run.pipeline)
    }
    for reading in run.readings:
        source_id, (part, *later) = reading.source, reading.parts
        described = plan.source(source_id).parts[part]
        row = row_of(described)
        sources[source_id] = SourceOutline(
            source_id,
            uids[source_id],
            sources[source_id].name,
            sources[source_id].kinds,
            part,
            row.kind.name,
            {index: row_of(plan.source(source_id).parts[index]).kind.name for index in later},
        )
    return RunOutline(
        job_id=job_id,
        job_name=job_name,
        run=run.name,
        parallelism=plan.options.parallelism,
        max_parallelism=plan.options.max_parallelism,
        operators=tuple(
            OperatorRecord(
                op.uid, op.name, op.kind.name, op.id in unnamed, digests[op.uid], inputs[op.uid]
            )
            for level in plan.levels
            for op in level.operators
        ),
        sources=tuple(sources.values()),
        channels=channel_outlines(plan),
        fingerprint=fingerprint,
        sinks=sink_names(plan),
    )


OUTLINE_BEFORE = "outline-before"
"""Step of a run with the outline of its newest epoch, if that is another one than the one it goes on with."""


def outline_in(
    step: Callable[[str], dict[str, Any] | None], run: int, layout: str | None
) -> RunOutline | None:
    """Return the outline of a run with the layout of its newest epoch; None if the run has not begun."""
    recorded = [step(f"run-{run}.{name}") for name in ("outline", OUTLINE_BEFORE)]
    outlines = [RunOutline.from_json(record) for record in recorded if record is not None]
    fitting = [outline for outline in outlines if outline.fingerprint == layout]
    return next(iter((*fitting, *outlines)), None)


def source_records(
    outline: RunOutline,
    pinned: Pinned,
    earlier: Mapping[tuple[int, int], PinnedFiles],
    run_directory: JobPath,
    positions: Mapping[str, Any],
    began: Began,
) -> tuple[SourceRecord, ...]:
    """Return the positions of sources at the end of an epoch."""
    reached = positions.get("parts", {})
    end = _EpochEnd(pinned, earlier, run_directory, positions, began)
    return tuple(
        end.record(source, reached.get(str(source.id), source.part)) for source in outline.sources
    )


@dataclass(frozen=True, slots=True)
class _EpochEnd:
    """Sources at the end of an epoch; for the attributes see `source_records`."""

    pinned: Pinned
    earlier: Mapping[tuple[int, int], PinnedFiles]
    run_directory: JobPath
    positions: Mapping[str, Any]
    began: Began

    def record(self, source: SourceOutline, part: int | None) -> SourceRecord:
        """Return the position of a source."""
        kind = source.kind if part is None else source.later.get(part, source.kind)
        read = self._read_before(source, part)
        position: dict[str, Any] = {}
        if part is not None and kind is not None:
            position, now = row_named(kind).position(self._reading(source, part))
            if now:
                _add(read, part, PinnedFiles(now, ""))
            position = position | _behind(source, part, self.pinned, self.run_directory.parent)
        switches = {
            str(index): switch.to_json()
            for (of, index), switch in self.pinned.switches.items()
            if of == source.id
        }
        if switches:
            position = {**position, SWITCHES: switches}
        files = {str(index): files.to_json() for index, files in sorted(read.items())}
        began = {
            str(index): splits
            for (of, index), splits in sorted(begun_with(self.began, [self.pinned]).items())
            if of == source.id and splits is not None and (part is not None and index <= part)
        }
        return SourceRecord(source.uid, source.name, source.kinds, part, position, files, began)

    def _read_before(self, source: SourceOutline, part: int | None) -> dict[int, PinnedFiles]:
        """Return the files of earlier runs and of parts that were passed, by part."""
        read = {index: files for (of, index), files in self.earlier.items() if of == source.id}
        if part is not None and source.part is not None:
            for passed in (index for index in (source.part, *source.later) if index < part):
                _add(read, passed, self.pinned.files.get((source.id, passed)))
        return read

    def _reading(self, source: SourceOutline, part: int) -> PartReading:
        positions, names = (
            self.positions.get(name, {}).get(str(source.id)) for name in ("at", NAMES)
        )
        return PartReading(source.id, part, self.pinned, self.run_directory, positions, names)


def _behind(source: SourceOutline, part: int, pinned: Pinned, directory: JobPath) -> dict[str, Any]:
    """Return where the parts behind one begin, and the snapshot if the part is one.

    The start of the job decided the beginnings of later parts: a job that decided them again would lose records
    that were added in between.
    """
    behind: dict[str, Any] = {}
    later = {}
    for index in source.later:
        key = source.id, index
        if index > part and key in pinned.splits:
            splits = [list(split) for split in pinned.splits[key]]
            names = {NAMES: list(pinned.names[key])} if key in pinned.names else {}
            later[str(index)] = {"splits": splits, **names}
    if later:
        behind[LATER] = later
    if source.kinds[part] == SnapshotPart.kind:
        recorded = read_verified(directory / f"{snapshot_step(source.id)}.json")
        files = str(directory / "snapshots" / str(source.id))
        behind[SNAPSHOT] = {"directory": files, **recorded}
    return behind


def _add(read: dict[int, PinnedFiles], part: int, more: PinnedFiles | None) -> None:
    """Add to the files that were read of a part."""
    if more is not None:
        before = read.get(part, PinnedFiles({}, ""))
        read[part] = PinnedFiles(before.files | more.files, before.schema or more.schema)
