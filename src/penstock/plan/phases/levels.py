"""Phases: assign operators to levels (depths of exchange), make the channels between them, and choose numbers of subtasks.

An operator's level is the greatest over its inputs, plus one for an input that must be
exchanged. Other inputs at the same level are chained: called directly, without serialization. If
chaining is off for the job or for one of the two operators, a local channel connects them: the
subtask writes records to frames and reads them again. That needs no exchange, because no other
subtask reads these frames.

The reasons for an exchange, in order of precedence:

    it has a key that the operator uses                   HASH
    the user set a partitioning                           that one
    the operator distinguishes its inputs, so that one    FORWARD
    subtask must read them
    the operator is the user's own, and handles           FORWARD
    watermarks and ends, which level 0 does not have
    its parallelism differs from that of its input, and   REBALANCE
    the user set it, or it is less
    it is a function object with a number of subtasks,    FORWARD
    and its sources do not share tasks
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from penstock.config.options import HISTORY_PARALLELISM, RuntimeExecutionMode
from penstock.errors import GraphError
from penstock.graph.logical import Chaining, LogicalGraph, Node
from penstock.plan.phases.bounded_region import region_nodes
from penstock.plan.phases.edges import Edge, key_selectors, physical_inputs, sources_of
from penstock.plan.phases.operator_traits import attributes_of
from penstock.plan.phases.pipelines import share_tasks, tasks_reading
from penstock.plan.physical import LevelPlan, PhysicalPlan
from penstock.program.channel import SINK_LEVEL, ChannelSpec, StreamPartitioner
from penstock.program.level import OperatorSpec, SideOutput
from penstock.program.operators import PARTITION, SIDE_OUTPUT, SINK, SOURCE, TIMESTAMPS
from penstock.program.timestamps import TimestampSpec
from penstock.types import TypeInformation
from penstock.types.description import has_serializers


def assign_levels(plan: PhysicalPlan) -> PhysicalPlan:
    """Assign operators to levels and connect them by channels."""
    return _Assignment(plan).run()


@dataclass(slots=True)
class _Draft:
    """The outputs of one producer that are known so far.

    Attributes:
        chained_to: Output tag (None for the main output) to chained operators.
        channels: Output tag to channels.
    """

    chained_to: dict[str | None, list[int]] = field(default_factory=dict)
    channels: dict[str | None, list[int]] = field(default_factory=dict)


def _readers_of_results(plan: PhysicalPlan) -> frozenset[int]:
    """Return the nodes of a job, cut behind its bounded region, that read only results."""
    results = {source.id for source in plan.sources if source.parts[0].gives_results}
    return frozenset(
        node.id for node in plan.graph.nodes if results.issuperset(sources_of(plan.graph, node))
    )


class _Assignment:
    """Builds the levels, operators and channels of one plan."""

    def __init__(self, plan: PhysicalPlan) -> None:
        self._plan = plan
        self._graph = plan.graph
        self._uids = _uids(plan.graph)
        is_batch = plan.mode is RuntimeExecutionMode.BATCH
        self._region = region_nodes(plan.graph) if is_batch else _readers_of_results(plan)
        self._edges = {
            node.id: physical_inputs(self._graph, node)
            for node in self._graph.nodes
            if node.kind.is_operator or node.kind == SINK
        }
        self._levels: dict[int, int] = {}
        for node in self._graph.nodes:
            if node.kind == SOURCE:
                self._levels[node.id] = 0
            elif node.kind.is_operator:
                self._levels[node.id] = max(
                    self._levels[edge.producer.id] + (self._exchange(edge, node) is not None)
                    for edge in self._edges[node.id]
                )
        self._fed = self._fed_subtasks()
        self._drafts: dict[int, _Draft] = {key: _Draft() for key in self._levels}
        self._channels: list[ChannelSpec] = []

    def run(self) -> PhysicalPlan:
        """Return the plan with levels and channels."""
        sinks = {sink.id: i for i, sink in enumerate(self._graph.of_kind(SINK))}
        for node_id, edges in self._edges.items():
            node = self._graph.node(node_id)
            for edge in edges:
                draft = self._drafts[edge.producer.id]
                if node_id in sinks:
                    channel = self._to_sink(edge, sinks[node_id])
                elif self._is_chained(edge, node):
                    draft.chained_to.setdefault(edge.output_tag, []).append(node_id)
                    continue
                else:
                    channel = self._channel(edge, node)
                self._channels.append(channel)
                draft.channels.setdefault(edge.output_tag, []).append(channel.id)
        return self._assembled()

    def _assembled(self) -> PhysicalPlan:
        operators = [self._operator(node) for node in self._graph.nodes if node.kind.is_operator]
        depth = max((self._levels[spec.id] for spec in operators), default=0)
        sources = [node.id for node in self._graph.of_kind(SOURCE)]
        return replace(
            self._plan,
            levels=tuple(
                LevelPlan(n, tuple(spec for spec in operators if self._levels[spec.id] == n))
                for n in range(depth + 1)
            ),
            channels=tuple(self._channels),
            source_operators=tuple(
                (key, tuple(self._drafts[key].chained_to[None]))
                for key in sources
                if self._drafts[key].chained_to
            ),
            source_channels=tuple(
                (key, tuple(self._drafts[key].channels[None]))
                for key in sources
                if self._drafts[key].channels
            ),
        )

    def _exchange(self, edge: Edge, node: Node) -> StreamPartitioner | None:
        """Return the partitioner of an edge, None if it needs no exchange."""
        if edge.key_selector is not None:
            return StreamPartitioner.HASH
        if edge.partitioning is not None and edge.partitioning.partitioner not in _IN_PLACE:
            return edge.partitioning.partitioner
        if node.kind.distinguishes_inputs:
            return StreamPartitioner.FORWARD
        if node.kind.is_own and self._levels[edge.producer.id] == 0:
            return StreamPartitioner.FORWARD
        if self._changes_subtasks(edge.producer, node):
            return StreamPartitioner.REBALANCE
        return StreamPartitioner.FORWARD if self._is_read_apart(node) else None

    def _changes_subtasks(self, producer: Node, node: Node) -> bool:
        """Return whether a node must have another number of subtasks than its producer."""
        own, is_set = self._subtasks(node), node.parallelism is not None
        if self._levels[producer.id] > 0 or node.kind == TIMESTAMPS:
            before = self._subtasks(producer)
            is_source = producer.kind == SOURCE
            return own != before and (is_set or (own < before and not is_source))
        readers = [tasks_reading(self._plan, key) for key in sources_of(self._graph, producer)]
        if is_set:
            return any(tasks != own for tasks in readers)
        return self._plan.options.parallelism_is_set and any(n > own for n in readers if n)

    def _is_read_apart(self, node: Node) -> bool:
        """Return whether tasks that read sources would open more functions than the node has subtasks."""
        if node.method is None or not (node.parallelism or self._plan.options.parallelism_is_set):
            return False
        producers = [edge.producer for edge in self._edges[node.id]]
        beside = [producer for producer in producers if self._levels[producer.id] == 0]
        sources = {key for producer in beside for key in sources_of(self._graph, producer)}
        return not share_tasks(self._plan, sources)

    def _is_chained(self, edge: Edge, node: Node) -> bool:
        """Return whether the producer calls a node directly."""
        if self._levels[edge.producer.id] != self._levels[node.id]:
            return False
        # Timestamps are always assigned in the task that reads the source.
        return edge.producer.kind == SOURCE or (
            self._plan.options.chaining
            and node.chaining is Chaining.ALWAYS
            and edge.producer.chaining is not Chaining.NEVER
        )

    def _subtasks(self, node: Node) -> int:
        return node.parallelism or self._plan.options.default_parallelism

    def _receivers(self, node: Node) -> int | None:
        """Return the number of subtasks of a node, None if it is that of its level."""
        return self._less(self._subtasks(node))

    def _less(self, subtasks: int) -> int | None:
        return None if subtasks == self._plan.options.parallelism else subtasks

    def _senders(self, node: Node) -> int | None:
        """Return the number of subtasks of a node that send records, None if all of its level do.

        A node that is chained to one with fewer subtasks has no more: the others get no records.
        """
        return self._less(self._fed[node.id])

    def _fed_subtasks(self) -> dict[int, int]:
        """Return the number of subtasks of each source and operator that get records."""
        fed: dict[int, int] = {}
        for node in self._graph.nodes:  # upstream first
            level = self._levels.get(node.id)
            if level == 0:
                fed[node.id] = self._plan.options.parallelism
            elif level is not None:
                fed[node.id] = max(
                    fed[edge.producer.id]
                    if self._levels[edge.producer.id] == level
                    else self._subtasks(node)
                    for edge in self._edges[node.id]
                )
        return fed

    def _channel(self, edge: Edge, node: Node) -> ChannelSpec:
        partitioning = edge.partitioning
        custom = partitioning is not None and partitioning.partitioner is StreamPartitioner.CUSTOM
        assert partitioning is not None or not custom
        return ChannelSpec(
            id=len(self._channels),
            source_level=self._levels[edge.producer.id],
            target_level=self._levels[node.id],
            target_operator=node.id,
            partitioner=self._exchange(edge, node) or StreamPartitioner.FORWARD,
            key_selector=partitioning.key_selector  # type: ignore[union-attr]
            if custom
            else edge.key_selector,
            origin=edge.origin_node.origin,
            sources=sources_of(self._graph, edge.producer),
            target_input=edge.target_input,
            subtasks=self._receivers(node),
            partition_function=partitioning.function if custom else None,  # type: ignore[union-attr]
            target_name=node.name,
            senders=self._senders(edge.producer),
            has_results=self._has_results(edge, node),
            record_type=self._record_type(edge),
        )

    def _record_type(self, edge: Edge) -> TypeInformation | None:
        """Return the type of the records of an edge if serializers of the program write them."""
        declared = edge.producer.type_info
        if edge.output_tag is not None:
            declared = self._types_of_sides(edge.producer)[edge.output_tag]
        return declared if has_serializers(declared) else None

    def _types_of_sides(self, node: Node) -> dict[str, TypeInformation]:
        """Return the tags of the side outputs of a node, with their types."""
        return {
            side.output_tag: side.type_info
            for side in self._graph.of_kind(SIDE_OUTPUT)
            if side.inputs == (node.id,) and side.output_tag is not None
        }

    def _input_types(self, node: Node) -> tuple[TypeInformation | None, ...]:
        """Return `_record_type` of each input of a node; None if its edges differ."""
        types: dict[int, set[TypeInformation | None]] = defaultdict(set)
        for edge in self._edges[node.id]:
            types[edge.target_input].add(self._record_type(edge))
        input_types = tuple(
            next(iter(some)) if len(some) == 1 else None for _, some in sorted(types.items())
        )
        return input_types if any(input_types) else ()

    def _has_results(self, edge: Edge, node: Node) -> bool:
        """Return whether an edge leads out of the bounded region, to an order that matters.

        Windows and joins order what they hold by themselves.
        """
        leads_out = edge.producer.id in self._region and node.id not in self._region
        has_order = node.window is None and node.interval is None
        return leads_out and has_order and edge.key_selector is not None

    def _to_sink(self, edge: Edge, sink: int) -> ChannelSpec:
        partitioning = edge.partitioning
        copies = (
            partitioning is not None and partitioning.partitioner is StreamPartitioner.BROADCAST
        )
        return ChannelSpec(
            id=len(self._channels),
            source_level=self._levels[edge.producer.id],
            target_level=SINK_LEVEL,
            target_operator=sink,
            partitioner=StreamPartitioner.BROADCAST if copies else StreamPartitioner.NONE,
            key_selector=None,
            origin=edge.origin_node.origin,
            sources=sources_of(self._graph, edge.producer),
            target_name=self._plan.sinks[sink].name,
            record_type=self._record_type(edge),
        )

    def _operator(self, node: Node) -> OperatorSpec:
        draft = self._drafts[node.id]
        return OperatorSpec(
            id=node.id,
            uid=self._uids[node.id],
            name=node.name,
            kind=node.kind,
            function=node.function,
            method=node.method,
            origin=node.origin,
            input_count=len(node.inputs) if node.kind.distinguishes_inputs else 1,
            key_selectors=key_selectors(self._graph, node),
            timestamps=_timestamps(node),
            result_type=_result_type(node),
            input_types=self._input_types(node),
            chained_to=tuple(draft.chained_to.get(None, ())),
            channels=tuple(draft.channels.get(None, ())),
            side_outputs=tuple(self._side_outputs(node, draft)),
            parallelism=self._receivers(node),
            broadcast_states=node.broadcast_states,
            window=node.window,
            async_io=node.async_io,
            batches=node.batches,
            interval=node.interval,
            # The runtime always groups the input of a function, which cannot take ungrouped records.
            sorts_itself=node.kind.is_own and attributes_of(node).internal_sorter_supported,
            join=node.join and replace(node.join, ttl_ms=self._plan.options.state_ttl_ms),
        )

    def _side_outputs(self, node: Node, draft: _Draft) -> Iterator[SideOutput]:
        types = self._types_of_sides(node)
        for tag in sorted({*draft.chained_to, *draft.channels} - {None}):  # type: ignore[type-var]
            assert tag is not None
            declared = types[tag]
            yield SideOutput(
                tag,
                declared if declared.need_conversion() else None,
                tuple(draft.chained_to.get(tag, ())),
                tuple(draft.channels.get(tag, ())),
            )


def _timestamps(node: Node) -> TimestampSpec | None:
    if node.kind != TIMESTAMPS:
        return None
    return node.watermarking or TimestampSpec(None, None)  # none: timestamps stay as they are


_IN_PLACE = frozenset({StreamPartitioner.FORWARD})
"""Partitionings of the user's that need no exchange."""


