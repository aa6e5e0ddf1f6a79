"""One system measured at one case, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import itemgetter
from statistics import median
from typing import Any

from benchmarks.model.program import BenchSystem, Case, Outputs

LATENCY = "latency_ms"
"""In the answer to a round: quantile to milliseconds from event to sink."""

PROFILE = "profile"
"""In the answer of our systems to a round: where its time went, see `JobProfile.to_json`."""

_MEASURED = frozenset({"records", "seconds", "latencies", LATENCY, PROFILE})


@dataclass(frozen=True, slots=True)
class Measurement:
    """One system at one case.

    Attributes:
        system: Which.
        case: Where.
        rounds: Answers to `round`, in order.
        warm_up: Answer to `warm_up`.
        outputs: Answer to `check`.
        expected: The right answer.
        peak_memory_bytes: By role.
    """

    system: BenchSystem
    case: Case
    rounds: Sequence[Mapping[str, Any]]
    warm_up: Mapping[str, Any]
    outputs: Outputs
    expected: Outputs
    peak_memory_bytes: Mapping[str, int]

    @property
    def is_right(self) -> bool:
        """Whether the outputs are what they must be."""
        return self.outputs == self.expected

    @property
    def records_per_ms(self) -> float:
        """Records of a round over the median of its seconds."""
        seconds = float(median(answer["seconds"] for answer in self.rounds))
        return float(self.rounds[0]["records"]) / seconds / 1000

    @property
    def memory_bytes(self) -> int:
        """Peaks of driver, JVM and all workers, added up."""
        return sum(self.peak_memory_bytes.get(role, 0) for role in ("driver", "jvm", "workers"))

    def quantile_ms(self, name: str) -> float | None:
        """Return the median over rounds of a quantile of latency; None if none was measured."""
        found = [answer[LATENCY][name] for answer in self.rounds if LATENCY in answer]
        return float(median(found)) if found else None

    def to_json(self) -> dict[str, Any]:
        """Return the object of this system."""
        latencies = [each for answer in self.rounds for each in answer.get("latencies", ())]
        return {
            "system": self.system.name,
            "mode": self.system.mode,
            "options": {
                **self.system.options,
                "keys": self.case.keys,
                "parallelism": self.case.parallelism,
            },
            "records": self.rounds[0]["records"],
            "seconds": spread([answer["seconds"] for answer in self.rounds]),
            "records_per_ms": round(self.records_per_ms, 3),
            **({"micro_batch_seconds": spread(latencies)} if latencies else {}),
            **self._quantiles(),
            **self._profile(),
            "peak_memory_bytes": dict(self.peak_memory_bytes),
            "outputs": asdict(self.outputs),
            "outputs_equal": self.is_right,
            "details": {
                **self.warm_up,
                **{
                    name: [answer[name] for answer in self.rounds]
                    for name in self.rounds[0]
                    if name not in _MEASURED
                },
            },
            "note": self.system.note,
        }

    def _quantiles(self) -> dict[str, dict[str, float | None]]:
        names = self.rounds[0].get(LATENCY, ())
        return {LATENCY: {name: self.quantile_ms(name) for name in names}} if names else {}

    def _profile(self) -> dict[str, Any]:
        """Return the profile of the round that took the median time; parts of one add up."""
        by_time = sorted(self.rounds, key=itemgetter("seconds"))
        typical = by_time[(len(by_time) - 1) // 2]
        return {PROFILE: typical[PROFILE]} if PROFILE in typical else {}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A system that was left out.

    Attributes:
        system: Its name.
        keys: At which number of keys.
        reason: Why.
        is_failure: Whether it should have taken part: one of ours, which did not run to its end.
    """

    system: str
    keys: int
    reason: str
    is_failure: bool

    def to_json(self) -> dict[str, Any]:
        """Return the object of this system."""
        return asdict(self)


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return minimum, median and maximum, in microseconds' precision.

    >>> spread([3.0, 1.0, 2.0])
    {'min': 1.0, 'median': 2.0, 'max': 3.0}
    """
    return {
        "min": round(min(values), 6),
        "median": round(median(values), 6),
        "max": round(max(values), 6),
    }
