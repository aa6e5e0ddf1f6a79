"""`WindowAssigner`: assigns records to windows; and the serializers that a custom assigner of PyFlink returns.

Penstock stores windows itself and never calls them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any, Generic

from penstock.api.functions.context import RuntimeContext
from penstock.api.windows.trigger import Trigger
from penstock.errors import ArgumentError
from penstock.types.time import Time
from penstock.types.type_parameters import W2, T, W


class TimeWindowSerializer:
    """Has no effect. PyFlink has the class.

    Example:
        >>> class Days(WindowAssigner):
        ...     def get_window_serializer(self):
        ...         return TimeWindowSerializer()
    """


class CountWindowSerializer:
    """Has no effect. PyFlink has the class.

    Example:
        >>> class Halves(WindowAssigner):
        ...     def get_window_serializer(self):
        ...         return CountWindowSerializer()
    """


class GlobalWindowSerializer:
    """Has no effect. PyFlink has the class.

    Example:
        >>> class Everything(WindowAssigner):
        ...     def get_window_serializer(self):
        ...         return GlobalWindowSerializer()
    """


class WindowAssigner(ABC, Generic[T, W]):
    """Assigns each record to windows. One object serves all keys of a subtask.

    Example, one window per day of event time:

    >>> class Days(WindowAssigner):
    ...     def assign_windows(self, element, timestamp, context):
    ...         start = timestamp - timestamp % 86_400_000
    ...         return [TimeWindow(start, start + 86_400_000)]
    ...     def get_default_trigger(self, env):
    ...         return EventTimeTrigger()
    ...     def is_event_time(self):
    ...         return True
    >>> collect(orders.window_all(Days()).reduce(max))
    [('bob', 3, 2000)]
    """

    class WindowAssignerContext(ABC):
        """The time and the runtime context of the operator."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the wall clock in epoch milliseconds."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Return the runtime context; its state is that of the record's key."""

    @abstractmethod
    def assign_windows(self, element: T, timestamp: int, context: Any) -> Collection[W]:
        """Return the windows of a record; an empty collection drops it.

        Args:
            element: The record.
            timestamp: Its timestamp in epoch milliseconds, Long.MIN if it has none.
            context: A `WindowAssignerContext`.
        """

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """Return the trigger of windows for which the program sets none.

        Args:
            env: The `StreamExecutionEnvironment`.
        """

    @abstractmethod
    def is_event_time(self) -> bool:
        """Return whether windows end by the watermark, and not by the wall clock."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows of one key may be merged, as sessions are.

    Example, sessions with a gap of five seconds:

    >>> class Sessions(MergingWindowAssigner):
    ...     def assign_windows(self, element, timestamp, context):
    ...         return [TimeWindow(timestamp, timestamp + 5_000)]
    ...     def get_default_trigger(self, env):
    ...         return EventTimeTrigger()
    ...     def is_event_time(self):
    ...         return True
    ...     def merge_windows(self, windows, callback):
    ...         TimeWindow.merge_windows(windows, callback)
    >>> collect(orders.window_all(Sessions()).reduce(max))
    [('bob', 3, 2000), ('ann', 7, 12000)]
    """

    class MergeCallback(ABC, Generic[W2]):
        """Receives the decisions of `merge_windows`."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """Merge the windows `to_be_merged` into `merge_result`."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: Any) -> None:
        """Call `callback.merge` for windows that are to be merged.

        Args:
            windows: All windows of one key.
            callback: A `MergeCallback`.
        """


def milliseconds(length: Any, what: str) -> int:
    """Return a `Time` in milliseconds.

    Raises:
        ArgumentError: `length` is no `Time`.
    """
    if isinstance(length, Time):
        return length.to_milliseconds()
    raise ArgumentError.here(
        f"the {what} is {length!r}", hint="Pass a Time, for example Time.seconds(5)."
    )


def positive(number: Any, what: str) -> int:
    """Return a number from 1."""
    if type(number) is int and number > 0:
        return number
    raise ArgumentError.here(
        f"the {what} is {number!r}", hint="Pass a whole number greater than 0."
    )


def smaller_offset(offset: Any, period: int) -> int:
    """Return an offset in milliseconds."""
    if type(offset) is int and abs(offset) < period:
        return offset
    raise ArgumentError.here(
        f"the offset of windows is {offset!r} ms, and they start every {period} ms",
        hint="Pass an offset shorter than that, of either sign.",
    )
