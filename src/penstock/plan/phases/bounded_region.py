"""Phase: cuts the job after operators that emit only at the end of their input (FLIP-331 §5.3).

If the sources of such operators are bounded, these sources and all operators that only they feed are the
bounded region. It is a separate batch run without checkpoints; when it has ended its operators are
removed. Where it feeds an operator that other sources feed too, its results are stored:

    history -> totals ---------> join -> sink           history -> totals -> [result]
    live    -------------------> join           =>      [result] -> join -> sink
                                                        live     -> join

So no operator after the cut starts, or buffers records, before the region has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.config.options import RuntimeExecutionMode
from penstock.connectors.cache import ResultSink, ResultSource
from penstock.graph.logical import GeneratedUid, LogicalGraph, Node
from penstock.plan.phases.edges import sources_of
from penstock.plan.phases.operator_traits import attributes_of
from penstock.plan.physical import Decision, PhysicalPlan
from penstock.program.operators import KEY_BY, PARTITION, PROCESS, SIDE_OUTPUT, SINK, SOURCE, UNION
from penstock.program.traverse import inputs_first
from penstock.types import TypeInformation, Types
from penstock.types.description import has_serializers

RESULTS_RUN = "results"
"""Name of the run that reads only the results of the bounded region. A savepoint of this run would lack
the results that it has not read yet: they are in the checkpoint directory only."""

_PASSING = frozenset({KEY_BY, PARTITION, UNION})
"""Kinds of nodes that only route records; they belong to the region of their readers."""


class WithTimestamp:
    """Pairs each record with its timestamp, which sinks do not see."""

    def process_element(self, value: Any, ctx: Any) -> list[tuple[Any, int | None]]:
        """Return the pair."""
        return [(value, ctx.current_timestamp)]


def end_of_stream_operators(graph: LogicalGraph) -> tuple[Node, ...]:
    """Return the operators that emit only at the end of their input, and whose input is bounded."""
    return tuple(
        node
        for node in graph.nodes
        if node.inputs
        and attributes_of(node).output_only_after_end_of_stream
        and all(_ends(graph.node(source)) for source in sources_of(graph, node))
    )


def region_sources(graph: LogicalGraph) -> frozenset[int]:
    """Return the sources of the bounded region of a STREAMING job."""
    operators = end_of_stream_operators(graph)
    return frozenset(source for node in operators for source in sources_of(graph, node))


def region_nodes(graph: LogicalGraph) -> frozenset[int]:
    """Return the nodes that only the sources of the bounded region feed; none if it is the whole job."""
    region = region_sources(graph)
    if not region or len(region) == len(graph.of_kind(SOURCE)):
        return frozenset()
    return frozenset(node.id for node in graph.nodes if region.issuperset(sources_of(graph, node)))


def runs_as_batch(plan: PhysicalPlan) -> bool:
    """Return whether a job is in BATCH mode: that is configured, or it is AUTOMATIC and all sources end."""
    mode = plan.options.mode
    if mode is not RuntimeExecutionMode.AUTOMATIC:
        return mode is RuntimeExecutionMode.BATCH
    sources = plan.graph.of_kind(SOURCE)
    return all(node.source is not None and node.source.is_bounded for node in sources)


# FLIP-331, rule 2.
def cut_after_region(plan: PhysicalPlan) -> PhysicalPlan:
    """Cut the graph of a job in STREAMING mode after its bounded region. An early phase."""
    graph = plan.graph
    inside = frozenset[int]() if runs_as_batch(plan) else region_nodes(graph)
    if not inside:
        return plan
    cut = _Cut(graph, inside).run()
    operators = ", ".join(repr(node.name) for node in end_of_stream_operators(graph))
    decisions = tuple(
        Decision(
            f"results of {name!r}",
            "kept until the bounded part is through",
            f"{operators} answers only at the end of its input, and what reads them has other input",
        )
        for name in cut.cut_behind
    )
    return replace(plan, graph=cut.graph(), decisions=plan.decisions + decisions)


@dataclass(slots=True)
class _Cut:
    """Builds the cut graph. Old nodes keep their order; new nodes get the following ids.

    Attributes:
        old: The original graph.
        inside: Ids of the nodes of the region.
        cut_behind: Names of the operators whose results are stored.
    """

    old: LogicalGraph
    inside: frozenset[int]
    cut_behind: list[str] = field(default_factory=list)
    _nodes: list[Node] = field(default_factory=list)
    _sinks: list[Node] = field(default_factory=list)
    _number: dict[int, int] = field(default_factory=dict)
    _read: dict[int, int] = field(default_factory=dict)

    def run(self) -> _Cut:
        for node in self.old.nodes:
            if node.id in self.inside:
                self._add(node, tuple(self._number[i] for i in node.inputs))
            else:
                self._add(node, tuple(self._outside(i) for i in node.inputs))
        return self

    def graph(self) -> LogicalGraph:
        """Return the cut graph, without nodes that no node reads."""
        nodes = {node.id: node for node in [*self._nodes, *self._kept()]}
        return LogicalGraph.leading_to_sinks(nodes)

    def _add(self, node: Node, inputs: tuple[int, ...]) -> int:
        number = len(self._nodes)
        self._nodes.append(replace(node, id=number, inputs=inputs))
        self._number[node.id] = number
        return number

    def _outside(self, old_id: int) -> int:
        """Return the id of the node that nodes outside of the region read instead of `old_id`."""
        if old_id not in self.inside:
            return self._number[old_id]
        for key in inputs_first([old_id], self._passed_on):
            if key not in self._read:
                node = self._read_outside(self.old.node(key))
                self._nodes.append(node)
                self._read[key] = node.id
        return self._read[old_id]

    def _passed_on(self, old_id: int) -> tuple[int, ...]:
        node = self.old.node(old_id)
        return node.inputs if node.kind in _PASSING and old_id not in self._read else ()

    def _read_outside(self, node: Node) -> Node:
        """Return the id of the node that replaces a node of the region outside of it."""
        if node.kind not in _PASSING:
            return self._result_of(node)
        # The inputs of a node of the region are in the region too, and have been added before.
        inputs = tuple(self._read[i] for i in node.inputs)
        return replace(node, id=len(self._nodes), inputs=inputs)

    def _result_of(self, node: Node) -> Node:
        name = self.old.node(node.inputs[0]).name if node.kind == SIDE_OUTPUT else node.name
        self.cut_behind.append(name)
        result = f"{len(self.cut_behind) - 1}"
        self._sinks.append(node)
        source = ResultSource(result, name, node.type_info)
        return Node(
            id=len(self._nodes),
            kind=SOURCE,
            name=f"result of {name}",
            uid=None,
            inputs=(),
            type_info=node.type_info,
            origin=node.origin,
            source=source,
        )

    def _kept(self) -> Iterator[Node]:
        """Yield the result sinks. They come after all other nodes, so that sinks keep their numbers."""
        first = len(self._nodes)
        for number, node in enumerate(self._sinks):
            name = f"result of {self.cut_behind[number]}"
            common = {
                "uid": None,
                "generated_uid": GeneratedUid(f"{name} kept-{number + 1}", is_numbered=True),
                "type_info": _stamped(node.type_info),
                "origin": node.origin,
            }
            yield Node(
                id=first + 2 * number,
                kind=PROCESS,
                name=name,
                inputs=(self._number[node.id],),
                function=WithTimestamp(),
                method="process_element",
                **common,  # type: ignore[arg-type]
            )
            yield Node(
                id=first + 2 * number + 1,
                kind=SINK,
                name=name,
                inputs=(first + 2 * number,),
                sink=ResultSink(str(number)),
                **common,  # type: ignore[arg-type]
            )


def _ends(source: Node) -> bool:
    return source.source is not None and source.source.is_bounded


def _stamped(records: TypeInformation) -> TypeInformation:
    """Return the type of pairs of a record and a timestamp; any object if records are pickled."""
    if has_serializers(records):
        return Types.TUPLE([records, Types.LONG()])
    return Types.PICKLED_BYTE_ARRAY()
