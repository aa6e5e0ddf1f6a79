"""A program in two parts: up to its operators that emit changes, and behind them.

Behind such an operator a live run has rows that are taken back later, which a batch run never has. So the first part is
compared by the rows that are left, and the second part reads those rows in both ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.graph.logical import LogicalGraph, Node
from penstock.program.operators import SINK, SOURCE
from penstock.program.traverse import reachable
from penstock.testing.law.rules import CHANGES, SinkAnswer
from penstock.testing.law.samples import Inputs, Sample, SampleRecord, SampleSource
from penstock.testing.law.trials import Trial
from penstock.types.row import Row


def divided(trial: Trial) -> tuple[Trial, ...]:
    """Return a trial per part of a program; none if it emits no changes, or takes back rows that it never emitted."""
    parts: list[Trial] = []
    behind = trial
    while found := list(_first_changes(behind.program.graph)):
        before = behind.program.tapped([node.id for node in found])
        outcome = before.run(behind.inputs, behind.first)
        are_changes = all(sink.rule.answer is SinkAnswer.NET_CHANGES for sink in before.sinks)
        if outcome.failure is not None or not are_changes:
            return ()
        samples = {
            node.id: tuple(SampleRecord(0, row) for row in received.answer)
            for node, received in zip(found, outcome.received, strict=True)
        }
        if not all(isinstance(each.value, Row) for sample in samples.values() for each in sample):
            return ()
        parts.append(replace(behind, program=before))
        behind = _behind(behind, samples)
    return (*parts, behind) if parts else ()


def _first_changes(graph: LogicalGraph) -> Iterator[Node]:
    """Yield operators that emit changes, with none above them."""
    for node in graph.nodes:
        if node.kind not in CHANGES:
            continue
        above = reachable(node.inputs, lambda key: graph.node(key).inputs)
        if not any(graph.node(key).kind in CHANGES for key in above):
            yield node


def _behind(trial: Trial, samples: Mapping[int, Sample]) -> Trial:
    """Return the part of a trial in which some operators are sources of their results."""
    graph = trial.program.graph

    def cut(node: Node) -> Node:
        if node.id not in samples:
            return node
        source = SampleSource((), None, node.type_info)
        return Node(
            id=node.id,
            kind=SOURCE,
            name=node.name,
            uid=node.uid,
            inputs=(),
            type_info=node.type_info,
            origin=node.origin,
            source=source,
        )

    nodes = {node.id: cut(node) for node in graph.nodes}
    kept = reachable([node.id for node in graph.of_kind(SINK)], lambda key: nodes[key].inputs)
    inputs: Inputs = {**trial.inputs, **samples}
    return replace(
        trial,
        program=trial.program.with_graph(LogicalGraph(tuple(nodes[key] for key in sorted(kept)))),
        inputs={key: sample for key, sample in inputs.items() if key in kept},
    )
