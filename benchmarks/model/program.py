"""What a benchmark program is: a row of `catalog.PROGRAMS`.

A program names its systems, prepares their input, and knows the right outputs. Everything else
(processes, rounds, memory, ratios, figures, JSON) is the same for all programs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a system put out, as far as it is compared.

    Attributes:
        count: Rows.
        digest: See `benchmarks.model.digest`.
    """

    count: int
    digest: str


@dataclass(frozen=True, slots=True)
class Case:
    """One point a program is measured at.

    Attributes:
        records: Measured records of a round.
        keys: Number of different keys.
        parallelism: Cores and subtasks of every system.
        rounds: Measured rounds.
        options: The program's own options.
        settings: Settings of Penstock, for our systems.
    """

    records: int
    keys: int
    parallelism: int
    rounds: int
    options: Mapping[str, int]
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BenchSystem:
    """Something that runs the program in a process of its own.

    Attributes:
        name: As in results and on the command line.
        command: Returns the command of the process, which speaks the protocol of
            `benchmarks.systems.serve`. Raises `SystemMissingError` if it cannot be started here.
        is_peer: Whether it is compared against, rather than ours.
        by_default: Whether it takes part if nobody names systems of its kind.
        mode: Execution mode, for the result.
        options: Settings that set it apart from the other systems; sent to the process.
        max_keys: Largest number of keys it is run with; None is no limit.
        is_slow: Whether rounds are shorter for it; throughput is compared per record.
        note: What a reader must know to compare fairly.
    """

    name: str
    command: Callable[[], list[str]]
    is_peer: bool
    by_default: bool = True
    mode: str = "STREAMING"
    options: Mapping[str, str] = field(default_factory=dict)
    max_keys: int | None = None
    is_slow: bool = False
    note: str = ""


class Workload(ABC):
    """The prepared input of one case."""

    @abstractmethod
    def specification(self, system: BenchSystem, work: Path) -> dict[str, Any]:
        """Return what the process of `system` is told at its start; JSON values only.

        Args:
            system: A system of the program.
            work: An empty directory of its own.
        """

    @abstractmethod
    def expected(self, system: BenchSystem, rounds: int) -> Outputs:
        """Return the right outputs of `system` after warm-up, `rounds` rounds and check.

        Computed without Penstock and without Spark, so that no two systems can be wrong in
        the same way unnoticed.
        """


@dataclass(frozen=True, slots=True)
class Point:
    """Records, keys and cores of a case; None leaves it to the default."""

    records: int | None = None
    keys: int | None = None
    parallelism: int | None = None


@dataclass(frozen=True, slots=True)
class BenchProgram:
    """One benchmark.

    Attributes:
        name: On the command line and in results.
        summary: One line for people.
        systems: In the order in which they take turns.
        reference: Name of the system of ours that figures are about.
        records: Default of `Case.records`.
        keys: Default of `Case.keys`.
        options: The program's own options with their defaults.
        prepare: Writes the input of a case below a directory.
        points: Where it is measured if the command line names neither records, keys nor
            parallelism; empty is once, at the defaults.
        keys_of: Number of keys by number of records, where the one follows from the other.
        measure: Measures the systems of a micro benchmark in this very process, instead of
            processes of their own: case, systems and who is told what goes on, to what was
            measured and what was left out.
    """

    name: str
    summary: str
    systems: tuple[BenchSystem, ...]
    reference: str
    records: int
    keys: int
    options: Mapping[str, int]
    prepare: Callable[[Case, Path], Workload]
    points: Sequence[Point] = ()
    keys_of: Callable[[int], int] | None = None
    measure: Callable[[Case, Sequence[BenchSystem], Callable[[str], None]], Any] | None = None

    def cases_at(self, asked: Point, keys: Sequence[int]) -> list[Point]:
        """Return the points to measure, complete but for `parallelism`.

        Args:
            asked: What the command line says.
            keys: Numbers of keys it says, one after the other.
        """
        points = self.points if not keys and asked == Point() else ()
        if not points:
            points = [Point(asked.records, each, asked.parallelism) for each in keys or (None,)]
        return [self._complete(point) for point in points]

    def _complete(self, point: Point) -> Point:
        records = point.records or self.records
        derived = self.keys if self.keys_of is None else self.keys_of(records)
        return Point(records, point.keys or derived, point.parallelism)
