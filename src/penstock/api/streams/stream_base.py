"""The node of a stream, how a method of a stream adds the next one, and checks of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic

from penstock.api.state.descriptors import MapStateDescriptor
from penstock.api.streams.operator_settings import OperatorSettings
from penstock.errors import ArgumentError, CallSite, GraphError
from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.expressions.steps import ExpressionChain
from penstock.graph.logical import Node
from penstock.observe.notebook.card import Card, ShownAsCard
from penstock.program.fold import Promises
from penstock.program.operator_kind import OperatorKind
from penstock.program.operators import KEYED_AGGREGATE
from penstock.types import TupleTypeInfo, TypeInformation, Types
from penstock.types.infer import InferredTypeInfo, common_type, described
from penstock.types.output_tag import OutputTag
from penstock.types.row import Row
from penstock.types.type_parameters import T

if TYPE_CHECKING:
    from penstock.api.environment.environment import StreamExecutionEnvironment
    from penstock.api.environment.execution_config import ExecutionConfig
    from penstock.api.streams.data_stream import DataStream


def check_one_environment(stream: Any, other: Any) -> None:
    """Check that two streams belong to one environment."""
    if other.get_execution_environment() is not stream.get_execution_environment():
        raise GraphError.here(
            "the streams belong to different environments",
            hint="Create all streams of a job in one environment.",
        )


def union_type(stream: DataStream, others: Sequence[DataStream]) -> TypeInformation:
    """Check the streams of a union and return the type of their records."""
    if not others:
        raise GraphError.here("union got no other stream", hint="Pass at least one.")
    for other in others:
        if not hasattr(other, "get_execution_environment"):
            raise ArgumentError.here(f"{other!r} is not a stream", hint="Pass DataStreams.")
        check_one_environment(stream, other)
    types = [stream.get_type(), *(other.get_type() for other in others)]
    common = common_type(types)
    if common is None:
        different = " and ".join(dict.fromkeys(map(repr, types)))
        raise GraphError.here(
            f"the streams have types {different}", hint="Map them to one type first."
        )
    return common


def check_broadcast_states(descriptors: Sequence[Any]) -> None:
    """Check what a stream is broadcast with."""
    for descriptor in descriptors:
        if not isinstance(descriptor, MapStateDescriptor):
            raise ArgumentError.here(
                f"broadcast got {descriptor!r}",
                hint="Pass a MapStateDescriptor: broadcast state is a map.",
            )


def check_side_output(node: Node, tag: Any) -> None:
    """Check that an operator can have a side output."""
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
    """Return a function that keeps some fields of tuples, and the type of its results."""
    known = described(type_info)
    if not isinstance(known, TupleTypeInfo):
        raise ArgumentError.here(
            f"project needs a stream of tuples, this one has type {type_info!r}",
            hint="Declare Types.TUPLE([…]) on the operation before, or use map.",
        )
    types = known.field_types
    if not fields or any(type(index) is not int or not 0 <= index < len(types) for index in fields):
        raise ArgumentError.here(
            f"project got the fields {list(fields)} of {len(types)}",
            hint=f"Pass positions from 0 to {len(types) - 1}.",
        )
    chosen: TypeInformation = Types.TUPLE([types[index] for index in fields])
    if isinstance(type_info, InferredTypeInfo):
        chosen = InferredTypeInfo(chosen)
    if len(fields) == 1:
        only = fields[0]
        return lambda record: (record[only],), chosen
    return itemgetter(*fields), chosen


class StreamBase(OperatorSettings, ShownAsCard, Generic[T]):
    """Base of the classes whose methods `DataStream` has."""

    def __init__(self, environment: StreamExecutionEnvironment, node_id: int) -> None:
        super().__init__(environment.graph, node_id)
        self._environment = environment

    def get_type(self) -> TypeInformation[T]:
        """Return the type of the records."""
        return self._environment.graph.node(self._node_id).type_info

    def _card(self) -> Card:
        node = self._graph.node(self._node_id)
        sources = self._graph.sources_of(self._node_id)
        facts = {
            "operator": node.kind.name.lower(),
            "uid": node.uid,
            "type": node.type_info,
            "reads": ", ".join(source.name for source in sources if source is not node) or None,
            "at": node.origin,
        }
        return Card(node.name, facts)

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment the stream belongs to."""
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        """Return the settings of the environment that are about execution."""
        return self._environment.get_config()

    @property
    def has_key(self) -> bool:
        """True if records are partitioned by a key that the next operation uses."""
        return False

    def join_with(
        self,
        other: DataStream,
        kind: OperatorKind,
        name: str,
        type_info: TypeInformation,
        **fields: Any,
    ) -> DataStream:
        """Return the stream of an operator that reads this stream and another."""
        return self._add(kind, name, (self._node_id, other.node_id), type_info, **fields)

    def _unkeyed_id(self) -> int:
        return self._node_id

    def _derive(
        self, kind: OperatorKind, name: str, type_info: TypeInformation, **fields: Any
    ) -> DataStream:
        return self._add(kind, name, (self._node_id,), type_info, **fields)

    def _add(
        self,
        kind: OperatorKind,
        name: str,
        inputs: tuple[int, ...],
        type_info: TypeInformation,
        **fields: Any,
    ) -> DataStream:
        origin = CallSite.of_caller()
        node_id = self._graph.add(kind, name, inputs, type_info=type_info, origin=origin, **fields)
        return self._environment.stream_of(node_id)


def key_selector_of(stream: StreamBase[Any]) -> Any:
    """Return the key selector of a keyed stream."""
    return stream._graph.node(stream._node_id).key_selector  # noqa: SLF001


def keyed_parts(
    stream: StreamBase[Any], chain: ExpressionChain, key_selector: Any
) -> DataStream[Row]:
    """Return the records that a selection of parts makes of a keyed stream, by their key."""
    # a key is no operator, so the selection is behind the one before
    source = stream._environment.stream_of(stream._unkeyed_id())  # noqa: SLF001
    return source._evaluate(chain, "parts of aggregates").key_by(key_selector)  # noqa: SLF001


def merged_parts(
    stream: StreamBase[Any],
    chain: ExpressionChain,
    function: KeyedAggregate,
    name: str,
    type_info: TypeInformation,
) -> DataStream[Row]:
    """Return the results of parts that are merged by key."""
    exact = function.exact_because
    return keyed_parts(stream, chain, itemgetter(*range(function.keys)))._derive(  # noqa: SLF001
        KEYED_AGGREGATE,
        name,
        type_info,
        function=function,
        method=None,
        promises=Promises(associative=exact, commutative=exact),
    )
