"""Checks of the arguments of stream operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from penstock.api.state.descriptors import MapStateDescriptor
from penstock.errors import ArgumentError, GraphError
from penstock.graph.logical import Node
from penstock.types import TupleTypeInfo, TypeInformation, Types
from penstock.types.inferred import InferredTypeInfo, common_type, described
from penstock.types.output_tag import OutputTag

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream


def union_type(stream: DataStream, others: Sequence[DataStream]) -> TypeInformation:
    """Check the streams of a union and return the type of their records.

    Raises:
        ArgumentError: One is no stream.
        GraphError: There is no other, or one is of another environment or type.
    """
    if not others:
        raise GraphError.here("union got no other stream", hint="Pass at least one.")
    for other in others:
        if not hasattr(other, "get_execution_environment"):
            raise ArgumentError.here(f"{other!r} is not a stream", hint="Pass DataStreams.")
        if other.get_execution_environment() is not stream.get_execution_environment():
            raise GraphError.here(
                "the streams belong to different environments",
                hint="Create all streams of a job in one environment.",
            )
    types = [stream.get_type(), *(other.get_type() for other in others)]
    common = common_type(types)
    if common is None:
        different = " and ".join(dict.fromkeys(map(repr, types)))
        raise GraphError.here(
            f"the streams have types {different}", hint="Map them to one type first."
        )
    return common


def check_broadcast_states(descriptors: Sequence[Any]) -> None:
    """Check what a stream is broadcast with.

    Raises:
        ArgumentError: One of `descriptors` is not that of a map state.
    """
    for descriptor in descriptors:
        if not isinstance(descriptor, MapStateDescriptor):
            raise ArgumentError.here(
                f"broadcast got {descriptor!r}",
                hint="Pass a MapStateDescriptor: broadcast state is a map.",
            )


def check_side_output(node: Node, tag: Any) -> None:
    """Check that an operator can have a side output.

    Raises:
        ArgumentError: `tag` is no `OutputTag`.
        GraphError: The operator has no side outputs.
    """
    if not isinstance(tag, OutputTag):
        raise ArgumentError.here(f"get_side_output got {tag!r}", hint="Pass an OutputTag.")
    if not node.kind.has_side_outputs:
        raise GraphError.here(
            f"{node.name!r} is a {node.kind.name.lower()}, which has no side outputs",
            hint="Call get_side_output on the stream that process(…) returned.",
        )


def projection(
    type_info: TypeInformation, fields: Sequence[int]
) -> tuple[Callable[[Any], tuple[Any, ...]], TypeInformation]:
    """Return a function that keeps some fields of tuples, and the type of its results.

    Raises:
        ArgumentError: The type is no tuple, or has no such field.
    """
    known = described(type_info)
    if not isinstance(known, TupleTypeInfo):
        raise ArgumentError.here(
            f"project needs a stream of tuples, this one has type {type_info!r}",
            hint="Declare Types.TUPLE([…]) on the operation before, or use map.",
        )
    types = known.field_types
    if not fields or any(type(at) is not int or not 0 <= at < len(types) for at in fields):
        raise ArgumentError.here(
            f"project got the fields {list(fields)} of {len(types)}",
            hint=f"Pass positions from 0 to {len(types) - 1}.",
        )
    chosen: TypeInformation = Types.TUPLE([types[at] for at in fields])
    if isinstance(type_info, InferredTypeInfo):
        chosen = InferredTypeInfo(chosen)
    if len(fields) == 1:
        only = fields[0]
        return lambda record: (record[only],), chosen
    return itemgetter(*fields), chosen
