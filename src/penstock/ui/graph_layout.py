"""Where the nodes and edges of a plan are drawn: one layout for the page and for `penstock plan --svg`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.ui.libraries import library

_CHAR_WIDTH = 7.4
"""Of the usual character at 13 px; others are estimated by it."""

_SIDES, _LEAST_WIDTH, _HEIGHT, _MARGIN = 24, 96, 42, 14
_MOST_LABEL = 34
_FIGURES = len(" · 100 % · hot")
_NO_EXCHANGE = frozenset({"CHAINED", "NONE"})
_NOT_TOLD = _NO_EXCHANGE | {"FORWARD"}
"""What is not worth a word beside an edge: `NONE` is what a level hands to its sinks."""


def layout_of(
    nodes: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return positions in pixels, from the top left.

    Args:
        nodes: Of `JobStarted`.
        edges: Of `JobStarted`.

    Returns:
        `width`, `height`; `nodes` with `x`, `y`, `width`, `height`, `label` and `details`; `edges` with `points`, `label`,
        `label_at`, whether the edge `is_exchange`, the `source_name` if it leaves a source, `source_uid` and `target_uid`,
        whether it `is_side`, a side output, and whether it `is_only_input` of its target.

    Raises:
        EnvironmentSetupError: The extra `ui` is not installed.
    """
    if not nodes:
        return {"width": 0, "height": 0, "nodes": [], "edges": []}
    graphlay = library("graphlay")
    graph = graphlay.Graph()
    labels = [_label(str(node["name"])) for node in nodes]
    told = _details(nodes)
    for node, label, details in zip(nodes, labels, told, strict=True):
        length = max(len(label), len(details) + _FIGURES)
        width = max(_LEAST_WIDTH, length * _CHAR_WIDTH + _SIDES)
        graph.node(node["id"], width=width, height=_HEIGHT)
    for edge in edges:
        graph.edge(edge["source"], edge["target"])
    drawing = graphlay.layout(graph, options={"direction": "topbottom"})
    drawn_nodes = drawing.nodes
    drawn_edges = [[(at["x"], at["y"]) for at in edge["points"]] for edge in drawing.edges]
    left, top = _least(drawn_nodes, drawn_edges)

    def moved(x: float, y: float) -> tuple[float, float]:
        return round(x - left + _MARGIN, 1), round(y - top + _MARGIN, 1)

    placed = []
    for node, label, details, drawn in zip(nodes, labels, told, drawn_nodes, strict=True):
        size = drawn["size"]
        x, y = moved(
            drawn["center"]["x"] - size["width"] / 2, drawn["center"]["y"] - size["height"] / 2
        )
        placed.append(
            {
                **node,
                "label": label,
                "details": details,
                "x": x,
                "y": y,
                "width": size["width"],
                "height": size["height"],
            }
        )
    inputs = Counter(edge["target"] for edge in edges)
    uids = {node["id"]: node["uid"] for node in nodes}
    sources = {node["id"]: node["name"] for node in nodes if node["kind"] == "source"}
    led = []
    for edge, points in zip(edges, drawn_edges, strict=True):
        line = [moved(x, y) for x, y in points]
        led.append(
            {
                "source": edge["source"],
                "target": edge["target"],
                "points": line,
                "label": _edge_label(edge),
                "label_at": _label_at(line),
                "is_exchange": edge["ship"] not in _NO_EXCHANGE,
                "source_name": sources.get(edge["source"]),
                "source_uid": uids[edge["source"]],
                "target_uid": uids[edge["target"]],
                "is_side": bool(edge.get("tag")),
                "is_only_input": inputs[edge["target"]] == 1,
            }
        )
    ends = [(node["x"] + node["width"], node["y"] + node["height"]) for node in placed]
    ends += [
        (at[0] + (len(edge["label"]) * _CHAR_WIDTH + 80 if edge["label"] else 70), at[1])
        for edge in led
        for at in [edge["label_at"]]
    ]
    ends += [point for edge in led for point in edge["points"]]
    return {
        "width": round(max(x for x, _ in ends) + _MARGIN),
        "height": round(max(y for _, y in ends) + _MARGIN),
        "nodes": placed,
        "edges": led,
    }


def _label(name: str) -> str:
    return name if len(name) <= _MOST_LABEL else f"{name[: _MOST_LABEL - 1]}…"


def _details(nodes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the kind of each node, and its uid where several have its name."""
    names = Counter(node["name"] for node in nodes)
    return [
        f"{node['kind']} · {_label(str(node['uid']))}"
        if names[node["name"]] > 1 and node["uid"] != node["name"]
        else str(node["kind"])
        for node in nodes
    ]


def _edge_label(edge: Mapping[str, Any]) -> str:
    ship = "" if edge["ship"] in _NOT_TOLD else str(edge["ship"]).lower()
    return " · ".join(part for part in (str(edge.get("tag") or ""), ship) if part)


def _label_at(line: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return a place beside the last piece of a line, which ends above its target."""
    (x, y), (_, before) = line[-1], line[-2]
    return x, round((y + before) / 2 + 4, 1)


def _least(
    nodes: Sequence[Mapping[str, Any]], edges: Sequence[Sequence[tuple[float, float]]]
) -> tuple[float, float]:
    corners = [
        (
            node["center"]["x"] - node["size"]["width"] / 2,
            node["center"]["y"] - node["size"]["height"] / 2,
        )
        for node in nodes
    ]
    points = corners + [point for line in edges for point in line]
    return min(x for x, _ in points), min(y for _, y in points)
