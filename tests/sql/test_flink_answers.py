"""Every recorded answer of Flink against ours: functions and casts over edge values, in several zones.

Catches: a function, cast, pattern or zone that has another meaning than in Flink, and a deviation that nobody decided.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from tests.sql.flink_answers.deviations import DEVIATIONS
from tests.sql.flink_answers.penstock_answers import Answer, answers, penstock_answer

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


def test_every_answer_is_that_of_flink_or_a_deviation_that_is_decided() -> None:
    used: Counter[str] = Counter()
    wrong = []
    for each in answers():
        _, ours = penstock_answer(each)
        if _agrees(each, ours):
            continue
        reason = next((key for key, decided in DEVIATIONS.items() if decided.of(each, ours)), None)
        if reason is None:
            wrong.append((each.zone, each.expression, each.text, ours))
        else:
            used[reason] += 1
    assert not wrong, wrong[:20]
    assert {*DEVIATIONS} == {*used}  # none is left from before
