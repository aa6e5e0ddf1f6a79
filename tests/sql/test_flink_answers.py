"""Every recorded answer of Flink against ours: functions, casts and aggregates over edge values, in several zones.

Catches: a function, cast, pattern or zone that has another meaning than in Flink, and a deviation that nobody decided.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from penstock.expressions.functions import ScalarExecutor, because
from penstock.expressions.tree import Literal
from tests.sql.flink_answers.aggregates import aggregate_answers, aggregate_text, scalar_answers
from tests.sql.flink_answers.deviations import AGGREGATE_DEVIATIONS, DEVIATIONS, Deviation
from tests.sql.flink_answers.penstock_answers import Answer, arrow_text, python_text, typed

_ZEROS = re.compile(r"(\.\d*?)0+(?=[\],}]|$)")


def _agrees(answer: Answer, ours: Any) -> bool:
    theirs = answer.text
    if isinstance(theirs, str) and isinstance(ours, str):
        if answer.type == "DOUBLE":
            one, other = float(theirs), float(ours)
            return theirs == ours or abs(one - other) <= 1e-15 * abs(one)
        if answer.type is not None and "TIME" in answer.type:  # we have no precision of times
            theirs = _ZEROS.sub(r"\1", theirs).rstrip(".")
    return bool(theirs == ours) and (theirs is False) == (ours is False)


def _compare(found: Iterable[tuple[Answer, Any]], deviations: Mapping[str, Deviation]) -> None:
    used: Counter[str] = Counter()
    wrong = []
    for each, ours in found:
        if _agrees(each, ours):
            continue
        reason = next((key for key, decided in deviations.items() if decided.of(each, ours)), None)
        if reason is None:
            wrong.append((each.zone, each.expression, each.text, ours))
        else:
            used[reason] += 1
    assert not wrong, wrong[:20]
    assert {*deviations} == {*used}  # none is left from before


def test_every_answer_is_that_of_flink_or_a_deviation_that_is_decided() -> None:
    scalars = ((each, typed(each)) for each in scalar_answers())
    found = ((each, scalar is not None and python_text(each, scalar)) for each, scalar in scalars)
    _compare(found, DEVIATIONS)


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING"])
def test_every_aggregate_is_that_of_flink_or_a_deviation_that_is_decided(mode: str) -> None:
    found = ((each, aggregate_text(each, mode)) for each in aggregate_answers())
    _compare(found, AGGREGATE_DEVIATIONS)


def test_arrow_has_the_answers_of_rows_in_python() -> None:
    compared, wrong = 0, []
    for each in scalar_answers():
        scalar = typed(each)
        if scalar is None or isinstance(scalar, Literal) or because(scalar, ScalarExecutor.ARROW):
            continue
        compared += 1
        ours, found = python_text(each, scalar), arrow_text(each, scalar)
        if found != ours:
            wrong.append((each.expression, ours, found))
    assert compared
    assert not wrong, wrong[:20]
