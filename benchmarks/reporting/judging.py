"""Kinds of figures: what of a run is compared with what, and whether it reaches the goal.

A figure of several candidates (several numbers of keys, say) is judged by its worst one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Any

from benchmarks.model.measurement import Measurement

Candidate = tuple[str, float]
"""What is divided by what, in words, and the quotient."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A figure as a run has it.

    Attributes:
        id: As in the list of figures.
        ratio: What is divided by what.
        value: The quotient.
        goal: What it is to be.
        at_most: Whether it must not exceed the goal, rather than not fall below.
    """

    id: str
    ratio: str
    value: float
    goal: float
    at_most: bool

    @property
    def reached(self) -> bool:
        """Whether the value reaches the goal."""
        return self.value <= self.goal if self.at_most else self.value >= self.goal

    def to_json(self) -> dict[str, Any]:
        """Return the object in `figures`."""
        return {
            "id": self.id,
            "ratio": self.ratio,
            "value": round(self.value, 3),
            "goal": self.goal,
            "bound": "at most" if self.at_most else "at least",
            "reached": self.reached,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure(ABC):
    """A goal for one ratio of a program.

    Attributes:
        id: As in the list of figures.
        program: Name of the program that judges it.
        goal: The least ratio, or the greatest.
        of: Name of the system it is about; None is the program's reference.
        at_most: Whether `goal` is the greatest ratio.
    """

    id: str
    program: str
    goal: float
    of: str | None = None
    at_most: bool = False

    def judge(self, measured: Sequence[Measurement], reference: str) -> Judgement | None:
        """Return the worst candidate; None if the run has none.

        Args:
            measured: Systems at cases, those with right outputs.
            reference: The program's.
        """
        name = self.of or reference
        mine = [each for each in measured if each.system.name == name]
        found = list(self.candidates(mine, measured))
        if not found:
            return None
        worst = max if self.at_most else min
        ratio, value = worst(found, key=lambda candidate: candidate[1])
        return Judgement(self.id, ratio, value, self.goal, self.at_most)

    @abstractmethod
    def candidates(
        self, mine: Sequence[Measurement], measured: Sequence[Measurement]
    ) -> Iterator[Candidate]:
        """Return the ratios it could be judged by.

        Args:
            mine: The system it is about, at all cases.
            measured: All systems at all cases.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput(Figure):
    """Throughput over that of the fastest of some systems at the same case.

    Attributes:
        against: Names of systems, peers or ours.
        keys: Number of keys it is about; None is any.
        records: Number of records it is about; None is any.
    """

    against: tuple[str, ...]
    keys: int | None = None
    records: int | None = None

    def candidates(
        self, mine: Sequence[Measurement], measured: Sequence[Measurement]
    ) -> Iterator[Candidate]:
        """Compare with every one of `against`."""
        for one, other in product(mine, measured):
            is_other = other.system.name in self.against and other.case == one.case
            is_meant = self.keys in {None, one.case.keys} and (
                self.records in {None, one.case.records}
            )
            if is_other and is_meant:
                yield ratio_name(one, other), one.records_per_ms / other.records_per_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency(Figure):
    """A quantile of latency over that of the quickest of some systems at the same case.

    Attributes:
        against: Names of systems.
        quantile: `p50` or `p99`.
    """

    against: tuple[str, ...]
    quantile: str = "p50"
    at_most: bool = True

    def candidates(
        self, mine: Sequence[Measurement], measured: Sequence[Measurement]
    ) -> Iterator[Candidate]:
        """Compare with every one of `against`."""
        for one, other in product(mine, measured):
            above, below = one.quantile_ms(self.quantile), other.quantile_ms(self.quantile)
            is_other = other.system.name in self.against and other.case == one.case
            if is_other and above is not None and below is not None:
                yield f"{self.quantile} of {ratio_name(one, other)}", above / below


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth(Figure):
    """Throughput at the most records over that at the fewest, with the same cores."""

    def candidates(
        self, mine: Sequence[Measurement], measured: Sequence[Measurement]
    ) -> Iterator[Candidate]:
        """Compare the ends of the range of records."""
        for few, many in _ends(mine):
            name = f"{many.system.name}, {many.case.records:,} / {few.case.records:,} records"
            yield name, many.records_per_ms / few.records_per_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGrowth(Figure):
    """Peak memory of driver, JVM and workers at the most records over that at the fewest.

    Attributes:
        role: Whose memory it is, of those in `peak_memory_bytes`; empty is that of all three.
    """

    at_most: bool = True
    role: str = ""

    def candidates(
        self, mine: Sequence[Measurement], measured: Sequence[Measurement]
    ) -> Iterator[Candidate]:
        """Compare the ends of the range of records."""
        for few, many in _ends(mine):
            whose = f"memory of {self.role or 'all'}".removesuffix(" of all")
            name = f"{many.system.name}, {many.case.records:,} / {few.case.records:,} records"
            yield f"{whose} of {name}", self._bytes(many) / self._bytes(few)

    def _bytes(self, measured: Measurement) -> int:
        return measured.peak_memory_bytes[self.role] if self.role else measured.memory_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Cores(Figure):
    """Throughput with more cores over that with one, at the same records.

    Attributes:
        cores: How many.
    """

    cores: int = 2

    def candidates(
        self, mine: Sequence[Measurement], measured: Sequence[Measurement]
    ) -> Iterator[Candidate]:
        """Compare the case with `cores` with that of one."""
        for one, other in product(mine, mine):
            same = (one.case.records, one.case.keys) == (other.case.records, other.case.keys)
            if same and (one.case.parallelism, other.case.parallelism) == (self.cores, 1):
                name = f"{one.system.name}, {self.cores} cores / 1, {one.case.records:,} records"
                yield name, one.records_per_ms / other.records_per_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds(Figure):
    """The median of the seconds of a round, of its own: no ratio."""

    at_most: bool = True

    def candidates(
        self, mine: Sequence[Measurement], measured: Sequence[Measurement]
    ) -> Iterator[Candidate]:
        """Read the rounds."""
        for one in mine:
            yield f"seconds of {one.system.name}", median(each["seconds"] for each in one.rounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported(Figure):
    """A ratio that the system itself computed in each round; the median of them.

    Attributes:
        name: As in its answers.
        what: What is divided by what, in words.
    """

    name: str
    what: str
    at_most: bool = True

    def candidates(
        self, mine: Sequence[Measurement], measured: Sequence[Measurement]
    ) -> Iterator[Candidate]:
        """Read the answers."""
        for one in mine:
            found = [float(answer[self.name]) for answer in one.rounds if self.name in answer]
            if found:
                yield f"{self.what}, {one.system.name}, {one.case.keys} keys", median(found)


def ratio_name(one: Measurement, other: Measurement) -> str:
    """Return what is divided by what: two systems at one case."""
    case = one.case
    cores = ", 1 core" if case.parallelism == 1 else ""
    size = f"{case.keys} keys" if case.keys > 1 else f"{case.records:,} records"
    return f"{one.system.name} / {other.system.name}, {size}{cores}"


def _ends(mine: Sequence[Measurement]) -> Iterator[tuple[Measurement, Measurement]]:
    """Return, per number of cores, the measurements with the fewest and the most records."""
    for parallelism in sorted({each.case.parallelism for each in mine}):
        at = [each for each in mine if each.case.parallelism == parallelism]
        few = min(at, key=lambda each: each.case.records)
        many = max(at, key=lambda each: each.case.records)
        if many.case.records > few.case.records:
            yield few, many
