"""The names of Flink's `streaming.api.operators`, in Python's form: operators of your own."""

from penstock.api.functions.stream_operators import (
    OneInputStreamOperator,
    StreamOperator,
    StreamOperatorKeys,
    StreamOperatorOutput,
    TwoInputStreamOperator,
)
from penstock.graph.operator_attributes import OperatorAttributes, OperatorAttributesBuilder
from penstock.program.latency_marker import LatencyMarkerEvent
from penstock.program.record_attributes import RecordAttributes, RecordAttributesBuilder

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
