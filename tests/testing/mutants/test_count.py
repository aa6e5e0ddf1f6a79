"""A check finds at least nine of ten mutants that change an answer, and no unbroken program; a sample of both."""

from __future__ import annotations

import pytest

from penstock.testing.causes import find_causes
from tests.testing.causes.programs import accused
from tests.testing.mutants.count import OPEN, count, differs
from tests.testing.mutants.programs import Mutant, graph_of, mutants, programs
from tests.testing.mutants.transformations import TRANSFORMATIONS

SLOW = {"examples: enrichment", "examples: shop.project"}
"""Programs that take seconds; `python -m tests.testing.mutants.count` has them."""

WAYS = 9
PROGRAMS = {title: text for title, text in programs().items() if title not in OPEN | SLOW}


def test_a_sample_of_mutants_is_found(monkeypatch):
    sample: dict[str, Mutant] = {}
    for number, each in enumerate(mutants()):
        if each.program in PROGRAMS and number % 3 == 0:
            sample.setdefault(each.transformation.name, each)
    found = count(list(sample.values()), WAYS, monkeypatch)
    assert len(sample) >= len(TRANSFORMATIONS) - 2
    changed = sum(tally.changed for tally in found.values())
    missed = {name: tally.missed for name, tally in found.items() if tally.missed}
    assert changed >= 10
    assert sum(map(len, missed.values())) <= changed // 10, missed


@pytest.mark.parametrize("title", sorted(PROGRAMS)[::4])
def test_an_unbroken_program_is_not_accused(title, monkeypatch):
    graph = graph_of(title, PROGRAMS[title], monkeypatch)
    assert not differs(graph, WAYS)
    assert accused(find_causes(graph)) == set()
