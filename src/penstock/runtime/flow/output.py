"""The output of an operator: a chained operator, a channel, or several of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Output(Protocol):
    """Takes batches of records and watermarks.

    A batch is a non-empty list that the receiver must not change; `timestamps` is a parallel
    list of epoch milliseconds, or None if the records have none.
    """

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Receive a batch of records."""

    def advance_watermark(self, watermark: int) -> None:
        """Receive a watermark; watermarks never decrease."""

    def restore_watermark(self, watermark: int) -> None:
        """Set the watermark to that before a restart; no timer fires."""

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001 - a status, not a switch
        """Receive whether the sender is idle; watermarks do not wait for an idle input."""

    def separate(self) -> None:
        """Let the watermark take effect between the records before and after this call."""

    def set_backlog(self, backlog: bool) -> None:  # noqa: FBT001
        """Receive whether the following records are backlog; never the same value twice in a row."""


class FanOut:
    """Forwards all calls to several outputs, in order."""

    __slots__ = ("_outputs",)

    def __init__(self, outputs: Sequence[Output]) -> None:
        self._outputs = tuple(outputs)

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Forward a batch to every output."""
        for output in self._outputs:
            output.collect(values, timestamps)

    def advance_watermark(self, watermark: int) -> None:
        """Forward a watermark to every output."""
        for output in self._outputs:
            output.advance_watermark(watermark)

    def restore_watermark(self, watermark: int) -> None:
        """Restore the watermark of every output."""
        for output in self._outputs:
            output.restore_watermark(watermark)

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001
        """Forward the call to every output."""
        for output in self._outputs:
            output.set_idle(idle)

    def separate(self) -> None:
        """Forward the call to every output."""
        for output in self._outputs:
            output.separate()

    def set_backlog(self, backlog: bool) -> None:  # noqa: FBT001
        """Forward the call to every output."""
        for output in self._outputs:
            output.set_backlog(backlog)


class TaggedOutput(FanOut):
    """The main output of an operator and its side outputs; records go to the main one.

    Attributes:
        sides: Output tag to side output.
    """

    __slots__ = ("collect", "sides")

    def __init__(self, main: Output, sides: Mapping[str, Output]) -> None:
        super().__init__((main, *sides.values()))
        self.collect = main.collect  # type: ignore[method-assign]
        self.sides = dict(sides)


def output_to(outputs: Sequence[Output]) -> Output:
    """Return one output that forwards to several."""
    return outputs[0] if len(outputs) == 1 else FanOut(outputs)
