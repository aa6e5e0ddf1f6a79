"""The names of Flink's `streaming.api.operators`, in Python's form: operators of your own."""

from penstock.api.functions.context import ExternalSorter
from penstock.api.functions.multiple_inputs import (
    AbstractInput,
    Input,
    MultipleInputStreamOperator,
)
from penstock.api.functions.stream_operators import (
    OneInputStreamOperator,
    SimpleOperatorFactory,
    StreamOperator,
    StreamOperatorFactory,
    StreamOperatorKeys,
    StreamOperatorOutput,
    StreamOperatorParameters,
    TwoInputStreamOperator,
)
from penstock.graph.operator_attributes import OperatorAttributes, OperatorAttributesBuilder
from penstock.program.record_attributes import RecordAttributes, RecordAttributesBuilder
from penstock.program.run_settings import LatencyMarkerEvent

__all__ = [
    "AbstractInput",
    "ExternalSorter",
    "Input",
    "LatencyMarkerEvent",
    "MultipleInputStreamOperator",
    "OneInputStreamOperator",
    "OperatorAttributes",
    "OperatorAttributesBuilder",
    "RecordAttributes",
    "RecordAttributesBuilder",
    "SimpleOperatorFactory",
    "StreamOperator",
    "StreamOperatorFactory",
    "StreamOperatorKeys",
    "StreamOperatorOutput",
    "StreamOperatorParameters",
    "TwoInputStreamOperator",
]
