"""`SinkFunction`: a sink that is called record by record."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic

from penstock.api.functions.function_classes import Function
from penstock.api.user_code import method_of
from penstock.connectors.python.function_sink import FunctionSink, SinkInvocation
from penstock.graph.endpoints import Sink
from penstock.types.type_parameters import IN


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
    """Return the sink of what `add_sink` was given.

    Raises:
        ArgumentError: It is no sink function, no callable and no sink.
    """
    if isinstance(sink_func, Sink):
        return sink_func
    method = method_of(sink_func, SinkFunction, "invoke", "add_sink")
    return FunctionSink(sink_func, is_object=method is not None)
