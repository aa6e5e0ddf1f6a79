"""Facts about subtasks, state and sinks, which are shown and decide nothing.

All of it comes with the reports of tasks, which are sent anyway: a record costs nothing more.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class CommitCost:
    """Cost of the commits of one sink.

    Attributes:
        nanoseconds: Their duration in the driver.
        files: Files that became visible; None if the sink has none.
        size_bytes: Their size; None if the sink does not report it.
    """

    commits: int = 0
    nanoseconds: int = 0
    files: int | None = None
    size_bytes: int | None = None

    def __add__(self, other: CommitCost) -> CommitCost:
        """Return both together."""
        return CommitCost(
            self.commits + other.commits,
            self.nanoseconds + other.nanoseconds,
            _sum(self.files, other.files),
            _sum(self.size_bytes, other.size_bytes),
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)


@dataclass(frozen=True, slots=True)
class Facts:
    """Sums of `TaskFacts`, as events carry them.

    Attributes:
        subtasks: uid to records received by each subtask, in the run that reported last.
        state_keys: uid to keys with state, over all subtasks; only if each of them has counted them.
        state_bytes: uid to what its state takes in the checkpoint.
        sinks: uid of a sink to `records`, `commits`, `seconds`, and `files` and `bytes` if the sink reports them.
    """

    subtasks: Mapping[str, Sequence[int]] = field(default_factory=dict)
    state_keys: Mapping[str, int] = field(default_factory=dict)
    state_bytes: Mapping[str, int] = field(default_factory=dict)
    sinks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


class TaskFacts:
    """Adds up what tasks and commits report. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[str, int] = {}
        self._subtasks: dict[str, list[int]] = {}
        self._keys: dict[str, dict[int, int | None]] = {}
        self._log_bytes: dict[int, dict[int, int]] = {}
        self._written: dict[int, dict[str, int]] = {}
        self._sink_records: dict[str, int] = {}
        self._commits: dict[str, CommitCost] = {}

    def add_records(self, run: int, subtasks: Mapping[str, Mapping[int, int]]) -> None:
        """Add records of operators."""
        with self._lock:
            for uid, received in subtasks.items():
                if self._runs.get(uid) != run:
                    self._runs[uid] = run
                    self._subtasks[uid] = []
                counts = self._subtasks[uid]
                counts += [0] * (max(received, default=-1) + 1 - len(counts))
                for subtask, count in received.items():
                    counts[subtask] += count

    def forget_subtasks(self) -> None:
        """Forget the reports of single subtasks: the job goes on with others."""
        with self._lock:
            self._runs.clear()
            self._subtasks.clear()
            self._keys.clear()
            self._log_bytes.clear()

    def add_state(
        self,
        keys: Mapping[str, Mapping[int, int | None]],
        log_bytes: Mapping[tuple[int, int], int],
        written: Mapping[str, int],
        level_of: Mapping[str, int],
    ) -> None:
        """Note sizes of state."""
        with self._lock:
            for uid, counted in keys.items():
                self._keys.setdefault(uid, {}).update(counted)
            for (level, subtask), size in log_bytes.items():
                self._log_bytes.setdefault(level, {})[subtask] = size
            for uid, size in written.items():
                of_level = self._written.setdefault(level_of.get(uid, 0), {})
                of_level[uid] = of_level.get(uid, 0) + size

    def add_sinks(self, records: Mapping[str, int], commits: Mapping[str, CommitCost]) -> None:
        """Add what sinks got, and what their commits took."""
        with self._lock:
            for uid, count in records.items():
                self._sink_records[uid] = self._sink_records.get(uid, 0) + count
            for uid, cost in commits.items():
                self._commits[uid] = self._commits.get(uid, CommitCost()) + cost

    def facts(self) -> Facts:
        """Return what is known now."""
        with self._lock:
            return Facts(
                {uid: tuple(counts) for uid, counts in self._subtasks.items()},
                self._state_keys(),
                self._state_bytes(),
                {uid: self._sink(uid) for uid in self._sink_records.keys() | self._commits},
            )

    def _state_keys(self) -> dict[str, int]:
        counts = {}
        for uid, counted in self._keys.items():
            known = [keys for keys in counted.values() if keys is not None]
            if len(known) == len(counted):
                counts[uid] = sum(known)
        return counts

    def _state_bytes(self) -> dict[str, int]:
        """Return the sizes of the logs, divided among the operators of a level by written bytes."""
        sizes = {}
        for level, written in self._written.items():
            size, total = sum(self._log_bytes.get(level, {}).values()), sum(written.values())
            sizes.update({uid: size * own // total for uid, own in written.items() if total})
        return sizes

    def _sink(self, uid: str) -> dict[str, float]:
        cost = self._commits.get(uid, CommitCost())
        known: dict[str, float] = {
            "records": self._sink_records.get(uid, 0),
            "commits": cost.commits,
            "seconds": cost.nanoseconds / _NANOSECONDS,
        }
        volume = {"files": cost.files, "bytes": cost.size_bytes}
        return known | {name: count for name, count in volume.items() if count is not None}
