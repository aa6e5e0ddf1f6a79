"""What can be said about an operator after it was added: name, identity, parallelism, chaining."""

from __future__ import annotations

from typing import Self

from penstock.api.streams.builder import GraphBuilder
from penstock.api.user_code import checked_label
from penstock.errors import ArgumentError, CallSite
from penstock.graph.logical import Chaining


class OperatorSettings:
    """Base of streams and sinks: a handle to a node."""

    def __init__(self, graph: GraphBuilder, node_id: int) -> None:
        self._graph = graph
        self._node_id = node_id

    @property
    def node_id(self) -> int:
        """Id of the node in the environment's graph."""
        return self._node_id

    def get_name(self) -> str:
        """Return the name of the operator."""
        return self._graph.node(self._node_id).name

    def name(self, name: str) -> Self:
        """Name the operator, for plans, progress and messages.

        Raises:
            ArgumentError: `name` is not a string, or blank.
        """
        self._graph.change(self._node_id, name=checked_label(name, "name"))
        return self

    def uid(self, uid: str) -> Self:
        """Give the operator a stable identity, under which its state is kept.

        Of a sink it is used in the names of the files it writes.

        Raises:
            ArgumentError: `uid` is not a string, or blank.
        """
        self._graph.change(self._node_id, uid=checked_label(uid, "uid"))
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the number of subtasks of the operator.

        Raises:
            ArgumentError: It is not an integer from 1, or more than 1 for an operator that is
                not parallel: a collection, or one that was forced.
        """
        count = _count(parallelism, "set_parallelism")
        node = self._graph.node(self._node_id)
        is_collection = node.source is not None and node.source.kind == "collection"
        if count > 1 and (is_collection or not node.is_parallel):
            raise ArgumentError(
                f"set_parallelism of {node.name!r} got {count}, and it is not parallel",
                hint="Call rebalance() behind it and set the parallelism of what reads that.",
                origin=CallSite.of_caller(),
            )
        self._graph.change(self._node_id, parallelism=count)
        return self

    def force_non_parallel(self) -> Self:
        """Give the operator a single subtask, for good."""
        self._graph.change(self._node_id, parallelism=1, is_parallel=False)
        return self

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Accept, for PyFlink's sake: `pipeline.max-parallelism` holds for the whole job.

        Raises:
            ArgumentError: It is not an integer from 1.
        """
        _count(max_parallelism, "set_max_parallelism")
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Accept, for PyFlink's sake: micro-batches decide when records move."""
        return self

    def start_new_chain(self) -> Self:
        """Do not chain the operator to the one before it: records reach it in frames."""
        self._graph.change(self._node_id, chaining=Chaining.HEAD)
        return self

    def disable_chaining(self) -> Self:
        """Chain the operator to no other: records come and go in frames, in the same subtask."""
        self._graph.change(self._node_id, chaining=Chaining.NEVER)
        return self

    def slot_sharing_group(self, slot_sharing_group: object) -> Self:
        """Accept, for PyFlink's sake: Spark has no slots to share."""
        return self

    def set_description(self, description: str) -> Self:
        """Describe the operator, for `get_execution_plan`.

        Raises:
            ArgumentError: `description` is not a string, or blank.
        """
        self._graph.change(self._node_id, description=checked_label(description, "set_description"))
        return self


def _count(number: int, operation: str) -> int:
    if type(number) is int and number >= 1:
        return number
    raise ArgumentError(
        f"{operation} got {number!r}",
        hint="Pass an integer, 1 or more.",
        origin=CallSite.of_caller(),
    )
