"""What a benchmark prints: one object, the same for every program.

Everything derived (medians, throughput, ratios, figures) is computed here from what the systems
answered. A ratio needs right outputs on both sides: a fast wrong answer has no speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.model.measurement import Measurement, Skipped
from benchmarks.model.program import BenchProgram, Case
from benchmarks.reporting.figures import FIGURES
from benchmarks.reporting.judging import Figure, ratio_name


@dataclass(frozen=True, slots=True)
class BenchResult:
    """The result of one program.

    Attributes:
        program: Which.
        cases: The points it was measured at.
        machine: See `benchmarks.reporting.machine`.
        versions: Likewise.
        commit: Likewise.
        measurements: Systems at cases.
        skipped: What was left out.
        figures: The table of goals.
        wall_seconds: From its begin to its end, with the start of all systems.
    """

    program: BenchProgram
    cases: Sequence[Case]
    machine: Mapping[str, Any]
    versions: Mapping[str, str | None]
    commit: str | None
    measurements: Sequence[Measurement]
    skipped: Sequence[Skipped]
    figures: tuple[Figure, ...] = field(default=FIGURES)
    wall_seconds: float | None = None

    @property
    def exit_status(self) -> int:
        """0 if our systems ran to their end and all outputs agree, 1 otherwise."""
        right = all(measured.is_right for measured in self.measurements)
        return 0 if right and not any(left_out.is_failure for left_out in self.skipped) else 1

    def ratios(self) -> dict[str, float]:
        """Return ours over each peer, and each of ours over those before it.

        Of throughput; of the median latency where it is latency that is measured.
        """
        return dict(self._ratio(one, other) for one, other in self._comparable())

    def judged(self) -> list[dict[str, Any]]:
        """Return every figure this run can judge."""
        mine = [figure for figure in self.figures if figure.program == self.program.name]
        right = [measured for measured in self.measurements if measured.is_right]
        found = [figure.judge(right, self.program.reference) for figure in mine]
        return [judgement.to_json() for judgement in found if judgement is not None]

    def to_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        records = _one_or_all([case.records for case in self.cases])
        keys = _one_or_all([case.keys for case in self.cases])
        return {
            "name": self.program.name,
            "records": records,
            "keys": keys,
            "machine": dict(self.machine),
            "versions": dict(self.versions),
            "commit": self.commit,
            "runs": self.cases[0].rounds,
            "wall_seconds": self.wall_seconds,
            "options": dict(self.cases[0].options),
            "settings": dict(self.cases[0].settings),
            "results": [measured.to_json() for measured in self.measurements],
            "ratios": self.ratios(),
            "figures": self.judged(),
            "skipped": [left_out.to_json() for left_out in self.skipped],
        }

    def _ratio(self, one: Measurement, other: Measurement) -> tuple[str, float]:
        above, below = one.quantile_ms("p50"), other.quantile_ms("p50")
        if above is not None and below is not None:
            return f"p50 of {ratio_name(one, other)}", round(above / below, 3)
        return ratio_name(one, other), round(one.records_per_ms / other.records_per_ms, 3)

    def _comparable(self) -> Iterator[tuple[Measurement, Measurement]]:
        right = [measured for measured in self.measurements if measured.is_right]
        for place, one in enumerate(right):
            for other_place, other in enumerate(right):
                earlier = other.system.is_peer or other_place < place
                if not one.system.is_peer and earlier and one.case == other.case:
                    yield one, other


def _one_or_all(numbers: list[int]) -> int | list[int]:
    return numbers[0] if len(set(numbers)) == 1 else numbers
