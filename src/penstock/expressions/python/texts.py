"""Functions of texts, on values that are not NULL. Positions count code points, from 1."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache

from penstock.errors import ExpressionError

_NO_LINE_END = "[^\\n\\r\\x85\\u2028\\u2029]"
"""The point of Java's regular expressions, by which Flink computes `_` of LIKE."""

_WHITE_SPACE = re.compile(r"\s")
_escape = re.compile(r"\\.", re.DOTALL)
_sets = re.compile(r"\\.|\[\^?(\]?(?:\\.|[^\]\\])*)\]", re.DOTALL).finditer
_java_set = re.compile(r"\[|&&").search


@lru_cache(maxsize=256)
def _like(pattern: str, escape: str) -> re.Pattern[str]:
    pieces, position = [], iter(pattern)
    for character in position:
        if escape and character == escape:
            following = next(position, None)
            if following is None or following not in {"%", "_", escape}:
                raise ExpressionError(
                    f"the pattern {pattern!r} has the escape {escape!r} before no wildcard",
                    hint="Escape only %, _ and the escape itself.",
                )
            pieces.append(re.escape(following))
        else:
            pieces.append(
                {"%": r"[\s\S]*", "_": _NO_LINE_END}.get(character) or re.escape(character)
            )
    return re.compile("".join(pieces))


def like(text: str, pattern: str, escape: str = "") -> bool:
    """Return whether a text is like a pattern with % and _."""
    return _like(pattern, escape).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    if any(_java_set(_escape.sub("", match[1] or "")) for match in _sets(pattern)):
        # To Python they are characters, of which it warns at most
        raise ExpressionError(
            f"{pattern!r} has a set in a set, which only Java has",
            hint="Write one set, or look ahead: (?!b)[a-c] for [a-c&&[^b]].",
        )
    try:
        return re.compile(pattern)
    except re.error as wrong:
        raise ExpressionError(
            f"{pattern!r} is not a regular expression: {wrong}", hint="Correct the pattern."
        ) from wrong


def matches(text: str, pattern: str) -> bool:
    """Return whether a regular expression is found in a text."""
    return bool(pattern) and _compiled(pattern).search(text) is not None


def regexp_extract(text: str, pattern: str, group: int = 0) -> str | None:
    """Return a group of the first match, None if there is none."""
    match = _compiled(pattern).search(text)
    if match is None or not 0 <= group <= (match.re.groups):
        return None
    return match[group]


def regexp_replace(text: str, pattern: str, replacement: str) -> str:
    """Return a text with all matches replaced by a text, which is taken as it is."""
    return _compiled(pattern).sub(lambda _: replacement, text)


def substring(text: str, start: int, length: int | None = None) -> str | None:
    """Return the part from a position; a negative one counts from the end."""
    if length is not None and length < 0:
        return None
    if start > 0:
        begin = start - 1
    elif start < 0:
        begin = len(text) + start
        if begin < 0:
            return ""
    else:
        begin = 0
    return text[begin:] if length is None else text[begin : begin + length]


def position(part: str, text: str, start: int = 1) -> int:
    """Return where a part begins, 0 if it is not there."""
    return text.find(part, max(0, start - 1) if part else 0) + 1


def left(text: str, length: int) -> str:
    """Return the first code points."""
    return text[: max(0, length)]


def right(text: str, length: int) -> str:
    """Return the last code points."""
    return text[-length:] if length > 0 else ""


def lpad(text: str, length: int, fill: str) -> str | None:
    """Return a text filled or cut to a length, at its begin."""
    if length < 0 or not fill:
        return None
    missing = length - len(text)
    return text[:length] if missing <= 0 else (fill * missing)[:missing] + text


def rpad(text: str, length: int, fill: str) -> str | None:
    """Return a text filled or cut to a length, at its end."""
    if length < 0 or not fill:
        return None
    missing = length - len(text)
    return text[:length] if missing <= 0 else text + (fill * missing)[:missing]


def split_index(text: str, separator: str, index: int) -> str | None:
    """Return a part of a text, from 0; None if there is none. An empty separator is any white space."""
    if not text:
        return None
    parts = text.split(separator) if separator else _WHITE_SPACE.split(text)
    return parts[index] if 0 <= index < len(parts) else None


def split(text: str, separator: str) -> list[str]:
    """Return the parts of a text; without a separator its characters."""
    if not separator:
        return list(text)
    return text.split(separator) if text else []


def repeat(text: str, times: int) -> str:
    """Return a text some times."""
    return text * max(0, times)


def concat_ws(separator: str | None, *texts: str | None) -> str | None:
    """Return the texts that are not NULL with a separator between them."""
    return None if separator is None else separator.join(text for text in texts if text is not None)


def initcap(text: str) -> str:
    """Return a text whose words begin with a capital."""
    return re.sub(r"[A-Za-z0-9]+", lambda word: word[0][:1].upper() + word[0][1:].lower(), text)


def digest(algorithm: str) -> Callable[[str], str]:
    """Return a function of the digest of a text, as hexadecimal digits."""
    return lambda text: hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest()


def strip(text: str, characters: str = " ") -> str:
    """Return a text without some characters at both ends."""
    return text.strip(characters)


def lstrip(text: str, characters: str = " ") -> str:
    """Return a text without some characters at its begin."""
    return text.lstrip(characters)


def rstrip(text: str, characters: str = " ") -> str:
    """Return a text without some characters at its end."""
    return text.rstrip(characters)


_STEP = re.compile(
    r"""\s*(?:\.\s*([^\s.\['"]+)|\.\s*"([^"]*)"|\[\s*'([^']*)'\s*\]|\[\s*"([^"]*)"\s*\]|\[\s*(\d+)\s*\])\s*"""
)
_MODE = re.compile(r"\s*(?:(?:lax|strict)\s+)?\$", re.IGNORECASE)


@lru_cache(maxsize=256)
def steps_of(path: str) -> tuple[str | int, ...]:
    """Return the names and positions of a path."""
    begin = _MODE.match(path)
    offset = 0 if begin is None else begin.end()
    steps: list[str | int] = []
    while begin is not None and offset < len(path):
        step = _STEP.match(path, offset)
        if step is None or "*" in step[0]:
            break
        *names, position = step.groups()
        steps.append(
            int(position) if position else next(name for name in names if name is not None)
        )
        offset = step.end()
    if begin is None or offset < len(path):
        raise ExpressionError(
            f"{path!r} is not a supported path of JSON", hint="Write it as '$.name[0]'."
        )
    return tuple(steps)
