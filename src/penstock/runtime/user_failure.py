"""Errors of user functions: operator, record and the user's line in one message."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from operator import length_hint
from pathlib import Path
from typing import Any

from penstock.errors import CallSite, PenstockError, UserFunctionError

_PACKAGE = str(Path(__file__).parents[1])
_LIBRARIES = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
_REPR_CHARS = 300


def failing_record(values: list[Any], position: Iterator[Any]) -> str:
    """Return which record of a batch failed, as text.

    Args:
        values: The batch.
        position: The iterator over `values` that was being consumed: what is left of it tells
            which record failed, at no cost per record.
    """
    index = len(values) - length_hint(position) - 1
    record = short(values[index]) if 0 <= index < len(values) else "unknown"
    return f"record {record} (number {index + 1} of {len(values)} in its batch)"


def user_failure(
    subject: str, where: str, cause: Exception, created: CallSite | None
) -> UserFunctionError:
    """Return the error for a user function that raised.

    Args:
        subject: Whose function it is, e.g. `operator 'totals'`.
        where: On what it failed.
        cause: What it raised; its innermost line in the user's files becomes the origin.
        created: The user's line that created the operator.
    """
    lines = "".join(traceback.format_exception_only(cause)).strip()
    frames, site = _frames(cause)
    stack = "".join(traceback.format_list(frames)).rstrip()
    problem = f"{subject} failed on {where}: {lines}"
    if stack:
        problem += f"\n{stack}"
    origin = site or created
    hint = "Correct the function or filter out the record before it."
    if created:
        hint += f" The operator was created at {created}."
    return UserFunctionError(problem, hint=hint, origin=origin)


def placed(
    cause: PenstockError, subject: str, where: str, created: CallSite | None
) -> PenstockError:
    """Return an error of ours that does not say where it happened, saying it.

    Args:
        cause: The error, without an origin.
        subject: Whose function raised it.
        where: On what.
        created: The user's line that created the operator.
    """
    _, site = _frames(cause)
    origin = site or created
    problem = f"{subject} failed on {where}: {cause.problem}"
    return type(cause)(problem, hint=cause.hint, origin=origin)


def _frames(cause: BaseException) -> tuple[list[traceback.FrameSummary], CallSite | None]:
    """Return the frames to show, from the user's first one on, and the user's last one.

    Where all frames are of libraries they are shown, and none of them is the user's.
    """
    frames = [
        frame
        for frame in traceback.extract_tb(cause.__traceback__)
        if not frame.filename.startswith(_PACKAGE)
    ]
    own = [
        index
        for index, frame in enumerate(frames)
        if not frame.filename.startswith((*_LIBRARIES, "<frozen "))
    ]
    if not own:
        return frames, None
    last = frames[own[-1]]
    return frames[own[0] :], CallSite(last.filename, last.lineno or 0, last.name)


def short(value: Any) -> str:
    """Return `repr(value)`, cut if it is long."""
    text = repr(value)
    return text if len(text) <= _REPR_CHARS else text[:_REPR_CHARS] + "…"
