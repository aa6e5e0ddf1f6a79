"""The causes of different answers that a program's functions show, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

PAGE = "docs/causes.md"
"""The page of all causes; each has a heading."""


class CauseKind(Enum):
    """One row of the table: code, short name, and the way out."""

    CLOCK = (
        "READS_CLOCK",
        "reads the clock",
        "Use the timestamp of the record, or an event-time timer.",
    )
    RANDOM = (
        "RANDOM_NUMBER",
        "a random number",
        "Derive the value from the record, for example by random.Random(record.id) or uuid.uuid5.",
    )
    GLOBAL = (
        "GLOBAL_VARIABLE",
        "a global variable that changes",
        "Keep it in keyed or broadcast state: each worker has variables of its own, and loses them.",
    )
    ENVIRONMENT = (
        "ENVIRONMENT_VARIABLE",
        "an environment variable",
        "Read it where the program is built, and pass the value to the function.",
    )
    SET_ORDER = (
        "SET_ORDER",
        "the order of a set",
        "Iterate over sorted(…), or over a list or a dict, which keep their order.",
    )
    UNSTABLE_KEY = (
        "UNSTABLE_KEY",
        "a key that is not stable",
        "Use fields of the record as the key; for a hash take zlib.crc32 or hashlib.",
    )
    SELF_STATE = (
        "STATE_IN_SELF",
        "state kept in self",
        "Keep it in state of the runtime context: an attribute is one per subtask, and lost at a restart.",
    )
    MUTABLE_DEFAULT = (
        "MUTABLE_DEFAULT",
        "a mutable default argument",
        "Make a new value in the function: the default is one object for all calls.",
    )
    SINK = (
        "SINK_NOT_IDEMPOTENT",
        "a sink that is not idempotent",
        "Write by key or by epoch, so that a repeated write changes nothing, or use a sink that commits epochs.",
    )
    FLOAT_SUM = (
        "FLOAT_SUM",
        "a sum of floats",
        "Sum whole numbers or Decimal, use math.fsum over all values, or an aggregate of columns, whose sums are exact.",
    )
    LATE_RECORDS = (
        "LATE_RECORDS",
        "late records",
        "Allow lateness, or send late records to a side output; decide by timestamps and timers.",
    )

    def __init__(self, code: str, title: str, hint: str) -> None:
        self.code = code
        self.title = title
        self.hint = hint

    @property
    def page(self) -> str:
        """The page with the way out, with its heading."""
        return f"{PAGE}#{self.title.replace(' ', '-')}"


@dataclass(frozen=True, slots=True)
class Cause:
    """A place of a program that can give two answers over the same records.

    Attributes:
        code: Stable identifier of the kind of cause.
        operator: Name of the operator whose function it is.
        name: Short name of the kind.
        problem: The function, and the expression at fault.
        hint: The way out, in the imperative.
        line: File and line of the program.
        page: Page of the documentation, with its heading.
        is_possible: Whether it changes answers only for some records: floats that round, records that are late.
            Such a cause explains a difference, and is no accusation.

    Example:
        >>> import random
        >>> from penstock.testing.causes import find_causes
        >>> sink = numbers.filter(lambda n: random.random() < 0.5).print()
        >>> [cause] = find_causes(env.plan().graph)
        >>> cause.code, cause.problem
        ('RANDOM_NUMBER', 'draws a random number by random.random() in a lambda')
    """

    code: str
    operator: str
    name: str
    problem: str
    hint: str
    line: str
    page: str
    is_possible: bool = False

    def __str__(self) -> str:
        """Return the text for a terminal."""
        return f"{self.line}: {self.operator!r} {self.problem}\n  fix: {self.hint} See {self.page}."


@dataclass(frozen=True, slots=True)
class FoundCause:
    """A cause without its operator.

    Attributes:
        problem: Completes "operator …".
        line: Number of the line in the file of the function.
        is_possible: As in `Cause`.
    """

    kind: CauseKind
    problem: str
    line: int
    is_possible: bool = False