def _result_type(node: Node) -> TypeInformation | None:
    if node.window is not None and node.window.results is not None:
        return None  # expressions make values of the declared type
    needed = node.kind.makes_values and node.type_info.need_conversion()
    return node.type_info if needed else None


def _uids(graph: LogicalGraph) -> dict[int, str]:
    """Return the uids of operators: the user's, else generated ones."""
    taken = {node.uid for node in graph.nodes}
    uids: dict[int, str] = {}
    for node in graph.nodes:
        if not node.kind.is_operator:
            continue
        if node.uid is None and node.generated_uid is not None and node.generated_uid.text in taken:
            raise GraphError(
                f"uid {node.generated_uid.text!r} is taken, but {node.name!r} gets it by default",
                hint="Give this operator a uid too.",
                origin=node.origin,
            )
        generated = node.generated_uid
        uids[node.id] = node.uid or (node.name if generated is None else generated.text)
    return uids


def choose_parallelism(plan: PhysicalPlan) -> PhysicalPlan:
    """Give every level the number of subtasks of its most parallel operator.

    Operators with fewer use the first ones. `window_all` does not count: its records have one key,
    so it uses one subtask of any level.
    """
    options = plan.options
    limited = [n for n in plan.graph.nodes if n.parallelism is not None and not _has_one_key(n)]
    for node in limited:
        assert node.parallelism is not None
        if node.parallelism > options.max_parallelism:
            raise GraphError(
                f"{node.name!r} has parallelism {node.parallelism}, more than "
                f"pipeline.max-parallelism, {options.max_parallelism}",
                hint="Lower the parallelism, or raise pipeline.max-parallelism.",
                origin=node.origin,
            )
    partitioned = [node for node in plan.graph.nodes if node.kind == PARTITION]
    bound = [*(node for node in limited if node.kind != SINK), *partitioned]
    if options.history_parallelism is not None and bound:
        raise GraphError(
            f"{HISTORY_PARALLELISM.key} is set, and {bound[0].name!r} depends on the number of subtasks, "
            "which must be the same in history and live",
            hint="Remove the setting, or set_parallelism(…) and partition_custom(…) from the program.",
            origin=bound[0].origin,
        )
    most = max((node.parallelism or 0 for node in limited if node.kind != SINK), default=0)
    return replace(
        plan,
        options=replace(options, parallelism=max(options.default_parallelism, most)),
        exact_subtasks=bool(partitioned) or bool(most) or options.parallelism_is_set,
    )


def _has_one_key(node: Node) -> bool:
    return node.window is not None and node.window.is_of_all and node.parallelism == 1
