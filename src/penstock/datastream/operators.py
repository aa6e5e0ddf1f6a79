"""The names of Flink's `streaming.api.operators`, in Python's form: operators of your own."""

from __future__ import annotations

from penstock.api.stream_operators import (
    OneInputStreamOperator,
    StreamOperator,
    StreamOperatorKeys,
    StreamOperatorOutput,
    TwoInputStreamOperator,
)
from penstock.graph.operator_attributes import OperatorAttributes, OperatorAttributesBuilder
from penstock.types.latency_marker import LatencyMarkerEvent
from penstock.types.record_attributes import RecordAttributes, RecordAttributesBuilder

__all__ = [
    "LatencyMarkerEvent",
    "OneInputStreamOperator",
    "OperatorAttributes",
    "OperatorAttributesBuilder",
    "RecordAttributes",
    "RecordAttributesBuilder",
    "StreamOperator",
    "StreamOperatorKeys",
    "StreamOperatorOutput",
    "TwoInputStreamOperator",
]
