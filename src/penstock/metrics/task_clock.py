"""Where the time of a task goes: one clock per task, which always runs for exactly one section.

    switch("decode")  ──► the time since the last switch belongs to the section before
    switch(before)    ──► and so on; sections nest, and each gets its own time only

The sections of a task therefore add up to its life, with nothing counted twice. A switch costs
0.2 µs, so it happens per batch, frame and micro-batch, never per record: what a user function takes
is the time of the batch it was called for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from time import perf_counter_ns

WAIT = "wait"
"""Nothing to do: Spark has not brought the next input, or has not taken the output."""

START = "start"
"""Unpacking the program and opening functions."""

READ = "read"
"""A source reads its records, or computes them."""

ARROW = "arrow"
"""Between Arrow or Spark's rows and Python values, in both directions."""

DECODE = "decode"
"""From frames to records."""

EXCHANGE = "exchange"
"""Keys of records, and their destinations."""

ENCODE = "encode"
"""From records to frames."""

STATE = "state"
"""Bringing the copy of the state up to date, and writing what changed to the log."""

WRITE = "write"
"""Sinks write and prepare to commit."""

OTHER = "other"
"""What has no section: watermarks, headers, the loops between."""

OPERATOR = "operator."
"""Begins the section of an operator; its uid follows."""

SINKS = "sinks"
"""The place of the sink stage; levels are `level-0`, `level-1` and so on."""


def operator_section(uid: str) -> str:
    """Return the section of an operator."""
    return f"{OPERATOR}{uid}"


def level_place(level: int) -> str:
    """Return the name of a level as a place where time goes."""
    return f"level-{level}"


class TaskClock:
    """Measures one task, or one subtask of a live run. Not thread-safe."""

    __slots__ = ("_nanoseconds", "_section", "_since", "_tell")

    def __init__(
        self, section: str = OTHER, tell: Callable[[dict[str, int]], None] | None = None
    ) -> None:
        """Start.

        Args:
            section: What begins.
            tell: Gets what `take` would return; None returns it.
        """
        self._tell = tell
        self._nanoseconds: defaultdict[str, int] = defaultdict(int)
        self._section = section
        self._since = perf_counter_ns()

    def switch(self, section: str) -> str:
        """End the current section and begin another.

        Returns:
            The section that ended, to switch back to.
        """
        now = perf_counter_ns()
        before = self._section
        self._nanoseconds[before] += now - self._since
        self._section = section
        self._since = now
        return before

    def resume(self, section: str) -> None:
        """Begin a section after a break that belongs to none: between two micro-batches."""
        self._section = section
        self._since = perf_counter_ns()

    def take(self, place: str) -> dict[str, int]:
        """Return the nanoseconds of every section since the last call; the current one goes on.

        Args:
            place: Begins the names: `level-1` or `sinks`.
        """
        self.switch(self._section)
        taken = {f"{place}.{name}": spent for name, spent in self._nanoseconds.items() if spent}
        self._nanoseconds.clear()
        if self._tell is None:
            return taken
        self._tell(taken)
        return {}
