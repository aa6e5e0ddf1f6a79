"""The graph of a plan as one SVG file, which needs nothing else: sources, operators, sinks, and how records travel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape

from penstock.plan.explain.outline import edges_of, nodes_of
from penstock.plan.physical import PhysicalPlan
from penstock.ui.graph_layout import layout_of

_STYLE = """
svg { background: #fff; font: 13px system-ui, sans-serif; }
.node { fill: #f4f6f8; stroke: #5b6875; } .end { fill: #e3eefb; }
.edge { fill: none; stroke: #5b6875; } .exchange { stroke: #b4530a; stroke-dasharray: 5 3; } .tip { fill: #5b6875; }
.name { fill: #14181c; text-anchor: middle; } .small { fill: #4a5560; font-size: 11px; text-anchor: middle; }
.way { fill: #8a3f06; font-size: 11px; }
@media (prefers-color-scheme: dark) {
  svg { background: #14181c; } .node { fill: #232a31; stroke: #8b98a5; } .end { fill: #1c3147; }
  .edge { stroke: #8b98a5; } .exchange { stroke: #f0a35e; } .tip { fill: #8b98a5; }
  .name { fill: #f1f4f7; } .small { fill: #b3bec9; } .way { fill: #f0a35e; }
}
"""
_NAME_AT, _KIND_AT = 0.42, 0.78
"""Beginnings of the lines of text, as shares of the height of a node."""

_BESIDE = 4
"""Pixels between an edge and its label."""


def plan_svg(plan: PhysicalPlan) -> str:
    """Return the graph of a plan as SVG. Broken lines are exchanges between levels.

    Raises:
        EnvironmentSetupError: The extra `ui` is not installed.
    """
    nodes = [node.to_json() for node in nodes_of(plan)]
    layout = layout_of(nodes, [edge.to_json() for edge in edges_of(plan)])
    width, height = layout["width"], layout["height"]
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        "<title>Plan of the job</title>",
        f"<style>{_STYLE}</style>",
        *(line for edge in layout["edges"] for line in _edge(edge)),
        *(
            line
            for node, of in zip(layout["nodes"], nodes, strict=True)
            for line in _node(node, of)
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _edge(edge: Mapping[str, Any]) -> Iterator[str]:
    points = " ".join(f"{x},{y}" for x, y in edge["points"])
    kind = "edge exchange" if edge["is_exchange"] else "edge"
    yield f'<polyline class="{kind}" points="{points}"/>'
    x, y = edge["points"][-1]
    yield f'<polygon class="tip" points="{x},{y} {x - 4},{y - 8} {x + 4},{y - 8}"/>'
    if edge["label"]:
        x, y = edge["label_at"]
        yield f'<text class="way" x="{x + _BESIDE}" y="{y}">{escape(edge["label"])}</text>'


def _node(node: Mapping[str, Any], of: Mapping[str, Any]) -> Iterator[str]:
    x, y, width, height = (node[name] for name in ("x", "y", "width", "height"))
    kind = "node end" if of["kind"] in {"source", "sink"} else "node"
    middle = round(x + width / 2, 1)
    yield "<g>"
    yield f"<title>{escape(_facts(of))}</title>"
    yield f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>'
    name, small = round(y + height * _NAME_AT, 1), round(y + height * _KIND_AT, 1)
    yield f'<text class="name" x="{middle}" y="{name}">{escape(node["label"])}</text>'
    yield f'<text class="small" x="{middle}" y="{small}">{escape(node["details"])}</text>'
    yield "</g>"


def _facts(of: Mapping[str, Any]) -> str:
    parallelism = "" if of["parallelism"] is None else f", parallelism {of['parallelism']}"
    at = f", {of['origin']}" if of["origin"] else ""
    return f"{of['name']}, uid {of['uid']}, level {of['level']}{parallelism}{at}"
