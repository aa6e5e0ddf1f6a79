"""Finding of a check, and the situation that it examines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Verdict(Enum):
    """Result of a check."""

    OK = "ok"
    """Jobs have what they need."""

    WARN = "warn"
    """Jobs run, with a risk that the finding names."""

    FAIL = "fail"
    """Jobs fail, or may lose what they stored."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        text: The result, with values.
        fix: Remedy, in the imperative. None if and only if none is needed.
    """

    name: str
    verdict: Verdict
    text: str
    fix: str | None = None

    def __post_init__(self) -> None:
        if (self.fix is None) != (self.verdict is Verdict.OK):
            raise ValueError(
                f"{self.name}: a fix belongs to findings that are not ok, and only to these"
            )


@dataclass(frozen=True, slots=True)
class Situation:
    """Facts for checks beside the machine itself.

    Attributes:
        directory: Where the checkpoint directory of a job is to be. It is there.
        environ: Environment variables of the driver.
    """

    directory: Path
    environ: Mapping[str, str]


def ok(name: str, text: str) -> Finding:
    """Return the finding that nothing is to be done."""
    return Finding(name, Verdict.OK, text)


def warn(name: str, text: str, fix: str) -> Finding:
    """Return the finding of a risk."""
    return Finding(name, Verdict.WARN, text, fix)


def fail(name: str, text: str, fix: str) -> Finding:
    """Return the finding of what jobs cannot do without."""
    return Finding(name, Verdict.FAIL, text, fix)
