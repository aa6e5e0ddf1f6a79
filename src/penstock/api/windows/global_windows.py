"""One window per key: global windows and end-of-stream windows (FLIP-331)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from penstock.api.windows.assigner import WindowAssigner
from penstock.api.windows.trigger import Trigger
from penstock.api.windows.triggers import EndOfStreamTrigger, NeverTrigger
from penstock.program.windows import MAX_TIMESTAMP, MIN_TIMESTAMP, GlobalWindow, TimeWindow


class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """One window with all records of a key; without a trigger of yours it never fires.

    Example:
        >>> windows = numbers.key_by(lambda n: "all").window(GlobalWindows.create())
        >>> collect(windows.trigger(CountTrigger.of(2)).reduce(lambda a, b: a + b))
        [3, 10]
    """

    def __init__(self, default_trigger: Trigger[Any, Any] | None = None) -> None:
        """Set the default trigger; programs use `create` or `create_with_end_of_stream_trigger`."""
        self._default_trigger = default_trigger or NeverTrigger()

    @staticmethod
    def create() -> GlobalWindows:
        """Return the assigner; set a trigger on the windowed stream.

        Example:
            >>> GlobalWindows.create()
            GlobalWindows(trigger=NeverTrigger())
        """
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows:
        """Return an assigner whose window fires once, at the end of the input.

        Example:
            >>> windows = numbers.window_all(GlobalWindows.create_with_end_of_stream_trigger())
            >>> collect(windows.reduce(lambda a, b: a + b))
            [10]
        """
        return GlobalWindows(EndOfStreamTrigger())

    def assign_windows(
        self, element: Any, timestamp: int, context: Any
    ) -> Collection[GlobalWindow]:
        """Return the only window."""
        return [GlobalWindow.get()]

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        """Return the trigger the assigner was made with."""
        return self._default_trigger

    def is_event_time(self) -> bool:
        """Return False."""
        return False

    def __repr__(self) -> str:
        return f"GlobalWindows(trigger={self._default_trigger!r})"


END_OF_STREAM = TimeWindow(MIN_TIMESTAMP, MAX_TIMESTAMP)
"""The window of `EndOfStreamWindows`."""


# FLIP-331, rule 1.
class EndOfStreamWindows(WindowAssigner[Any, TimeWindow]):
    """One window with all records of a key, which fires once, at the end of the input.

    It accepts no trigger and no evictor: those belong to `GlobalWindows`.

    Example:
        >>> collect(numbers.window_all(EndOfStreamWindows.get()).reduce(lambda a, b: a + b))
        [10]
    """

    @staticmethod
    def get() -> EndOfStreamWindows:
        """Return the assigner.

        Example:
            >>> EndOfStreamWindows.get()
            EndOfStreamWindows()
        """
        return EndOfStreamWindows()

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        """Return the only window."""
        return [END_OF_STREAM]

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        """Return `EndOfStreamTrigger`."""
        return EndOfStreamTrigger()

    def is_event_time(self) -> bool:
        """Return True."""
        return True

    def __repr__(self) -> str:
        return "EndOfStreamWindows()"
