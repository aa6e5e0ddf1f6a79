"""Chains that are longer than Python nests calls: records, watermarks and failures pass all operators."""

from __future__ import annotations

import sys

import pytest

from penstock.errors import UserFunctionError
from penstock.runtime.task.chain import allow_chain
from penstock.testing import OperatorHarness

OPERATORS = 800


@pytest.fixture(autouse=True)
def limit_of_python():
    """Begin and end with Python's own limit."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000)
    yield
    sys.setrecursionlimit(before)


def _chain(last):
    def chain(numbers):
        for _ in range(OPERATORS):
            numbers = numbers.map(lambda n: n + 1)
        return numbers.map(last)

    return chain


def test_records_and_watermarks_pass_a_long_chain():
    with OperatorHarness.of(_chain(lambda n: n)) as harness:
        assert harness.push_all([1, 2], [5, 6]) == [1 + OPERATORS, 2 + OPERATORS]
        harness.advance_watermark(6)


def test_what_fails_at_its_end_is_told_with_its_operator():
    with (
        pytest.raises(UserFunctionError, match=r"record 801.*ZeroDivisionError"),
        OperatorHarness.of(_chain(lambda n: n // 0)) as harness,
    ):
        harness.push_all([1])


def test_the_limit_is_raised_for_long_chains_only_and_never_lowered():
    allow_chain(50)
    assert sys.getrecursionlimit() == 1_000
    allow_chain(10_000)
    raised = sys.getrecursionlimit()
    assert raised == 9_000
    allow_chain(300)
    assert sys.getrecursionlimit() == raised
