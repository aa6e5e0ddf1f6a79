"""The logical graph of the user's program, before any decision of the planner.

A node is one call of the API. Edges point upstream by id, and an id is always greater than
those of its inputs, so nodes in order of id are in topological order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from penstock.errors import CallSite, EmptyGraphError, GraphError
from penstock.expressions.steps import ExpressionChain
from penstock.graph.endpoints import Sink, Source
from penstock.graph.query_source import WholeQuery
from penstock.program.channel import StreamPartitioner
from penstock.program.fold import NO_PROMISES, Promises
from penstock.program.function_calls import AsyncSpec, BatchSpec
from penstock.program.join import IntervalSpec, JoinSpec
from penstock.program.operator_kind import OperatorKind
from penstock.program.operators import SINK
from penstock.program.timestamps import TimestampSpec
from penstock.program.traverse import reachable
from penstock.program.window_operation import WindowSpec
from penstock.types import TypeInformation


class Chaining(Enum):
    """The neighbours that an operator may be chained with."""

    ALWAYS = auto()
    """The operators before and after it."""

    HEAD = auto()
    """Only the operators after it."""

    NEVER = auto()
    """No partitioning."""


@dataclass(frozen=True, slots=True)
class Partitioning:
    """Partitioning of a stream without a key.

    Attributes:
        partitioner: The rule.
        function: For CUSTOM: (key, number of subtasks) to subtask.
        key_selector: For CUSTOM.
    """

    partitioner: StreamPartitioner
    function: Callable[[Any, int], int] | None = None
    key_selector: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class GeneratedUid:
    """The uid of a node without one of the user's.

    Attributes:
        is_numbered: Whether only a number distinguishes it from another node's. Then state under the
            same uid in another program may be that of another operator.
    """

    text: str
    is_numbered: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """One transformation.

    Attributes:
        id: Greater than the ids of all inputs.
        kind: Its row in the catalogue of operators.
        uid: Stable identity set by the user, None if unset.
        generated_uid: The planner's uid if `uid` is unset.
        inputs: Ids of the nodes it reads.
        type_info: Type of its records.
        function: User function or object, if any.
        method: Method to call on it; None calls it directly.
        watermarking: For TIMESTAMPS.
        parallelism: Set by the user; None is that of the environment.
        is_parallel: Whether it may have more than one subtask.
        output_tag: For SIDE_OUTPUT: id of the tag.
        chaining: Set by the user.
        description: Set by the user, for people.
        broadcast_states: For BROADCAST_PROCESS and KEYED_BROADCAST_PROCESS: names of states.
        window: For KEYED_WINDOW and KEYED_CO_GROUP.
        async_io: For ASYNC, KEYED_ASYNC and ASYNC_MAP_BATCHES.
        batches: For MAP_BATCHES, ASYNC_MAP_BATCHES and KEYED_MAP_GROUPS.
        interval: For KEYED_INTERVAL_JOIN.
        join: For KEYED_REGULAR_JOIN.
        promises: Laws of a function that folds, promised by the user or proven.
        query: Query that Spark SQL may compute in its place in a batch run, with all that leads to it; None if it
            is no query.
        continued: For EXPRESSIONS that are evaluated with those of the operator before.
        version: Set by the user, for changes that its code does not show.
    """

    id: int
    kind: OperatorKind
    name: str
    uid: str | None
    inputs: tuple[int, ...]
    type_info: TypeInformation
    origin: CallSite | None
    function: Any = None
    method: str | None = None
    key_selector: Callable[[Any], Any] | None = None
    watermarking: TimestampSpec | None = None
    source: Source | None = None
    sink: Sink | None = None
    parallelism: int | None = None
    is_parallel: bool = True
    partitioning: Partitioning | None = None
    output_tag: str | None = None
    chaining: Chaining = Chaining.ALWAYS
    broadcast_states: tuple[str, ...] = ()
    description: str | None = None
    window: WindowSpec | None = None
    async_io: AsyncSpec | None = None
    batches: BatchSpec | None = None
    interval: IntervalSpec | None = None
    join: JoinSpec | None = None
    promises: Promises = NO_PROMISES
    generated_uid: GeneratedUid | None = None
    query: WholeQuery | None = None
    continued: Continued | None = None
    version: str | None = None

    def queries(self) -> Iterator[tuple[Node, WholeQuery, ExpressionChain | None]]:
        """Yield its parts that have a query, the outermost first, each with the query and the expressions behind it."""
        part, behind = self, None
        while True:
            if part.query is not None:
                yield part, part.query, behind
            if part.continued is None:
                return
            chain = part.continued.chain
            part, behind = part.continued.before, chain.followed_by(behind) if behind else chain


@dataclass(frozen=True, slots=True)
class Continued:
    """The parts of an operator of expressions.

    Attributes:
        before: The operator of the first ones, which may have a query.
        chain: The others.
    """

    before: Node
    chain: ExpressionChain


@dataclass(frozen=True, slots=True)
class LogicalGraph:
    """All nodes that lead to a sink, in order of id.

    Raises:
        EmptyGraphError: There is no sink.
        GraphError: An input does not exist, or two nodes share a uid.
    """

    nodes: tuple[Node, ...]
    _by_id: dict[int, Node] = field(init=False, repr=False, compare=False)
    _by_kind: dict[OperatorKind, tuple[Node, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the graph, so that an invalid one cannot exist."""
        object.__setattr__(self, "_by_id", {node.id: node for node in self.nodes})
        by_kind: dict[OperatorKind, list[Node]] = defaultdict(list)
        for node in self.nodes:
            by_kind[node.kind].append(node)
        object.__setattr__(self, "_by_kind", {k: tuple(some) for k, some in by_kind.items()})
        if not any(node.kind == SINK for node in self.nodes):
            raise EmptyGraphError.here(
                "the program has no sink, so there is nothing to execute",
                hint="End a stream with sink_to, print or execute_and_collect.",
            )
        known: set[int] = set()
        uids: dict[str, Node] = {}
        for node in self.nodes:
            missing = [i for i in node.inputs if i not in known]
            if missing:
                raise GraphError(
                    f"node {node.id} ({node.name}) reads unknown nodes {missing}",
                    hint="Use streams of one environment only.",
                    origin=node.origin,
                )
            known.add(node.id)
            if node.uid is not None and uids.setdefault(node.uid, node) is not node:
                raise GraphError(
                    f"uid {node.uid!r} is used by {uids[node.uid].name!r} and {node.name!r}",
                    hint="Give every operator a uid of its own.",
                    origin=node.origin,
                )

    @classmethod
    def leading_to_sinks(cls, nodes: dict[int, Node]) -> LogicalGraph:
        """Return the nodes that lead to a sink, numbered from 0.

        The numbers do not depend on other nodes of the environment, so a program that is started
        again makes the same graph.
        """
        sinks = [node.id for node in nodes.values() if node.kind == SINK]
        needed = reachable(sinks, lambda key: nodes[key].inputs)
        number = {key: i for i, key in enumerate(sorted(needed))}
        return cls(
            tuple(
                replace(nodes[key], id=i, inputs=tuple(number[k] for k in nodes[key].inputs))
                for key, i in number.items()
            )
        )

    def node(self, node_id: int) -> Node:
        """Return one node."""
        return self._by_id[node_id]

    def of_kind(self, kind: OperatorKind) -> tuple[Node, ...]:
        """Return all nodes of a kind."""
        return self._by_kind.get(kind, ())
