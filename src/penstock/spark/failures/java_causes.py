"""The Java causes of a failure, with Spark's error conditions.

Most errors of Spark have a condition (`FAILED_READ_FILE.NO_HINT`) and named parameters. Conditions and
classes are stable, unlike messages, so failures are recognised by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\][^\n]*")
_CLASS = re.compile(r"\b((?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error))(?::\s*([^\n]*))?")
_MOST = 16
"""Greatest number of causes; a chain may be cyclic."""


@dataclass(frozen=True, slots=True)
class JavaCause:
    """One exception of a chain.

    Attributes:
        java_class: Its full name.
        condition: Spark's error condition with its subcondition; empty if there is none.
        parameters: Parameters of the condition.
        message: Its message.
    """

    java_class: str
    condition: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    message: str = ""

    @property
    def line(self) -> str:
        """The first line of the message, without the number of a standard."""
        lines = self.message.strip().splitlines() or [self.java_class]
        return lines[0].partition(" SQLSTATE:")[0].strip()


def java_causes(error: BaseException) -> tuple[JavaCause, ...]:
    """Return the Java exceptions behind a Python one, the outermost first.

    For a failure that is only text, these are the exceptions that the text names.
    """
    found: list[JavaCause] = []
    thrown = _java_side(error)
    if thrown is None:
        return causes_in(str(error))
    # the JVM has ended: only the causes read so far are available
    with suppress(Py4JError, OSError):
        found.extend(_chain(thrown))
    return tuple(found)


def causes_in(text: str) -> tuple[JavaCause, ...]:
    """Return the error conditions and Java classes that a text names, conditions first."""
    named = [JavaCause("", found[1], {}, found[0]) for found in _CONDITION.finditer(text)]
    thrown = [JavaCause(found[1], "", {}, found[2] or "") for found in _CLASS.finditer(text)]
    return (*named, *thrown)


def _java_side(error: BaseException) -> Any:
    if isinstance(error, Py4JJavaError):
        return error.java_exception
    if isinstance(error, CapturedException):
        return error._origin  # noqa: SLF001 - the causes are nowhere else
    return None


def _chain(thrown: Any) -> Iterator[JavaCause]:
    for _ in range(_MOST):
        if thrown is None:
            return
        name = str(thrown.getClass().getName())
        condition, parameters = _condition(thrown)
        yield JavaCause(name, condition, parameters, str(thrown.getMessage() or ""))
        thrown = thrown.getCause()


def _condition(thrown: Any) -> tuple[str, dict[str, str]]:
    try:
        return str(thrown.getCondition() or ""), dict(thrown.getMessageParameters() or {})
    except (Py4JError, TypeError):  # not an exception of Spark's
        return "", {}
