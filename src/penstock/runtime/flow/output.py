"""Where an operator's results go: chained operators, channels, or several of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Output(Protocol):
    """Takes batches of records and watermarks.

    A batch is a non-empty list that the receiver must not change; `timestamps` is a parallel
    list of epoch milliseconds, or None if the records have none.
    """

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Take a batch of records."""

    def advance_watermark(self, watermark: int) -> None:
        """Take a watermark; never goes back."""

    def restore_watermark(self, watermark: int) -> None:
        """Set the watermark to what it was before a restart; nothing fires."""

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001 - a status, not a switch
        """Take whether records are expected; an idle input holds no watermark back."""

    def separate(self) -> None:
        """Let the watermark take effect between the records before and after this call."""

    def set_backlog(self, backlog: bool) -> None:  # noqa: FBT001
        """Take whether the records that follow are stale; never the same twice in a row."""


class FanOut:
    """Passes everything to several outputs, in order."""

    __slots__ = ("_outputs",)

    def __init__(self, outputs: Sequence[Output]) -> None:
        self._outputs = tuple(outputs)

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Pass a batch to every output."""
        for output in self._outputs:
            output.collect(values, timestamps)

    def advance_watermark(self, watermark: int) -> None:
        """Pass a watermark to every output."""
        for output in self._outputs:
            output.advance_watermark(watermark)

    def restore_watermark(self, watermark: int) -> None:
        """Restore the watermark of every output."""
        for output in self._outputs:
            output.restore_watermark(watermark)

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001
        """Tell every output."""
        for output in self._outputs:
            output.set_idle(idle)

    def separate(self) -> None:
        """Tell every output."""
        for output in self._outputs:
            output.separate()

    def set_backlog(self, backlog: bool) -> None:  # noqa: FBT001
        """Tell every output."""
        for output in self._outputs:
            output.set_backlog(backlog)


class TaggedOutput:
    """The main output of an operator and its side outputs.

    Attributes:
        sides: Output tag to where its values go.
    """

    __slots__ = ("_all", "collect", "sides")

    def __init__(self, main: Output, sides: Mapping[str, Output]) -> None:
        self.collect = main.collect
        self.sides = dict(sides)
        self._all = (main, *sides.values())

    def advance_watermark(self, watermark: int) -> None:
        """Pass a watermark to every output."""
        for output in self._all:
            output.advance_watermark(watermark)

    def restore_watermark(self, watermark: int) -> None:
        """Restore the watermark of every output."""
        for output in self._all:
            output.restore_watermark(watermark)

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001
        """Tell every output."""
        for output in self._all:
            output.set_idle(idle)

    def separate(self) -> None:
        """Tell every output."""
        for output in self._all:
            output.separate()

    def set_backlog(self, backlog: bool) -> None:  # noqa: FBT001
        """Tell every output."""
        for output in self._all:
            output.set_backlog(backlog)


NO_OUTPUT = FanOut(())
"""For results nobody reads."""


def output_to(outputs: Sequence[Output]) -> Output:
    """Return one output for any number of them."""
    return outputs[0] if len(outputs) == 1 else FanOut(outputs)
