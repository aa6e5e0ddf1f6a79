"""The clock of a task. It always measures exactly one section.

    switch("decode")  ──► the time since the last switch is added to the previous section
    switch(previous)  ──► sections nest; the time of an inner one is not added to the outer one

The times of all sections of a task therefore add up to its duration. A switch costs 0.2 µs, so tasks
switch per batch, frame and micro-batch, never per record: the time of a user function is that of
the batches it is called for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from time import perf_counter_ns

WAIT = "wait"
"""Waiting for Spark to deliver the next input or to take the output."""

START = "start"
"""Unpacking the program and opening functions."""

READ = "read"
"""Reading the records of a source, or computing them."""

ARROW = "arrow"
"""Converting Arrow columns or Spark's rows to Python values, and back."""

DECODE = "decode"
"""Decoding frames to records."""

EXCHANGE = "exchange"
"""Computing keys of records, and their routes."""

ENCODE = "encode"
"""Encoding records to frames."""

STATE = "state"
"""Updating the local copy of the state, and writing changes to the log."""

WRITE = "write"
"""Writing to sinks, and preparing their commit."""

OTHER = "other"
"""All other work: watermarks, headers, loops."""

OPERATOR = "operator."
"""Prefix of the section of an operator, before its uid."""

SINKS = "sinks"
"""The place of the sink stage; levels are `level-0`, `level-1` and so on."""


def operator_section(uid: str) -> str:
    """Return the section of an operator."""
    return f"{OPERATOR}{uid}"


def level_place(level: int) -> str:
    """Return the place of a level."""
    return f"level-{level}"


class TaskClock:
    """Measures one task, or one subtask of a live run. Not thread-safe."""

    __slots__ = ("_nanoseconds", "_report", "_section", "_since")

    def __init__(
        self, section: str = OTHER, report: Callable[[dict[str, int]], None] | None = None
    ) -> None:
        """Start."""
        self._report = report
        self._nanoseconds: defaultdict[str, int] = defaultdict(int)
        self._section = section
        self._since = perf_counter_ns()

    def switch(self, section: str) -> str:
        """End the current section and begin another; return the ended one, to switch back to."""
        now = perf_counter_ns()
        before = self._section
        self._nanoseconds[before] += now - self._since
        self._section = section
        self._since = now
        return before

    def resume(self, section: str) -> None:
        """Begin a section; the time since the last one, between two micro-batches, counts nowhere."""
        self._section = section
        self._since = perf_counter_ns()

    def take(self, place: str) -> dict[str, int]:
        """Return the nanoseconds of every section since the last call; the current one goes on."""
        self.switch(self._section)
        taken = {f"{place}.{name}": spent for name, spent in self._nanoseconds.items() if spent}
        self._nanoseconds.clear()
        if self._report is None:
            return taken
        self._report(taken)
        return {}
