"""Depth of nested calls in a task: chained operators call each other, and Python ends at 1,000 calls inside of each other.

A record that passes n chained operators is inside of five calls for each of them, so 200 operators fit and 250 do not. The limit of the process is
raised by what a longer chain needs, up to a thousand operators: one of these calls goes through C, whose stack is not Python's to
extend. It is never lowered, because other chains of the process may need it.
"""

from __future__ import annotations

import sys

_CALLS_OF_AN_OPERATOR = 8
_OPERATORS_WITHIN_LIMIT = 50
_MOST_OPERATORS = 1_000


def allow_chain(operators: int) -> None:
    """Raise Python's limit of nested calls to what a chain needs beside the calls of its functions."""
    if operators <= _OPERATORS_WITHIN_LIMIT:
        return
    needed = 1_000 + _CALLS_OF_AN_OPERATOR * min(operators, _MOST_OPERATORS)
    sys.setrecursionlimit(max(needed, sys.getrecursionlimit()))
