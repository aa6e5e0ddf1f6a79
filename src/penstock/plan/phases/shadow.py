"""Phase: let the sinks of a shadow write beside those of the other job, and its sources read without disturbing it.

    a sink of files, a Delta table       the same in outputs/UID below the checkpoint directory
    results for the driver               as they are
    any other sink                       lines of JSON in outputs/UID
    with DISCARD                         a count and a digest in outputs/UID

A log is read without confirmations: offsets of a consumer group stay those of the other job. A replication slot can be
read by one job only, so the source gets a slot of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from penstock.connectors.files.digest_sink import DigestSink
from penstock.connectors.files.file_sink import FileSink
from penstock.errors import SinkError, SourceError
from penstock.graph.endpoints import Sink, Source
from penstock.graph.logical import LogicalGraph, Node
from penstock.plan.phases.pipelines import sink_uid
from penstock.plan.physical import PhysicalPlan, Redirection
from penstock.program.operators import SINK
from penstock.user_failure import failing_as, short

OUTPUTS = "outputs"
"""The directory of the output of a shadow, below its checkpoint directory."""


def redirect_sinks(plan: PhysicalPlan) -> PhysicalPlan:
    """Replace sinks and sources. Before `cut_after_region`, which adds sinks of our own."""
    redirection = plan.options.redirection
    if redirection is None:
        return plan
    sinks = {
        node.id: f"{redirection.directory}/{sink_uid(node, index)}"
        for index, node in enumerate(plan.graph.of_kind(SINK))
    }
    nodes = tuple(_beside(node, sinks.get(node.id, ""), redirection) for node in plan.graph.nodes)
    return replace(plan, graph=LogicalGraph(nodes))


def _beside(node: Node, directory: str, redirection: Redirection) -> Node:
    if node.source is not None:
        source = node.source.beside
        return replace(node, source=_made(node, f"source {node.name!r}", Source, source))
    if node.sink is None:
        return node
    return replace(node, sink=_redirected(node, node.sink, directory, redirection))


def _redirected(node: Node, sink: Sink, directory: str, redirection: Redirection) -> Sink:
    beside = partial(sink.beside, directory)
    own: Sink | None = _made(node, f"sink {node.name!r}", Sink | None, beside)
    if redirection.keeps_records:
        return own or FileSink.json(directory)
    if own is sink:
        return sink
    files = own if isinstance(own, FileSink) else FileSink.json(directory)
    return DigestSink(directory, files.format)


def _made(node: Node, owner: str, kind: Any, beside: Callable[[], Any]) -> Any:
    """Return what `beside` of a source or sink returns, which may be code of the user."""
    failed = f"{owner} failed on beside"
    error = SourceError if kind is Source else SinkError
    with failing_as(error, failed, node.origin, hint="Correct beside()."):
        result = beside()
    if not isinstance(result, kind):
        raise error(
            f"{failed}: it returned {short(result)}",
            hint="Return a source." if kind is Source else "Return a sink, or None.",
            origin=node.origin,
        )
    return result
