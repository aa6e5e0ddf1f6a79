"""Counts the mutants that a check finds.

python -m tests.testing.mutants.count [WAYS]

A mutant is found if two ways give two answers, or if a cause accuses it. A mutant whose answer does not change is another
program, which has one answer: those are left out, as far as ten times the ways show no difference. The counts are stored
beside this file, and their table is written into the record of the decision.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

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
from tools.support.connector_rows import with_table

WAYS = 60
RECORDS = 200
SECONDS = 60.0
RESULT = Path(__file__).with_name("result.json")
PAGE = Path(__file__).parents[3] / "docs" / "decisions" / "0117-the-law-on-programs.md"


@dataclass(frozen=True, slots=True)
class Trial:
    """The check of one mutant.

    Attributes:
        program: Its program.
        transformation: The name of the way in which it is broken.
        changes: Whether its answer changes.
        by_answers: Whether two ways give two answers.
        by_causes: Whether a cause accuses it.
        seconds: Processor seconds of the check.
    """

    program: str
    transformation: str
    changes: bool
    by_answers: bool
    by_causes: bool
    seconds: float

    @property
    def is_found(self) -> bool:
        """True if the check finds it in time."""
        return (self.by_answers or self.by_causes) and self.seconds <= SECONDS


@dataclass(frozen=True, slots=True)
class Count:
    """The checks of all mutants and programs.

    Attributes:
        ways: Ways of each.
        programs: Number of unbroken programs.
        accused: Unbroken programs that are accused.
        refused: Number of mutants that cannot be built, or fail in every way: they are found without a check.
        trials: The other mutants.
    """

    ways: int
    programs: int
    accused: tuple[str, ...]
    refused: int
    trials: tuple[Trial, ...]

    @property
    def changing(self) -> list[Trial]:
        """The mutants whose answer changes."""
        return [trial for trial in self.trials if trial.changes]

    @property
    def missed(self) -> list[Trial]:
        """Those of them that the check does not find."""
        return [trial for trial in self.changing if not trial.is_found]


def differs(graph: LogicalGraph, ways: int, seed: int = 0) -> bool:
    """Return whether two ways give two answers; nothing is shrunk if `SHRINKING_SECONDS` is 0.

    Raises:
        PenstockError: The program fails in every way.
    """
    checked = CheckedProgram(graph, Configuration())
    samples = samples_of(checked.graph, {}, RECORDS)
    return not engine.judge(checked, samples, ways, seed=seed, seconds=SECONDS).is_same


def is_accused(graph: LogicalGraph, ways: int) -> bool:
    """Return whether a program is accused, by a cause or by two answers."""
    return bool(accused(find_causes(graph))) or differs(graph, ways)


def trials(
    broken: Iterable[Mutant], ways: int, patch: pytest.MonkeyPatch
) -> Iterator[Trial | None]:
    """Yield the check of each mutant; None for one that is refused."""
    for title, transformation, text in broken:
        start = time.process_time()
        try:
            graph = graph_of(title, text, patch)
            by_causes = bool(accused(find_causes(graph)))
            by_answers = differs(graph, ways)
            seconds = round(time.process_time() - start, 1)
            is_found = by_answers or by_causes
            changes = transformation.breaks or is_found or differs(graph, 10 * ways, seed=1)
        except PenstockError:
            yield None
            continue
        yield Trial(title, transformation.name, changes, by_answers, by_causes, seconds)


def table(count: Count) -> list[str]:
    """Return the lines of the table: a row per transformation, and one for all."""
    names = [each.name for each in TRANSFORMATIONS]
    rows = [_row(name, [t for t in count.changing if t.transformation == name]) for name in names]
    return [
        "| Mutant | Changes an answer | Two answers | Cause named | Found |",
        "|---|---|---|---|---|",
        *rows,
        _row("**all**", count.changing),
    ]


def _row(name: str, changing: list[Trial]) -> str:
    numbers = (
        len(changing),
        sum(trial.by_answers for trial in changing),
        sum(trial.by_causes for trial in changing),
        sum(trial.is_found for trial in changing),
    )
    return f"| {name} | {' | '.join(map(str, numbers))} |"


def facts(count: Count) -> list[str]:
    """Return the sentences below the table."""
    found = len(count.changing) - len(count.missed)
    slowest = max(trial.seconds for trial in count.changing)
    same = len(count.trials) - len(count.changing)
    return [
        "",
        f"Each was checked in {count.ways} ways over {RECORDS} records of each source.",
        f"The check finds {found} of the {len(count.changing)} mutants.",
        f"The slowest check took {slowest:.0f} s of processor time.",
        f"{same} further mutants gave one answer in {10 * count.ways} ways, and {count.refused} were refused.",
        f"Of the {count.programs} unbroken programs, {len(count.accused)} are accused.",
    ]


def stored() -> Count:
    """Return the counts of the last run."""
    read = json.loads(RESULT.read_text(encoding="utf-8"))
    return Count(
        read["ways"],
        read["programs"],
        tuple(read["accused"]),
        read["refused"],
        tuple(Trial(*trial) for trial in read["trials"]),
    )


def text_of(count: Count) -> str:
    """Return the text of a count, with a line per mutant."""
    *head, (_, trials) = asdict(count).items()
    lines = [json.dumps(list(trial.values())) for trial in trials]
    return json.dumps(dict(head))[:-1] + ', "trials": [\n' + ",\n".join(lines) + "\n]}\n"


def with_count(page: str, count: Count) -> str:
    """Return the page with the table of a count."""
    return with_table(page, "mutants", [*table(count), *facts(count)])


def counted(ways: int) -> Count:
    """Check all programs and mutants."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "SHRINKING_SECONDS", 0.0)
        texts = programs()
        unbroken = tuple(
            title for title, text in texts.items() if is_accused(graph_of(title, text, patch), ways)
        )
        made = list(trials(mutants(), ways, patch))
    checked = tuple(trial for trial in made if trial is not None)
    return Count(ways, len(texts), unbroken, len(made) - len(checked), checked)


def main() -> None:
    """Count all mutants, and write the result and its table."""
    count = counted(int(sys.argv[1]) if len(sys.argv) > 1 else WAYS)
    RESULT.write_text(text_of(count), encoding="utf-8")
    PAGE.write_text(with_count(PAGE.read_text(encoding="utf-8"), count), encoding="utf-8")
    for trial in count.missed:
        sys.stdout.write(f"missed: {trial.transformation}: {trial.program}\n")
    sys.stdout.write(f"accused: {count.accused}\n")


if __name__ == "__main__":
    main()
