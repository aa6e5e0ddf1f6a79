"""The class of the handle of a node.

The classes of streams make streams of one another: a `DataStream` makes a `KeyedStream`, which
derives from it. They ask their environment for a stream, and the environment calls this module, so
that no file of a stream has to import a file that imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.api.streams.cached_stream import CachedDataStream
from penstock.api.streams.data_stream import DataStream
from penstock.api.streams.joined_rows import JoinedRows
from penstock.api.streams.keyed_stream import KeyedStream
from penstock.connectors.cache import cache_of
from penstock.program.operator_kind import OperatorKind
from penstock.program.operators import KEY_BY, KEYED_REGULAR_JOIN

if TYPE_CHECKING:
    from penstock.api.environment.environment import StreamExecutionEnvironment

_CLASSES: dict[OperatorKind, type[DataStream[Any]]] = {
    KEY_BY: KeyedStream,
    KEYED_REGULAR_JOIN: JoinedRows,
}
"""Kind of a node to the class of its stream; of all others it is `DataStream`."""


def handle_of(environment: StreamExecutionEnvironment, node_id: int) -> DataStream[Any]:
    """Return the stream that a node produces."""
    node = environment.graph.node(node_id)
    if cache_of(node.source) is not None:
        return CachedDataStream(environment, node_id)
    return _CLASSES.get(node.kind, DataStream)(environment, node_id)
