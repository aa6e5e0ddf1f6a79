"""`DataStreamSink`: the end of a stream."""

from __future__ import annotations

from penstock.api.streams.operator_settings import OperatorSettings


class DataStreamSink(OperatorSettings):
    """A handle to a sink of the program."""
