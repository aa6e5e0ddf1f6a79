"""`DataStreamSink`: the end of a stream."""

from __future__ import annotations

from typing import Self

from penstock.api.builder import GraphBuilder
from penstock.api.user_code import checked_label


class DataStreamSink:
    """A handle to a sink of the program."""

    def __init__(self, graph: GraphBuilder, node_id: int) -> None:
        self._graph = graph
        self._node_id = node_id

    def name(self, name: str) -> Self:
        """Name the sink, for plans, progress and messages.

        Raises:
            ArgumentError: `name` is not a string, or blank.
        """
        self._graph.change(self._node_id, name=checked_label(name, "name"))
        return self

    def uid(self, uid: str) -> Self:
        """Give the sink a stable identity, used in the names of the files it writes.

        Raises:
            ArgumentError: `uid` is not a string, or blank.
        """
        self._graph.change(self._node_id, uid=checked_label(uid, "uid"))
        return self
