"""A check finds at least nine of ten mutants that change an answer, and no unbroken program; a sample of both."""

from __future__ import annotations

import pytest

from penstock.testing.law import engine
from tests.testing.mutants.count import PAGE, is_accused, stored, trials, with_count
from tests.testing.mutants.programs import Mutant, graph_of, mutants, programs
from tests.testing.mutants.transformations import TRANSFORMATIONS

SLOW = {"examples: enrichment", "examples: shop.project"}
"""Programs that take seconds; `python -m tests.testing.mutants.count` has them."""

WAYS = 9
PROGRAMS = {title: text for title, text in programs().items() if title not in SLOW}
ON_ORDER = (
    "examples: orders_with_customers",
    "examples: sensors",
    "streams: A denormalised table of two tables that change",
    "streams: Rules that change while the job runs",
    "time: Records that come too late",
)
"""Programs whose answers depend on exceptions of the law."""


def test_a_sample_of_mutants_is_found(monkeypatch):
    monkeypatch.setattr(engine, "SHRINKING_SECONDS", 0.0)
    sample: dict[str, Mutant] = {}
    for number, each in enumerate(mutants()):
        if each.program in PROGRAMS and number % 3 == 0:
            sample.setdefault(each.transformation.name, each)
    assert len(sample) >= len(TRANSFORMATIONS) - 2
    made = [trial for trial in trials(sample.values(), WAYS, monkeypatch) if trial is not None]
    changing = [trial for trial in made if trial.changes]
    missed = [trial for trial in changing if not trial.is_found]
    assert len(changing) >= 10
    assert len(missed) <= len(changing) // 10, missed


@pytest.mark.parametrize("title", sorted({*sorted(PROGRAMS)[::4], *ON_ORDER}))
def test_an_unbroken_program_is_not_accused(title, monkeypatch):
    assert not is_accused(graph_of(title, PROGRAMS[title], monkeypatch), WAYS)


def test_the_page_has_the_last_count_which_reaches_the_goal():
    count = stored()
    text = PAGE.read_text(encoding="utf-8")
    assert with_count(text, count) == text
    assert len(count.missed) * 10 <= len(count.changing)
    assert count.accused == ()
    assert 10 * (len(count.trials) + count.refused) >= 9 * len(mutants()), "count again"
