"""Function classes of windows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Generic, Protocol, TypeAlias

from penstock.api.functions.context import KeyedStateStore
from penstock.api.functions.function_classes import Emitted, Function
from penstock.program.window_parameters import W, W_co
from penstock.types.type_parameters import IN, OUT, K


class WindowContext(Protocol[W_co]):
    """What a process function sees of its window."""

    def window(self) -> W_co:
        """Return the window."""

    def current_processing_time(self) -> int:
        """Return the wall clock in epoch milliseconds."""

    def current_watermark(self) -> int:
        """Return the watermark in epoch milliseconds, Long.MIN before the first."""

    def window_state(self) -> KeyedStateStore:
        """Return where the state of this key and window is; clear it in `clear`.

        Raises:
            GraphError: The windows merge.
        """

    def global_state(self) -> KeyedStateStore:
        """Return where the state of this key is, shared by all windows."""


class WindowCallee(Function, Generic[IN, OUT, K]):
    """What is called for the windows of a key; of a stream without a key, `K` is None."""


class AppliedToWindows(WindowCallee[IN, OUT, K]):
    """What `apply` takes."""


class ProcessesWindows(WindowCallee[IN, OUT, K]):
    """What `process` takes."""


class WindowFunction(AppliedToWindows[IN, OUT, K], Generic[IN, OUT, K, W]):
    """Any number of results per key and window."""

    @abstractmethod
    def apply(self, key: K, window: W, inputs: Iterable[IN]) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results of a window; None is no result."""


class AllWindowFunction(AppliedToWindows[IN, OUT, None], Generic[IN, OUT, W]):
    """Any number of results per window of a stream without a key."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results of a window; None is no result."""


class ProcessWindowFunction(ProcessesWindows[IN, OUT, K], Generic[IN, OUT, K, W]):
    """Any number of results per key and window, with time and state."""

    Context: TypeAlias = WindowContext

    @abstractmethod
    def process(
        self, key: K, context: WindowContext[W], elements: Iterable[IN]
    ) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results of a window; None is no result."""

    def clear(self, context: WindowContext[W]) -> None:
        """Clear the window's state; called once, when the window is over."""


class ProcessAllWindowFunction(ProcessesWindows[IN, OUT, None], Generic[IN, OUT, W]):
    """The same of a stream without a key."""

    Context: TypeAlias = WindowContext

    @abstractmethod
    def process(
        self, context: WindowContext[W], elements: Iterable[IN]
    ) -> Iterable[Emitted[OUT]] | None:
        """Return or yield the results of a window; None is no result."""

    def clear(self, context: WindowContext[W]) -> None:
        """Clear the window's state; called once, when the window is over."""
