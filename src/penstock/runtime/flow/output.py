"""The output of an operator: a chained operator, a channel, or side outputs by tag."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from penstock.types.output_tag import OutputTag


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


class ForwardingOutput:
    """Forwards all but records to another output, with that output's own methods, which cost no further call."""

    __slots__ = (
        "_output",
        "advance_watermark",
        "restore_watermark",
        "separate",
        "set_backlog",
        "set_idle",
    )

    def __init__(self, output: Output) -> None:
        self._output = output
        self.advance_watermark = output.advance_watermark
        self.restore_watermark = output.restore_watermark
        self.set_idle = output.set_idle
        self.separate = output.separate
        self.set_backlog = output.set_backlog


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
    """The main output of an operator and its side outputs; records go to the main one."""

    __slots__ = ("collect", "sides")

    def __init__(self, main: Output, sides: Mapping[str, Output]) -> None:
        super().__init__((main, *sides.values()))
        self.collect = main.collect  # type: ignore[method-assign]
        self.sides = dict(sides)


def output_to(outputs: Sequence[Output]) -> Output:
    """Return one output that forwards to several."""
    return outputs[0] if len(outputs) == 1 else FanOut(outputs)


Batch = tuple[list[Any], list[int] | None]
"""(values, timestamps)."""


_PAIR = 2


def is_tagged(result: Any) -> bool:
    """Return whether a result names a side output."""
    return type(result) is tuple and len(result) == _PAIR and isinstance(result[0], OutputTag)


def split_tagged(results: list[Any], stamps: list[int] | None) -> tuple[Batch, dict[str, Batch]]:
    """Return the results of the main output, and those of side outputs by tag.

    Values of a tag without readers are dropped; they never reach the main output.
    """
    tagged = _tagged(results)
    if not tagged:
        return (results, stamps), {}
    sides: dict[str, tuple[list[Any], list[int]]] = defaultdict(lambda: ([], []))
    for position in tagged:
        tag, value = results[position]
        values, side_stamps = sides[tag.tag_id]
        values.append(value)
        if stamps is not None:
            side_stamps.append(stamps[position])
    aside = set(tagged)
    main = [result for position, result in enumerate(results) if position not in aside]
    main_stamps = None
    if stamps is not None:
        main_stamps = [stamp for position, stamp in enumerate(stamps) if position not in aside]
    return (main, main_stamps), {
        tag: (values, None if stamps is None else side_stamps)
        for tag, (values, side_stamps) in sides.items()
    }


def _tagged(results: list[Any]) -> list[int]:
    """Return the positions of tagged results."""
    kinds = set(map(type, results))
    if tuple not in kinds or (len(kinds) == 1 and _PAIR not in set(map(len, results))):
        return []  # the usual case; checking each of them would cost five times as much
    return [position for position, result in enumerate(results) if is_tagged(result)]


def sides_of(output: Output) -> Mapping[str, Output]:
    """Return the side outputs of an operator by tag."""
    return output.sides if isinstance(output, TaggedOutput) else {}


def send_sides(sides: Mapping[str, Output], batches: dict[str, Batch]) -> None:
    """Send values to the side outputs."""
    for tag, (values, stamps) in batches.items():
        output = sides.get(tag)
        if output is not None:
            output.collect(values, stamps)
