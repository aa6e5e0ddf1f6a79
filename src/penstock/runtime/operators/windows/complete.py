"""Windows in memory of one key: tumbling ones whose records are all there, and contents of windows at the end of the input.

In a batch run the operator gets all records of a key in order of time, and then fires its windows one after
the other. Windows that end in this run need no state and no timers: the records are split where windows end,
and the results are emitted.

    records of a key   ── of windows that end in this run ──┬── of other windows ──────
                          fired here                        stored as in any run (`windows.panes`)

Windows whose contents are one value are folded instead, see `windows.panes`. The records of a window at the
end of the input may be passed in parts, and are kept in between:

| elements of the function | stored in between                               |
|--------------------------|-------------------------------------------------|
| all records              | `SpilledValues`                                 |
| records of two inputs    | `SpilledValues` for each                        |
| one folded value         | the accumulator of the records so far           |
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import compress
from typing import Any, Protocol

from penstock.program.fold import Fold
from penstock.program.window_operation import Evaluation, WindowSpec
from penstock.program.windows import MAX_TIMESTAMP, RegularWindows, TimeWindow
from penstock.runtime.fold.loops import fold_one, result_of
from penstock.runtime.operators.windows.contents import seen_of
from penstock.runtime.operators.windows.host import WindowHost
from penstock.runtime.spill.spilled_values import SpilledValues
from penstock.state.backends.base import ABSENT
from penstock.types import TypeInformation
from penstock.wire.elements import MIN_TIMESTAMP

_WITH_STATE = frozenset({Evaluation.PROCESS, Evaluation.PROCESS_ALL})


class CompleteWindows:
    """Fires tumbling windows in event time of the current key of a host.

    Attributes:
        time: Time of the window that is firing or was the last to fire.
    """

    def __init__(self, host: WindowHost, shape: RegularWindows) -> None:
        """Begin without records."""
        self.time = MIN_TIMESTAMP
        self._host = host
        self._size, self._start_of = shape.size, shape.pane_of
        self._lateness = host.window.allowed_lateness
        self._values: list[Any] = []
        self._stamps: list[int] = []

    def hold(self, values: list[Any], stamps: list[int], final_watermark: int) -> int:
        """Add the records of the current key whose windows are all complete; return their number.

        The others must be stored in panes.
        """
        count = self._complete(stamps, final_watermark)
        self._values = values if count == len(values) else values[:count]
        self._stamps = stamps if count == len(stamps) else stamps[:count]
        return count

    def fire(self) -> None:
        """Fire every window of the added records, in order."""
        values, self._values = self._values, []
        stamps, self._stamps = self._stamps, []
        host, space = self._host, self._host.scope.context
        for start, some in self._windows(values, stamps):
            window = TimeWindow(start, start + self._size)
            space.group, space.key = host.keys.group, (host.keys.key, (window.start, window.end))
            host.fire(window, seen_of(None, host.window, some))
            host.call.clear(window)

    def _complete(self, stamps: list[int], final_watermark: int) -> int:
        """Return the number of records whose windows all end, and are cleaned up, in this run."""
        if stamps[0] == MIN_TIMESTAMP:
            return 0  # no timestamp, which is refused when records are added to panes
        if self._lateness and self._host.window.evaluation in _WITH_STATE:
            return 0  # `clear` of the function is called after later windows have fired
        last = self._start_of(stamps[-1]) + self._size - 1
        if min(last + self._lateness, MAX_TIMESTAMP) <= final_watermark:
            return len(stamps)
        span = self._size - 1 + self._lateness
        return bisect_left(stamps, self._start_of(final_watermark - span) + self._size)

    def _windows(self, values: list[Any], stamps: list[int]) -> Iterator[tuple[int, list[Any]]]:
        """Yield start and records of every window with records."""
        position, count = 0, len(values)
        while position < count:
            start = self._start_of(stamps[position])
            self.time = start + self._size - 1
            end = bisect_left(stamps, start + self._size, position)
            yield start, values[position:end]
            position = end


class GrowingContents(Protocol):
    """The contents of the records of a key so far."""

    def extend(self, records: Iterator[Any]) -> None:
        """Add records."""

    def elements(self) -> list[Any] | SpilledValues:
        """Return the elements for the function."""

    def close(self) -> None:
        """Remove the contents."""


class _All:
    def __init__(self, values: SpilledValues) -> None:
        self._values = values

    def extend(self, records: Iterator[Any]) -> None:
        self._values.extend(records)

    def elements(self) -> SpilledValues:
        return self._values

    def close(self) -> None:
        self._values.close()


class _OfTwoInputs:
    def __init__(self, *sides: SpilledValues) -> None:
        self._sides = sides

    def extend(self, records: Iterator[Any]) -> None:
        tagged = list(records)
        numbers = [number for number, _ in tagged]
        values = [value for _, value in tagged]
        self._sides[0].extend(compress(values, map((0).__eq__, numbers)))
        self._sides[1].extend(compress(values, numbers))

    def elements(self) -> list[Any]:
        return list(self._sides)

    def close(self) -> None:
        for side in self._sides:
            side.close()


class _Folded:
    def __init__(self, fold: Fold) -> None:
        self._fold = fold
        self._kept = ABSENT

    def extend(self, records: Iterator[Any]) -> None:
        self._kept = fold_one(self._fold, self._kept, records)

    def elements(self) -> list[Any]:
        return [result_of(self._fold, self._kept)]

    def close(self) -> None:
        self._kept = ABSENT


def growing_contents(
    fold: Fold | None, window: WindowSpec, make: Callable[[TypeInformation], SpilledValues]
) -> GrowingContents:
    """Return empty contents of one key."""
    if fold is not None:
        return _Folded(fold)
    first = make(window.kept_type)
    return (
        _All(first) if window.second_type is None else _OfTwoInputs(first, make(window.second_type))
    )
