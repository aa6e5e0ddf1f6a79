"""`SinkFunction`: a sink as a function of one record."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic

from penstock.api.functions.function_classes import Function
from penstock.api.user_code import method_of
from penstock.connectors.python.function_sink import FunctionSink, SinkInvocation
from penstock.graph.endpoints import Sink
from penstock.types.type_parameters import IN


class SinkFunction(Function, Generic[IN]):
    """Takes records one by one, at least once each: see `DataStream.add_sink`.

    `open` and `close` are called in the worker, once per task and micro-batch; the context
    that `open` gets knows the name of the sink and the index of the subtask.
    """

    @abstractmethod
    def invoke(self, value: IN, context: SinkInvocation) -> None:
        """Write a record; when this returns it must be where it belongs."""


def as_sink(sink_func: Any) -> Sink:
    """Return the sink of what `add_sink` was given.

    Raises:
        ArgumentError: It is no sink function, no callable and no sink.
    """
    if isinstance(sink_func, Sink):
        return sink_func
    method = method_of(sink_func, SinkFunction, "invoke", "add_sink")
    return FunctionSink(sink_func, is_object=method is not None)
