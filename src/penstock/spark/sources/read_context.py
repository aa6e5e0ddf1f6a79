"""The pinned input of a run, and the context for reading it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark.accumulators import Accumulator
from pyspark.sql import SparkSession

from penstock.config.configuration import Configuration
from penstock.expressions.field_totals import FieldTotal
from penstock.filesystem.stored_path import JobPath
from penstock.graph.endpoints import Source
from penstock.graph.source_switch import SourceSwitch
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.program.level import LevelProgram
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.worker.level_tasks import BatchLevelTask
from penstock.spark.worker.worker_environment import WorkerEnvironment
from penstock.spark.worker.worker_memory import LiveAttempt
from penstock.wire.fence import Fence

Splits = list[tuple[int, int | None]]
"""Start and end of every split; the end of an unbounded split is None."""

Names = tuple[str, ...]
"""Id of every split."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """The pinned input of a run.

    Attributes:
        files: (source id, part index) to pinned files.
        splits: (source id, part index) to split ranges.
        names: (source id, part index) to the ids of the splits, of sources that name them.
        switches: (source id, part index) to the switch at which the source of the part is made.
    """

    files: dict[tuple[int, int], PinnedFiles] = field(default_factory=dict)
    splits: dict[tuple[int, int], Splits] = field(default_factory=dict)
    names: dict[tuple[int, int], Names] = field(default_factory=dict)
    switches: dict[tuple[int, int], SourceSwitch] = field(default_factory=dict)

    @classmethod
    def from_json(cls, recorded: dict[str, Any]) -> Pinned:
        """Return the pinned input of a record of the step `pinned`."""
        return cls(
            files={_key(k): PinnedFiles.from_json(v) for k, v in recorded["files"].items()},
            splits={
                _key(k): [(start, end) for start, end in v] for k, v in recorded["splits"].items()
            },
            names={_key(k): tuple(v) for k, v in recorded.get("names", {}).items()},
            switches={
                _key(k): SourceSwitch.from_json(v) for k, v in recorded.get("switches", {}).items()
            },
        )

    def grows(self, key: tuple[int, int]) -> bool:
        """Return whether splits are added to a part, given source id and index: it has ids and no ends."""
        return key in self.names and any(end is None for _, end in self.splits[key])

    def open_splits(self) -> dict[tuple[int, int], int]:
        """Return (source id, part) to the number of splits with records left; of files 1 if some are left."""
        opened = {key: int(bool(pinned.files)) for key, pinned in self.files.items()}
        return opened | {
            key: sum(start != end for start, end in splits) for key, splits in self.splits.items()
        }


def _at_once(call: Callable[[], Any]) -> Any:
    return call()


@dataclass(frozen=True, slots=True)
class ReadContext:
    """The context for reading the sources of a run.

    Attributes:
        earlier: Files that were read before this run, by (source id, part index).
        read_frames: Sources whose batch DataFrame was read before this job began.
        directory: Directory of the run, for its files.
        workers: Dependencies of the job other than its program, None if there are none.
        behind: The level behind level 0, if it runs in the same processes (batch run).
        most_tasks: Most tasks that read a source in a batch run; None sets no limit.
        attempt: Attempt of a live run; None in a batch run.
        fence: Fence of the driver, checked before every micro-batch; None does not check.
        lines_read: Counts the lines that tasks of a batch run have read of files; None does not count.
        patiently: Calls a function that may block, until the job is cancelled.
    """

    session: SparkSession
    plan: PhysicalPlan
    run: RunPlan
    program: LevelProgram
    levels: int
    pinned: Pinned
    earlier: dict[tuple[int, int], PinnedFiles]
    directory: JobPath
    configuration: Configuration
    read_frames: frozenset[int] = frozenset()
    workers: WorkerEnvironment | None = None
    behind: BatchLevelTask | None = None
    most_tasks: int | None = None
    attempt: LiveAttempt | None = None
    fence: Fence | None = None
    lines_read: Accumulator[int] | None = None
    patiently: Callable[[Callable[[], Any]], Any] = _at_once

    def field_total(self, source: int) -> FieldTotal | None:
        """Return the field that Spark SQL folds for a source, None if it folds none (batch run)."""
        if source in self.program.source_types:
            return None
        specs = [spec.fold for spec in self.program.outputs if spec.fold is not None]
        return next(
            (how for spec in specs for folded, how in spec.columns if folded == source), None
        )

    def parts(self) -> list[tuple[int, int, Source]]:
        """Return (source id, part index, part) in order of reading."""
        return [
            (reading.source, part, self.plan.source(reading.source).parts[part])
            for reading in self.run.readings
            for part in reading.parts
        ]


def _key(name: str) -> tuple[int, int]:
    source, part = name.split(".")
    return int(source), int(part)
