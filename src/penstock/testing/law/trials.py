"""Two ways to run a program over one input, and the sinks at which their answers part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.testing.law.comparison import Difference, compare
from penstock.testing.law.outcomes import CheckedProgram, WayOutcome
from penstock.testing.law.samples import Inputs
from penstock.testing.law.ways import Way

FAILURE = -1
"""Stands for a sink: one of two ways fails."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A way that has run, with its outcome."""

    way: Way
    outcome: WayOutcome


@dataclass(frozen=True, slots=True)
class Trial:
    """Two ways of a program over an input.

    Attributes:
        program: The program.
        inputs: Node id of each source to its records.
        first: A way.
        second: Another way, or the same.
    """

    program: CheckedProgram
    inputs: Inputs
    first: Way
    second: Way

    def hear(self) -> tuple[Heard, Heard]:
        """Run both ways."""
        one, other = (self.program.run(self.inputs, way) for way in (self.first, self.second))
        return Heard(self.first, one), Heard(self.second, other)


def differences(program: CheckedProgram, one: Heard, other: Heard) -> Iterator[Difference | None]:
    """Yield the difference at each sink; None where the answers are the same."""
    for at, sink in enumerate(program.sinks):
        yield compare(sink.rule, one.outcome.received[at], other.outcome.received[at])


def parting_sinks(program: CheckedProgram, one: Heard, other: Heard) -> list[int]:
    """Return the indexes of the sinks whose answers break the law; `FAILURE` if one way fails."""
    if one.outcome.is_refused or other.outcome.is_refused:
        return []
    failures = (one.outcome.failure, other.outcome.failure)
    codes = [None if failure is None else failure.code for failure in failures]
    if any(codes):
        return [FAILURE] if codes[0] != codes[1] else []
    pairs = enumerate(differences(program, one, other))
    return [at for at, difference in pairs if difference is not None and difference.breaks_law]
