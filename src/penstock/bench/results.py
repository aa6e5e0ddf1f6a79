"""What a benchmark prints: one object, the same for every program.

Everything derived (medians, throughput, ratios, figures) is computed here from what the systems
answered. A ratio needs right outputs on both sides: a fast wrong answer has no speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from penstock.bench.figures import FIGURES, Figure
from penstock.bench.program import BenchProgram, BenchSystem, Case, Outputs

_MEASURED = frozenset({"records", "seconds", "latencies"})


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
        return {"system": self.system, "keys": self.keys, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class BenchResult:
    """The result of one program.

    Attributes:
        program: Which.
        cases: The points it was measured at.
        machine: See `penstock.bench.machine`.
        versions: Likewise.
        commit: Likewise.
        measurements: Systems at cases.
        skipped: What was left out.
        figures: The table of goals.
    """

    program: BenchProgram
    cases: Sequence[Case]
    machine: Mapping[str, Any]
    versions: Mapping[str, str | None]
    commit: str | None
    measurements: Sequence[Measurement]
    skipped: Sequence[Skipped]
    figures: tuple[Figure, ...] = field(default=FIGURES)

    @property
    def exit_status(self) -> int:
        """0 if our systems ran to their end and all outputs agree, 1 otherwise."""
        right = all(measured.is_right for measured in self.measurements)
        return 0 if right and not any(left_out.is_failure for left_out in self.skipped) else 1

    def ratios(self) -> dict[str, float]:
        """Return ours over each peer, and each of ours over those before it."""
        return {
            _ratio_name(one, other): round(one.records_per_ms / other.records_per_ms, 3)
            for one, other in self._comparable()
        }

    def judged(self) -> list[dict[str, Any]]:
        """Return every figure this run can judge."""
        found = []
        for figure in self.figures:
            if figure.program != self.program.name:
                continue
            pairs = [
                (one, other)
                for one, other in self._comparable()
                if one.system.name == self.program.reference
                and other.system.name in figure.against
                and figure.keys in (None, one.case.keys)
            ]
            if pairs:
                one, other = min(pairs, key=lambda pair: _ratio(*pair))
                value = _ratio(one, other)
                found.append(
                    {
                        "id": figure.id,
                        "ratio": _ratio_name(one, other),
                        "value": round(value, 3),
                        "goal": figure.goal,
                        "reached": value >= figure.goal,
                    }
                )
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        keys = [case.keys for case in self.cases]
        return {
            "name": self.program.name,
            "records": self.cases[0].records,
            "keys": keys[0] if len(keys) == 1 else keys,
            "machine": dict(self.machine),
            "versions": dict(self.versions),
            "commit": self.commit,
            "runs": self.cases[0].rounds,
            "options": dict(self.cases[0].options),
            "settings": dict(self.cases[0].settings),
            "results": [measured.to_json() for measured in self.measurements],
            "ratios": self.ratios(),
            "figures": self.judged(),
            "skipped": [left_out.to_json() for left_out in self.skipped],
        }

    def _comparable(self) -> Iterator[tuple[Measurement, Measurement]]:
        right = [measured for measured in self.measurements if measured.is_right]
        for place, one in enumerate(right):
            for other_place, other in enumerate(right):
                earlier = other.system.is_peer or other_place < place
                if not one.system.is_peer and earlier and one.case == other.case:
                    yield one, other


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


def _ratio(one: Measurement, other: Measurement) -> float:
    return one.records_per_ms / other.records_per_ms


def _ratio_name(one: Measurement, other: Measurement) -> str:
    return f"{one.system.name} / {other.system.name}, {one.case.keys} keys"
