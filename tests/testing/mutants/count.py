"""Counts the mutants that a check finds.

python -m tests.testing.mutants.count [WAYS]

A mutant is found if two ways give two answers, or if a cause accuses it. A mutant whose answer does not change is another
program, which has one answer: those are left out, as far as ten times the ways show no difference.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field

import pytest

from penstock.common import Configuration
from penstock.errors import PenstockError
from penstock.graph.logical import LogicalGraph
from penstock.testing.causes import find_causes
from penstock.testing.law import engine
from penstock.testing.law.outcomes import CheckedProgram
from penstock.testing.law.own_samples import samples_of
from tests.testing.causes.programs import accused
from tests.testing.mutants.programs import Mutant, graph_of, mutants, programs
from tests.testing.mutants.transformations import TRANSFORMATIONS

WAYS = 60
RECORDS = 200
SECONDS = 60.0


@dataclass(slots=True)
class Tally:
    """The mutants of one transformation.

    Attributes:
        changed: Those that change an answer.
        by_answers: Those of which two ways give two answers.
        by_causes: Those that a cause accuses.
        missed: Programs of those that neither finds.
        refused: Those that cannot be built or fail in every way, so that they are found without a check.
    """

    changed: int = 0
    by_answers: int = 0
    by_causes: int = 0
    missed: list[str] = field(default_factory=list)
    refused: int = 0


OPEN = frozenset(
    {
        "examples: sensors",
        "streams: A denormalised table of two tables that change",
        "streams: Rules that change while the job runs",
        "time: Records that come too late",
    }
)
"""Programs whose pages declare that arrival decides: they have late records, rules beside records, or print changes."""


def differs(graph: LogicalGraph, ways: int, seed: int = 0) -> bool:
    """Return whether two ways give two answers; nothing is shrunk if `SHRINKING_SECONDS` is 0.

    Raises:
        PenstockError: The program fails in every way.
    """
    checked = CheckedProgram(graph, Configuration())
    samples = samples_of(checked.graph, {}, RECORDS)
    return not engine.judge(checked, samples, ways, seed=seed, seconds=SECONDS).is_same


def count(made: list[Mutant], ways: int, patch: pytest.MonkeyPatch) -> dict[str, Tally]:
    """Return transformation to the tally of its mutants."""
    found = {each.name: Tally() for each in TRANSFORMATIONS}
    for title, transformation, text in made:
        tally = found[transformation.name]
        try:
            graph = graph_of(title, text, patch)
            is_accused = bool(accused(find_causes(graph)))
            by_answers = differs(graph, ways)
            is_changed = transformation.breaks or by_answers or differs(graph, 10 * ways, seed=1)
        except PenstockError:
            tally.refused += 1
            continue
        if is_changed or is_accused:
            tally.changed += 1
            tally.by_answers += by_answers
            tally.by_causes += is_accused
            if not (by_answers or is_accused):
                tally.missed.append(title)
    return found


def table(found: dict[str, Tally]) -> str:
    """Return the table, with a row per transformation and one for all."""
    rows = [
        "| Mutant | Changes an answer | Two answers | Cause named | Found |",
        "|---|---|---|---|---|",
    ]
    total: Counter[str] = Counter()
    for name, tally in found.items():
        numbers = {
            "changed": tally.changed,
            "answers": tally.by_answers,
            "causes": tally.by_causes,
            "found": tally.changed - len(tally.missed),
        }
        total.update(numbers)
        rows.append(f"| {name} | {' | '.join(map(str, numbers.values()))} |")
    rows.append(
        f"| all | {' | '.join(str(total[name]) for name in ('changed', 'answers', 'causes', 'found'))} |"
    )
    return "\n".join(rows) + "\n"


def main() -> None:
    """Count all mutants, and print the table."""
    ways = int(sys.argv[1]) if len(sys.argv) > 1 else WAYS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "SHRINKING_SECONDS", 0.0)
        graphs = {title: graph_of(title, text, patch) for title, text in programs().items()}
        accused_programs = [
            title
            for title, graph in graphs.items()
            if accused(find_causes(graph)) or (title not in OPEN and differs(graph, ways))
        ]
        found = count([each for each in mutants() if each.program not in OPEN], ways, patch)
    sys.stdout.write(f"{table(found)}unbroken programs that are accused: {accused_programs}\n")
    for name, tally in found.items():
        sys.stdout.write(f"{name}: refused {tally.refused}, missed {tally.missed}\n")


if __name__ == "__main__":
    main()
