"""Phase: cut the job behind operators that answer only at the end of their input (FLIP-331 §5.3).

The region of such operators, if their sources end, is everything that only those sources feed. It
is a batch run of its own, at batch speed and without checkpoints; when it is through its operators
are gone. Where it feeds something that other sources feed as well, its records are kept:

    history -> totals ---------> join -> sink           history -> totals -> [result]
    live    -------------------> join           =>      [result] -> join -> sink
                                                        live     -> join

So nothing behind the cut starts, or holds records back, before the region is through.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.config.execution_mode import RuntimeExecutionMode
from penstock.connectors.blocking_result import ResultSink, ResultSource
from penstock.graph.logical import GeneratedUid, LogicalGraph, Node
from penstock.plan.phases.attributes import attributes_of
from penstock.plan.phases.edges import sources_of
from penstock.plan.physical import Decision, PhysicalPlan
from penstock.program.operators import KEY_BY, PARTITION, PROCESS, SIDE_OUTPUT, SINK, SOURCE, UNION
from penstock.program.traverse import inputs_first
from penstock.types import Types

RESULTS_RUN = "results"
"""Name of the run that reads what the bounded region gave, and nothing else. A savepoint of it would
miss the results that are not read yet: they are in the checkpoint directory only."""

_PASSING = frozenset({KEY_BY, PARTITION, UNION})
"""Nodes that say how records travel; they belong to whoever reads them."""


class WithTimestamp:
    """Pairs each record with its timestamp, which sinks do not see."""

    def process_element(self, value: Any, ctx: Any) -> list[tuple[Any, int | None]]:
        """Return the pair."""
        return [(value, ctx.current_timestamp)]


def end_of_stream_operators(graph: LogicalGraph) -> tuple[Node, ...]:
    """Return the operators that answer only at the end, and whose input has one."""
    return tuple(
        node
        for node in graph.nodes
        if node.inputs
        and attributes_of(node).output_only_after_end_of_stream
        and all(_ends(graph.node(source)) for source in sources_of(graph, node))
    )


def region_sources(graph: LogicalGraph) -> frozenset[int]:
    """Return the sources that are read by the bounded region of a STREAMING job."""
    dams = end_of_stream_operators(graph)
    return frozenset(source for node in dams for source in sources_of(graph, node))


def cut_behind_ends(plan: PhysicalPlan) -> PhysicalPlan:
    """Cut the graph of a job in STREAMING mode behind its bounded region. An early phase."""
    graph = plan.graph
    sources = graph.of_kind(SOURCE)
    asked = plan.options.mode
    automatic = asked is RuntimeExecutionMode.AUTOMATIC
    is_batch = asked is RuntimeExecutionMode.BATCH or (
        automatic and all(node.source is not None and node.source.is_bounded for node in sources)
    )
    region = frozenset[int]() if is_batch else region_sources(graph)
    if not region or len(region) == len(sources):
        return plan
    inside = {node.id for node in graph.nodes if region.issuperset(sources_of(graph, node))}
    made = _Cut(graph, inside).run()
    dams = ", ".join(repr(node.name) for node in end_of_stream_operators(graph))
    decisions = tuple(
        Decision(
            f"results of {name!r}",
            "kept until the bounded part is through",
            f"{dams} answers only at the end of its input, and what reads them has other input",
        )
        for name in made.cut_behind
    )
    return replace(plan, graph=made.graph(), decisions=plan.decisions + decisions)


def is_result(node: Node) -> bool:
    """Return whether a source reads what the bounded region gave."""
    return node.source is not None and node.source.gives_results


@dataclass(slots=True)
class _Cut:
    """A graph in the making. Nodes keep their order; those that are new get ids behind them.

    Attributes:
        old: The graph that is cut.
        inside: Ids of the nodes of the region.
        cut_behind: Names of the operators whose results are kept.
    """

    old: LogicalGraph
    inside: set[int]
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
        """Return the cut graph; nodes that nobody reads any more are gone."""
        nodes = {node.id: node for node in [*self._nodes, *self._kept()]}
        return LogicalGraph.leading_to_sinks(nodes)

    def _add(self, node: Node, inputs: tuple[int, ...]) -> int:
        number = len(self._nodes)
        self._nodes.append(replace(node, id=number, inputs=inputs))
        self._number[node.id] = number
        return number

    def _outside(self, old_id: int) -> int:
        """Return the id under which something outside of the region reads a node."""
        if old_id not in self.inside:
            return self._number[old_id]
        for key in inputs_first([old_id], self._passed_on):
            if key not in self._read:
                made = self._read_outside(self.old.node(key))
                self._nodes.append(made)
                self._read[key] = made.id
        return self._read[old_id]

    def _passed_on(self, old_id: int) -> tuple[int, ...]:
        node = self.old.node(old_id)
        return node.inputs if node.kind in _PASSING and old_id not in self._read else ()

    def _read_outside(self, node: Node) -> Node:
        """Return what stands for a node of the region outside of it."""
        if node.kind not in _PASSING:
            return self._result_of(node)
        # What feeds a node of the region is of the region, too, and has been made before.
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
        """Yield what keeps results: behind all other nodes, so that sinks keep their numbers."""
        first = len(self._nodes)
        for number, node in enumerate(self._sinks):
            name = f"result of {self.cut_behind[number]}"
            common = {
                "uid": None,
                "generated_uid": GeneratedUid(f"{name} kept-{number + 1}", is_numbered=True),
                "type_info": Types.PICKLED_BYTE_ARRAY(),
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
