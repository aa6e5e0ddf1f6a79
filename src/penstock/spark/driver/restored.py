"""State and positions of a job that started from a savepoint: the record of the step `restored`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.graph.source_switch import SourceSwitch
from penstock.plan.physical import HandOver, PhysicalPlan
from penstock.spark.job.hand_over import describe_watermarks, read_hand_over
from penstock.spark.job.observed_job import skipped_runs
from penstock.spark.job.state_layout import StateLayout
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.sources.read_context import Names

Files = dict[tuple[int, int], PinnedFiles]
Splits = dict[tuple[int, int], list[tuple[int, int | None]]]


@dataclass(frozen=True, slots=True)
class Restored:
    """The state and positions that a new job takes over.

    Attributes:
        goes_on: Index of the run of each pipeline that goes on with state and positions.
        skips: Runs that are not executed, because they are before these.
        handed: Watermarks and memory.
        state_files: Names of the state files in the directory `restored`.
        splits: (source id, part) to position and end of every split.
        left: (source id, part) to the bounded files still to read.
        read: (source id, part) to the files already read.
        read_frames: Sources whose batch DataFrame is already read.
        names: (source id, part) to the ids of the splits, of sources that name them.
        snapshots: Source id to the record of a snapshot that is not read to its end.
        switches: (source id, part) to the switch at which the source of the part is made.
        parts: Source id to the part in which it goes on.
        layout: Layout of watermarks and state files; None before it is recorded.
        began: (source id, part) to the splits with which the first of these jobs began to read it; None if that was not
            recorded.
    """

    savepoint: str
    goes_on: tuple[int, ...]
    handed: HandOver
    state_files: tuple[str, ...] = ()
    splits: Splits = field(default_factory=dict)
    left: Files = field(default_factory=dict)
    read: Files = field(default_factory=dict)
    read_frames: frozenset[int] = frozenset()
    skips: frozenset[int] = frozenset()
    names: dict[tuple[int, int], Names] = field(default_factory=dict)
    snapshots: dict[int, dict[str, Any]] = field(default_factory=dict)
    switches: dict[tuple[int, int], SourceSwitch] = field(default_factory=dict)
    parts: dict[int, int] = field(default_factory=dict)
    layout: StateLayout | None = None
    began: dict[tuple[int, int], Any] = field(default_factory=dict)

    def moved(self, plan: PhysicalPlan, layout: StateLayout, fingerprint: str) -> Restored:
        """Return the same for a plan that may have other channels than the one it was recorded for."""
        return replace(self, handed=layout.moved(self.handed, plan, fingerprint), layout=layout)

    def has_passed(self, source: int, part: int) -> bool:
        """Return whether a source goes on in a later part, so that nothing is left of this one."""
        if source in self.parts:
            return self.parts[source] > part
        return any(of == source and index > part for of, index in self.splits)

    def of_sources(self, sources: Collection[int]) -> Restored:
        """Return the same with the positions of some sources only."""
        return replace(
            self,
            splits={key: value for key, value in self.splits.items() if key[0] in sources},
            left={key: value for key, value in self.left.items() if key[0] in sources},
            read={key: value for key, value in self.read.items() if key[0] in sources},
            read_frames=self.read_frames.intersection(sources),
            names={key: value for key, value in self.names.items() if key[0] in sources},
            snapshots={key: value for key, value in self.snapshots.items() if key in sources},
            switches={key: value for key, value in self.switches.items() if key[0] in sources},
            parts={key: value for key, value in self.parts.items() if key in sources},
            began={key: value for key, value in self.began.items() if key[0] in sources},
        )

    def to_json(self) -> dict[str, Any]:
        """Return the form to record."""
        return {
            "savepoint": self.savepoint,
            "runs": list(self.goes_on),
            "skips": sorted(self.skips),
            "handed": {
                "watermarks": describe_watermarks(self.handed.watermarks),
                "memory": self.handed.memory,
            },
            "state_files": list(self.state_files),
            "splits": [[*key, splits] for key, splits in self.splits.items()],
            "left": [[*key, files.to_json()] for key, files in self.left.items()],
            "read": [[*key, files.to_json()] for key, files in self.read.items()],
            "read_frames": sorted(self.read_frames),
            "names": [[*key, names] for key, names in self.names.items()],
            "snapshots": [[*pair] for pair in self.snapshots.items()],
            "switches": [[*key, switch.to_json()] for key, switch in self.switches.items()],
            "parts": [[*pair] for pair in self.parts.items()],
            **({} if self.layout is None else {"layout": self.layout.to_json()}),
            "began": [[*key, splits] for key, splits in self.began.items()],
        }

    @classmethod
    def from_json(cls, recorded: dict[str, Any]) -> Restored:
        """Return the object that `to_json` encoded."""
        left, read = (
            {(source, part): PinnedFiles.from_json(files) for source, part, files in recorded[name]}
            for name in ("left", "read")
        )
        return cls(
            savepoint=recorded["savepoint"],
            goes_on=tuple(recorded["runs"]),
            skips=skipped_runs(recorded),
            handed=read_hand_over(recorded["handed"]),
            state_files=tuple(recorded["state_files"]),
            splits={
                (source, part): [(position, end) for position, end in splits]
                for source, part, splits in recorded["splits"]
            },
            left=left,
            read=read,
            read_frames=frozenset(recorded["read_frames"]),
            names={(source, part): tuple(names) for source, part, names in recorded["names"]},
            snapshots=dict(recorded["snapshots"]),
            switches={
                (source, part): SourceSwitch.from_json(switch)
                for source, part, switch in recorded["switches"]
            },
            parts=dict(recorded["parts"]),
            began={(source, part): splits for source, part, splits in recorded["began"]},
        )
