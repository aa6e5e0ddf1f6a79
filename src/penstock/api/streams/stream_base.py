"""The node of a stream, and how a method of a stream adds the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from penstock.api.streams.operator_settings import OperatorSettings
from penstock.errors import CallSite
from penstock.notebook.card import Card, ShownAsCard
from penstock.program.operator_kind import OperatorKind
from penstock.types import TypeInformation
from penstock.types.type_parameters import T

if TYPE_CHECKING:
    from penstock.api.environment.environment import StreamExecutionEnvironment
    from penstock.api.environment.execution_config import ExecutionConfig
    from penstock.api.streams.data_stream import DataStream


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
