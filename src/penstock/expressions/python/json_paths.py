"""Paths into JSON: `$.a`, `$['a b'][0]`, with `lax` or `strict` before them."""

from __future__ import annotations

import re
from functools import lru_cache

from penstock.errors import ExpressionError

_STEP = re.compile(
    r"""\s*(?:\.\s*([^\s.\['"]+)|\.\s*"([^"]*)"|\[\s*'([^']*)'\s*\]|\[\s*"([^"]*)"\s*\]|\[\s*(\d+)\s*\])\s*"""
)
_MODE = re.compile(r"\s*(?:(?:lax|strict)\s+)?\$", re.IGNORECASE)


@lru_cache(maxsize=256)
def steps_of(path: str) -> tuple[str | int, ...]:
    """Return the names and positions of a path."""
    begin = _MODE.match(path)
    at = 0 if begin is None else begin.end()
    found: list[str | int] = []
    while begin is not None and at < len(path):
        step = _STEP.match(path, at)
        if step is None or "*" in step[0]:
            break
        *names, position = step.groups()
        found.append(
            int(position) if position else next(name for name in names if name is not None)
        )
        at = step.end()
    if begin is None or at < len(path):
        raise ExpressionError(
            f"{path!r} is no path of JSON that is supported", hint="Write it as '$.name[0]'."
        )
    return tuple(found)
