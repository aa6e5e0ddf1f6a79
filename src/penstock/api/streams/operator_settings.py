"""Settings of one operator: name, identity, parallelism and chaining; refused where a stream is not that of an operator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NoReturn, Self

from penstock.api.environment.builder import GraphBuilder
from penstock.api.user_code import checked_label
from penstock.errors import ArgumentError, GraphError
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
        """Set the name of the operator, for plans, progress and messages.

        Args:
            name: Any text that is not blank. Names need not be unique.

        Returns:
            This stream or sink.

        Raises:
            ArgumentError: `name` is not a string, or blank.

        Example:
            >>> numbers.map(lambda n: n + 1).name("increment").get_name()
            'increment'
        """
        self._graph.change(self._node_id, name=checked_label(name, "name"))
        return self

    def uid(self, uid: str) -> Self:
        """Set the stable identity of the operator: a restarted job finds its state by it.

        The names of the files that a sink writes contain it.

        Args:
            uid: Text that is unique in the program.

        Returns:
            This stream or sink.

        Raises:
            ArgumentError: `uid` is not a string, or blank.

        Example:
            >>> totals = numbers.key_by(lambda n: "all").sum().uid("totals")
        """
        self._graph.change(self._node_id, uid=checked_label(uid, "uid"))
        return self

    def version(self, version: str) -> Self:
        """Set the version of the operator, for changes that its code does not show.

        A job that starts from stored state compares the functions of operators. It cannot see a model in a
        file, an installed library, or another system. Another version counts as another function.

        Args:
            version: Any text that is not blank.

        Returns:
            This stream or sink.

        Raises:
            ArgumentError: `version` is not a string, or blank.

        Example:
            >>> scored = numbers.map(lambda n: n + 1).uid("scored").version("model of May")
        """
        self._graph.change(self._node_id, version=checked_label(version, "version"))
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the number of subtasks of the operator.

        Args:
            parallelism: An integer from 1.

        Returns:
            This stream or sink.

        Raises:
            ArgumentError: It is not an integer from 1, or more than 1 for an operator that is
                not parallel: a collection, or one that was forced.

        Example:
            >>> sorted(collect(numbers.rebalance().map(lambda n: n + 1).set_parallelism(2)))
            [2, 3, 4, 5]
        """
        count = _count(parallelism, "set_parallelism")
        node = self._graph.node(self._node_id)
        is_collection = node.source is not None and node.source.kind == "collection"
        if count > 1 and (is_collection or not node.is_parallel):
            raise ArgumentError.here(
                f"set_parallelism of {node.name!r} got {count}, but it always has one subtask",
                hint="Call rebalance() behind it, and set the parallelism of the next operator.",
            )
        self._graph.change(self._node_id, parallelism=count)
        return self

    def force_non_parallel(self) -> Self:
        """Set the parallelism of the operator to 1 and refuse later changes of it.

        Returns:
            This stream or sink.

        Example:
            >>> collect(numbers.map(lambda n: n + 1).force_non_parallel())
            [2, 3, 4, 5]
        """
        self._graph.change(self._node_id, parallelism=1, is_parallel=False)
        return self

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Do nothing: `pipeline.max-parallelism` holds for the whole job. PyFlink has the method.

        Args:
            max_parallelism: An integer from 1.

        Returns:
            This stream or sink.

        Raises:
            ArgumentError: It is not an integer from 1.

        Example:
            >>> collect(numbers.map(lambda n: n + 1).set_max_parallelism(64))
            [2, 3, 4, 5]
        """
        _count(max_parallelism, "set_max_parallelism")
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Do nothing: records are sent at the end of each micro-batch. PyFlink has the method.

        Args:
            timeout_millis: Milliseconds.

        Returns:
            This stream or sink.

        Example:
            >>> collect(numbers.map(lambda n: n + 1).set_buffer_timeout(100))
            [2, 3, 4, 5]
        """
        return self

    def start_new_chain(self) -> Self:
        """Do not chain the operator to the one before it: records reach it in frames.

        Returns:
            This stream or sink.

        Example:
            >>> collect(numbers.map(lambda n: n + 1).start_new_chain())
            [2, 3, 4, 5]
        """
        self._graph.change(self._node_id, chaining=Chaining.HEAD)
        return self

    def disable_chaining(self) -> Self:
        """Chain the operator to no other: records enter and leave it in frames.

        Returns:
            This stream or sink.

        Example:
            >>> collect(numbers.map(lambda n: n + 1).disable_chaining())
            [2, 3, 4, 5]
        """
        self._graph.change(self._node_id, chaining=Chaining.NEVER)
        return self

    def slot_sharing_group(self, slot_sharing_group: object) -> Self:
        """Do nothing: Spark has no slots to share. PyFlink has the method.

        Args:
            slot_sharing_group: A name or `SlotSharingGroup`.

        Returns:
            This stream or sink.

        Example:
            >>> collect(numbers.map(lambda n: n + 1).slot_sharing_group("heavy"))
            [2, 3, 4, 5]
        """
        return self

    def set_description(self, description: str) -> Self:
        """Set the description of the operator, for `get_execution_plan`.

        Args:
            description: Any text that is not blank.

        Returns:
            This stream or sink.

        Raises:
            ArgumentError: `description` is not a string, or blank.

        Example:
            >>> sink = numbers.set_description("the first four").print()
            >>> "the first four" in env.get_execution_plan()
            True
        """
        self._graph.change(self._node_id, description=checked_label(description, "set_description"))
        return self


def _count(number: int, operation: str) -> int:
    if type(number) is int and number >= 1:
        return number
    raise ArgumentError.here(f"{operation} got {number!r}", hint="Pass an integer, 1 or more.")


def refused(method: str) -> Callable[..., NoReturn]:
    """Return a method that refuses every call of it."""

    def refuse(self: NoOperator, *arguments: object, **named: object) -> NoReturn:
        """Refuse: the stream is not that of an operator.

        Raises:
            GraphError: Always.
        """
        given = (*arguments, *named.values())
        is_short = all(isinstance(value, (int, str)) for value in given)
        raise self._refusal(f"{method}({', '.join(map(repr, given)) if is_short else '…'})")

    refuse.__name__ = method
    return refuse


class NoOperator(ABC):
    """Refuses what `OperatorSettings` offers. To be named before `DataStream` among the bases."""

    @abstractmethod
    def _refusal(self, call: str) -> GraphError:
        """Return the error for a call on a stream that is no operator; it names the kind of stream."""

    name = refused("name")
    uid = refused("uid")
    get_name = refused("get_name")
    set_parallelism = refused("set_parallelism")
    set_max_parallelism = refused("set_max_parallelism")
    force_non_parallel = refused("force_non_parallel")
    set_buffer_timeout = refused("set_buffer_timeout")
    start_new_chain = refused("start_new_chain")
    disable_chaining = refused("disable_chaining")
    slot_sharing_group = refused("slot_sharing_group")
    set_description = refused("set_description")
