"""Function classes of windows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Generic, Protocol, TypeAlias

from penstock.api.functions.context import KeyedStateStore
from penstock.api.functions.function_classes import Emitted, Function
from penstock.types.type_parameters import IN, OUT, K, W, W_co


class WindowContext(Protocol[W_co]):
    """The context of a process window function: the window, time and state."""

    def window(self) -> W_co:
        """Return the window."""

    def current_processing_time(self) -> int:
        """Return the wall clock in epoch milliseconds."""

    def current_watermark(self) -> int:
        """Return the watermark in epoch milliseconds, Long.MIN before the first."""

    def window_state(self) -> KeyedStateStore:
        """Return the state of this key and window; clear it in `clear`."""

    def global_state(self) -> KeyedStateStore:
        """Return the state of this key, shared by all windows."""


class WindowCallee(Function, Generic[IN, OUT, K]):
    """Base of functions that are called for the windows of a key; without a key, `K` is None."""


class AppliedToWindows(WindowCallee[IN, OUT, K]):
    """Base of the functions that `apply` takes."""


class ProcessesWindows(WindowCallee[IN, OUT, K]):
    """Base of the functions that `process` takes."""


class WindowFunction(AppliedToWindows[IN, OUT, K], Generic[IN, OUT, K, W]):
    """Returns any number of results per key and window.

    Example:
        >>> class Count(WindowFunction):
        ...     def apply(self, key, window, inputs):
        ...         yield key, window.start, len(list(inputs))
        >>> keyed = orders.key_by(lambda order: order[0])
        >>> windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(60)))
        >>> sorted(collect(windows.apply(Count())))
        [('ann', 0, 2), ('bob', 0, 1)]
    """

    @abstractmethod
    def apply(self, key: K, window: W, inputs: Iterable[IN]) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results of a window; None is no result.

        Args:
            key: The key.
            window: The window.
            inputs: Its records in order of arrival, or the one aggregate of `reduce`.
        """


class AllWindowFunction(AppliedToWindows[IN, OUT, None], Generic[IN, OUT, W]):
    """Returns any number of results per window of a stream without a key.

    Example:
        >>> class Count(AllWindowFunction):
        ...     def apply(self, window, inputs):
        ...         yield window.start, len(list(inputs))
        >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(10)))
        >>> collect(windows.apply(Count()))
        [(0, 2), (10000, 1)]
    """

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results of a window; None is no result.

        Args:
            window: The window.
            inputs: Its records in order of arrival, or the one aggregate of `reduce`.
        """


class ProcessWindowFunction(ProcessesWindows[IN, OUT, K], Generic[IN, OUT, K, W]):
    """Returns any number of results per key and window, with time and state.

    Example:
        >>> class Count(ProcessWindowFunction):
        ...     def process(self, key, context, elements):
        ...         yield key, context.window().start, len(list(elements))
        >>> keyed = orders.key_by(lambda order: order[0])
        >>> windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(60)))
        >>> sorted(collect(windows.process(Count())))
        [('ann', 0, 2), ('bob', 0, 1)]

        State of a window is cleared with it:

        >>> class Results(Count):
        ...     fired = ValueStateDescriptor("fired", Types.INT())
        ...     def process(self, key, context, elements):
        ...         fired = context.window_state().get_state(self.fired)
        ...         fired.update((fired.value() or 0) + 1)
        ...         yield key, fired.value()
        ...     def clear(self, context):
        ...         context.window_state().get_state(self.fired).clear()
        >>> sorted(collect(windows.process(Results())))
        [('ann', 1), ('bob', 1)]
    """

    Context: TypeAlias = WindowContext

    @abstractmethod
    def process(
        self, key: K, context: WindowContext[W], elements: Iterable[IN]
    ) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results of a window; None is no result.

        Called each time the window fires.

        Args:
            key: The key.
            context: The window, time and state.
            elements: Its records in order of arrival, or the one aggregate of `reduce`.
        """

    def clear(self, context: WindowContext[W]) -> None:
        """Clear the window's state; called once, when the window is removed.

        Args:
            context: The window, time and state.
        """


class ProcessAllWindowFunction(ProcessesWindows[IN, OUT, None], Generic[IN, OUT, W]):
    """Returns any number of results per window of a stream without a key, with time and state.

    Example:
        >>> class Count(ProcessAllWindowFunction):
        ...     def process(self, context, elements):
        ...         yield context.window().start, len(list(elements))
        >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(10)))
        >>> collect(windows.process(Count()))
        [(0, 2), (10000, 1)]

        State of a window is cleared with it:

        >>> class Results(Count):
        ...     fired = ValueStateDescriptor("fired", Types.INT())
        ...     def process(self, context, elements):
        ...         fired = context.window_state().get_state(self.fired)
        ...         fired.update((fired.value() or 0) + 1)
        ...         yield context.window().start, fired.value()
        ...     def clear(self, context):
        ...         context.window_state().get_state(self.fired).clear()
        >>> collect(windows.process(Results()))
        [(0, 1), (10000, 1)]
    """

    Context: TypeAlias = WindowContext

    @abstractmethod
    def process(
        self, context: WindowContext[W], elements: Iterable[IN]
    ) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results of a window; None is no result.

        Called each time the window fires.

        Args:
            context: The window, time and state.
            elements: Its records in order of arrival, or the one aggregate of `reduce`.
        """

    def clear(self, context: WindowContext[W]) -> None:
        """Clear the window's state; called once, when the window is removed.

        Args:
            context: The window, time and state.
        """
