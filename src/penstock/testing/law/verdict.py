"""The verdict of a check: one answer in all ways, or the smallest difference that was found; and the trial of two ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from penstock.errors import CallSite, PenstockError
from penstock.testing.causes import Cause
from penstock.testing.law.comparison import Difference, compare
from penstock.testing.law.outcomes import CheckedProgram, WayOutcome
from penstock.testing.law.samples import Inputs, Sample
from penstock.testing.law.ways import Way

_MOST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Dependence:
    """An exception of the law on which an answer depends.

    Attributes:
        sink: Name of the sink whose answers differ; None if only some ways fail.
        on: The exception, in words.
        page: Page of the documentation, with its heading.
    """

    sink: str | None
    on: str
    page: str

    def __str__(self) -> str:
        """Return the text for people."""
        subject = "a failure" if self.sink is None else f"sink {self.sink!r}"
        return f"note: {subject} depends on {self.on}\n  see {self.page}"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two ways that give two answers, on the smallest input that was found.

    Attributes:
        sink: Name of the sink whose answers differ; None if only one of the ways fails.
        rule: The part of its records that is compared, in words.
        second: Another way; or the same, if a program does not repeat its answer.
        difference: The records that only one of them gave; None if a way failed.
        failures: The error of each way, None without one.
        operator: Name of the first operator whose results differ; None if none alone does.
        origin: The user's line of that operator.
    """

    sink: str | None
    rule: str
    first: Way
    second: Way
    inputs: Mapping[str, Sample]
    difference: Difference | None
    failures: tuple[PenstockError | None, PenstockError | None] = (None, None)
    operator: str | None = None
    origin: CallSite | None = None

    def lines(self) -> Iterator[str]:
        """Yield the text for people."""
        total = sum(map(len, self.inputs.values()))
        what = "one way fails" if self.sink is None else f"sink {self.sink!r} gets two answers"
        yield f"{what} for {total} record{'s' * (total != 1)}:"
        for name, sample in self.inputs.items():
            shown = [element.value for element in sample]
            yield f"  source {name!r}: {_shown(shown)}"
        only = (
            ((), ()) if self.difference is None else (self.difference.first, self.difference.second)
        )
        for way, records, failure in zip(
            (self.first, self.second), only, self.failures, strict=True
        ):
            yield f"  {way.describe()}:"
            yield f"    {self._part(records, failure)}"
        if self.sink is not None:
            yield f"  compared: {self.rule}"
        if self.operator is not None:
            place = "" if self.origin is None else f", {self.origin}"
            yield f"  they part at the operator {self.operator!r}{place}"

    def _part(self, records: Sequence[Any], failure: PenstockError | None) -> str:
        if failure is not None:
            return f"failed: [{failure.code}] {failure.problem}"
        if self.difference is None:
            return "did not fail"
        return f"only here: {_shown(records)}" if records else "nothing that the other lacks"

    def to_json(self) -> dict[str, Any]:
        """Return the disagreement as values of JSON; records are shown as Python does."""
        only = (
            ((), ()) if self.difference is None else (self.difference.first, self.difference.second)
        )
        return {
            "sink": self.sink,
            "rule": self.rule,
            "inputs": {
                name: [repr(element.value) for element in sample]
                for name, sample in self.inputs.items()
            },
            "ways": [
                {
                    "way": repr(way),
                    "only_here": list(map(repr, records)),
                    "error": None if failure is None else failure.code,
                }
                for way, records, failure in zip(
                    (self.first, self.second), only, self.failures, strict=True
                )
            ],
            "operator": self.operator,
            "line": None if self.origin is None else str(self.origin),
        }


