"""Mutants whose functions show the cause are accused, at the line that was changed."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock.errors import PenstockError
from penstock.testing.causes import find_causes
from tests.testing.causes.programs import accused
from tests.testing.mutants.programs import graph_of, mutants, programs
from tests.testing.mutants.transformations import TRANSFORMATIONS

SHOWN = {
    "the clock decides": "READS_CLOCK",
    "chance decides": "RANDOM_NUMBER",
    "an environment variable decides": "ENVIRONMENT_VARIABLE",
    "a global counter decides": "GLOBAL_VARIABLE",
    "a mutable default decides": "MUTABLE_DEFAULT",
    "a counter in self decides": "STATE_IN_SELF",
    "the order of a set decides": "SET_ORDER",
    "the watermark decides": "LATE_RECORDS",
    "the key is an id": "UNSTABLE_KEY",
    "the key is a hash": "UNSTABLE_KEY",
    "timers of the clock": "READS_CLOCK",
    "windows of the clock": "READS_CLOCK",
}
"""Transformation to the cause that the functions of its mutants show."""

MUTANTS = mutants()


@pytest.mark.parametrize("name", SHOWN)
def test_mutants_of_a_kind_are_accused(name, monkeypatch):
    made = [each for each in MUTANTS if each.transformation.name == name]
    assert made
    missed, refused = [], []
    for title, _, text in made:
        try:
            causes = find_causes(graph_of(title, text, monkeypatch))
        except PenstockError as error:
            refused.append((title, error.code))
            continue
        if SHOWN[name] not in accused(causes):
            missed.append(title)
    assert missed == []
    assert len(refused) * 5 <= len(made), refused


def test_each_transformation_has_several_programs():
    counts = Counter(each.transformation.name for each in MUTANTS)
    assert set(counts) == {each.name for each in TRANSFORMATIONS}
    assert len(MUTANTS) >= 10 * len(programs()) * 0.8
