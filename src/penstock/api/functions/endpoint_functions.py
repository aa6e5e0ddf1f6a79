"""Source and sink functions."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any, Generic

from penstock.api.functions.function_classes import Function
from penstock.api.user_code import method_of
from penstock.connectors.python.collection import RecordedSource
from penstock.connectors.python.function_sink import FunctionSink, SinkInvocation
from penstock.errors import ArgumentError, CallSite, PenstockError, SourceError
from penstock.graph.endpoints import Sink
from penstock.types import TypeInformation
from penstock.types.type_parameters import IN
from penstock.user_failure import failure_as, short

MAX_RECORDS = 1_000_000
"""Records after which `run` is taken for endless."""

MAX_SECONDS = 60.0
"""Time after which it is."""

_ENDLESS_HINT = (
    "add_source runs the function to its end in the driver and keeps what it collects, so that "
    "it can be read again after a failure. Derive an endless or large source from SplitSource, "
    "or use DataGeneratorSource or IteratorSource, and pass it to from_source."
)


class SourceContext:
    """Collects the records of `SourceFunction.run`."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.timestamps: list[int | None] = []
        self._until = time.monotonic() + MAX_SECONDS

    def collect(self, element: Any) -> None:
        """Emit `element`, a record without a timestamp."""
        self._add(element, None)

    def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
        """Emit a record with a timestamp.

        Args:
            element: The record.
            timestamp: Its event time in epoch milliseconds.

        Raises:
            ArgumentError: The timestamp is not an integer.
        """
        if type(timestamp) is not int:
            raise ArgumentError.here(
                f"the timestamp of {short(element)} is {timestamp!r}",
                hint="Pass epoch milliseconds as an int.",
            )
        self._add(element, timestamp)

    def _add(self, element: Any, timestamp: int | None) -> None:
        if len(self.values) >= MAX_RECORDS or time.monotonic() > self._until:
            raise _EndlessError
        self.values.append(element)
        self.timestamps.append(timestamp)


class SourceFunction(ABC):
    """Pushes the records of a small input.

    `run` is called once, in the driver, by `add_source`, and must return: what it collected is
    the input, like a collection. A program that is started again calls it again, and must then
    get the same records.

    Example:
        >>> class Count(SourceFunction):
        ...     def run(self, ctx):
        ...         for n in range(3):
        ...             ctx.collect_with_timestamp(n, timestamp=n * 1_000)
        ...     def cancel(self):
        ...         pass
        >>> collect(env.add_source(Count(), "count", Types.INT()))
        [0, 1, 2]
    """

    @abstractmethod
    def run(self, ctx: SourceContext) -> None:
        """Collect all records with `ctx.collect(record)` and return."""

    @abstractmethod
    def cancel(self) -> None:
        """Make `run` return; called when it took too long."""


class _EndlessError(BaseException):
    """Leaves `run`; not an Exception, which it might catch."""


def record(
    function: SourceFunction, name: str, type_info: TypeInformation, origin: CallSite | None
) -> RecordedSource:
    """Run a source function to its end and return a source of what it collected.

    Raises:
        ArgumentError: `function` is no source function, or a record does not have the type.
        SourceError: It raised, did not end, or gave only some of its records timestamps.
    """
    if not isinstance(function, SourceFunction):
        forgotten = isinstance(function, type) and issubclass(function, SourceFunction)
        raise ArgumentError.here(
            f"add_source takes a SourceFunction, got {function!r}",
            hint=f"Did you forget the parentheses? Pass {function.__name__}() instead."
            if forgotten
            else "Pass a SourceFunction; pass a Source to from_source.",
        )
    context = SourceContext()
    try:
        function.run(context)
    except _EndlessError as cause:
        function.cancel()
        raise SourceError.here(
            f"source {name!r} did not end within {MAX_RECORDS} records and {MAX_SECONDS:g} s",
            hint=_ENDLESS_HINT,
        ) from cause
    except PenstockError:
        raise
    except BaseException as cause:
        raise failure_as(
            SourceError,
            f"source {name!r} failed after {len(context.values)} records",
            cause,
            origin,
            hint="Correct its run method.",
        ) from cause
    stamps = [stamp for stamp in context.timestamps if stamp is not None]
    if stamps and len(stamps) < len(context.values):
        raise SourceError.here(
            f"source {name!r} gave timestamps to {len(stamps)} of {len(context.values)} records",
            hint="Use either collect or collect_with_timestamp throughout.",
        )
    return RecordedSource.of(context.values, stamps or None, type_info)


class SinkFunction(Function, Generic[IN]):
    """Writes records one by one, at least once each: see `DataStream.add_sink`.

    `open` and `close` are called in the worker, once per task and micro-batch; the context
    that `open` gets has the name of the sink and the index of the subtask.

    Example:
        >>> class Log(SinkFunction):
        ...     def invoke(self, value, context):
        ...         print(value)
        >>> sink = numbers.add_sink(Log()).name("log")
        >>> run_in_process(env).of("log")  # in process no sink is called
        [1, 2, 3, 4]
    """

    @abstractmethod
    def invoke(self, value: IN, context: SinkInvocation) -> None:
        """Write a record; it must be stored durably before this returns.

        Args:
            value: The record.
            context: Has `current_processing_time()`.
        """


def as_sink(sink_func: Any) -> Sink:
    """Return the sink of what `add_sink` was given."""
    if isinstance(sink_func, Sink):
        return sink_func
    method = method_of(sink_func, SinkFunction, "invoke", "add_sink")
    return FunctionSink(sink_func, is_object=method is not None)