@dataclass(frozen=True, slots=True)
class LawVerdict:
    """The result of a check. Its text is for people, `to_json()` for programs.

    Attributes:
        ways: Number of ways in which the program ran.
        records: Name of each source to the number of its records.
        disagreement: Two ways that give two answers; None if all give the same.
        rounding: The greatest difference of two floats that the order of additions explains; None if all are equal.
        notes: Sentences about sinks that are not compared, ways that are refused, and equal numbers of other forms.
        seed: The seed of the ways.
        causes: Known causes of two answers in the functions of the program; without a difference those that are
            certain.
        dependences: Exceptions of the law on which answers depend.

    Example:
        >>> sink = numbers.map(lambda n: 10 * n).sink_to(DiscardingSink())
        >>> verdict = check(env, ways=20)
        >>> print(verdict)
        same answer in 20 ways (4 records, seed 0)
        >>> verdict.is_same, verdict.to_json()["records"]
        (True, {'Collection': 4})
    """

    ways: int
    records: Mapping[str, int]
    disagreement: Disagreement | None = None
    rounding: float | None = None
    notes: tuple[str, ...] = ()
    seed: int = 0
    causes: tuple[Cause, ...] = ()
    dependences: tuple[Dependence, ...] = ()

    @property
    def is_same(self) -> bool:
        """True if every way gave the same answer, but for exceptions of the law."""
        return self.disagreement is None

    def __str__(self) -> str:
        """Return the text for people."""
        if self.disagreement is None:
            total = sum(self.records.values())
            but = ", but for exceptions of the law" if self.dependences else ""
            lines = [f"same answer in {self.ways} ways{but} ({total} records, seed {self.seed})"]
        else:
            lines = [
                f"two answers, after {self.ways} ways (seed {self.seed})",
                *self.disagreement.lines(),
            ]
        if self.rounding is not None:
            lines.append(
                f"note: sums of floats depend on the order of additions, by up to {self.rounding:.2g}"
            )
        lines += (f"note: {note}" for note in self.notes)
        lines += map(str, self.dependences)
        return "\n".join([*lines, *map(self._of_cause, self.causes)])

    def _of_cause(self, cause: Cause) -> str:
        operator = None if self.disagreement is None else self.disagreement.operator
        word = "cause" if operator == cause.operator else "warning"
        return f"{word}: {cause.operator!r} {cause.problem}, {cause.line}\n  fix: {cause.hint} See {cause.page}"

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as values of JSON.

        Example:
            >>> sink = numbers.sink_to(DiscardingSink())
            >>> check(env, ways=20).to_json()["ways"]
            20
        """
        return {
            "same": self.is_same,
            "ways": self.ways,
            "seed": self.seed,
            "records": dict(self.records),
            "rounding": self.rounding,
            "notes": list(self.notes),
            "causes": [
                {"code": cause.code, "operator": cause.operator, "line": cause.line}
                for cause in self.causes
            ],
            "dependences": [asdict(dependence) for dependence in self.dependences],
            "disagreement": None if self.disagreement is None else self.disagreement.to_json(),
        }


def _shown(records: Sequence[Any]) -> str:
    """Return the first records, one line."""
    text = ", ".join(map(repr, records[:_MOST_SHOWN]))
    more = len(records) - _MOST_SHOWN
    return f"[{text}]" if more <= 0 else f"[{text}, … and {more} more]"


FAILURE = -1
"""Stands for a sink: one of two ways fails."""


@dataclass(frozen=True, slots=True)
class WayRun:
    """A way that has run, with its outcome."""

    way: Way
    outcome: WayOutcome


@dataclass(frozen=True, slots=True)
class Trial:
    """Two ways of a program over an input."""

    program: CheckedProgram
    inputs: Inputs
    first: Way
    second: Way

    def run(self) -> tuple[WayRun, WayRun]:
        """Run both ways."""
        one, other = (self.program.run(self.inputs, way) for way in (self.first, self.second))
        return WayRun(self.first, one), WayRun(self.second, other)


def differences(program: CheckedProgram, one: WayRun, other: WayRun) -> Iterator[Difference | None]:
    """Yield the difference at each sink; None where the answers are the same."""
    for index, sink in enumerate(program.sinks):
        yield compare(sink.rule, one.outcome.received[index], other.outcome.received[index])


def parting_sinks(program: CheckedProgram, one: WayRun, other: WayRun) -> list[int]:
    """Return the indexes of the sinks whose answers break the law; `FAILURE` if one way fails."""
    if one.outcome.is_refused or other.outcome.is_refused:
        return []
    failures = (one.outcome.failure, other.outcome.failure)
    codes = [None if failure is None else failure.code for failure in failures]
    if any(codes):
        return [FAILURE] if codes[0] != codes[1] else []
    pairs = enumerate(differences(program, one, other))
    return [sink for sink, difference in pairs if difference is not None and difference.breaks_law]
