"""Phase: lists the sources and sinks of the job."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import quote

from penstock.graph.hybrid import parts_of
from penstock.plan.physical import PhysicalPlan, SinkPlan, SourcePlan
from penstock.program.operators import SINK, SOURCE


def find_endpoints(plan: PhysicalPlan) -> PhysicalPlan:
    """List sources (a hybrid source as its parts) and sinks."""
    sources = tuple(
        SourcePlan(
            node.id,
            node.name,
            parts_of(node.source),
            node.type_info,
            node.origin,
            is_query=bool(node.source.query_parts),
        )
        for node in plan.graph.of_kind(SOURCE)
        if node.source is not None
    )
    sinks = tuple(
        SinkPlan(
            index,
            _file_safe(node.uid) if node.uid else f"sink-{index}",
            node.name,
            node.sink,
            node.type_info,
            node.origin,
        )
        for index, node in enumerate(plan.graph.of_kind(SINK))
        if node.sink is not None
    )
    return replace(plan, sources=sources, sinks=sinks)


def _file_safe(uid: str) -> str:
    """Return a file name for a uid: unique, without separators, and different from generated names."""
    quoted = quote(uid, safe="")
    if quoted.startswith(".") or re.fullmatch(r"sink-\d+", quoted):
        return f"%{ord(quoted[0]):02X}{quoted[1:]}"
    return quoted
