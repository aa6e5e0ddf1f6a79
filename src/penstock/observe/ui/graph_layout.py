"""Layout of the nodes and edges of a plan: one for the page and for `penstock plan --svg`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.extras import EXTRAS

_CHAR_WIDTH = 7.4
"""Width of the usual character at 13 px; others are estimated by it."""

_SIDES, _LEAST_WIDTH, _HEIGHT, _MARGIN = 24, 96, 42, 14
_MOST_LABEL = 34
_FIGURES = len(" · 100 % · hot")
_NO_EXCHANGE = frozenset({"CHAINED", "NONE"})
_UNNAMED = _NO_EXCHANGE | {"FORWARD"}
"""Partitionings that need no word beside an edge: `NONE` is what a level hands to its sinks."""

_Point = tuple[float, float]


def layout_of(
    nodes: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return positions in pixels, from the top left.

    They are `width`, `height`; `nodes` with `x`, `y`, `width`, `height`, `label` and `details`; `edges` with `points`,
    `label`, `label_at`, whether the edge `is_exchange`, the `source_name` if it leaves a source, `source_uid` and
    `target_uid`, whether it `is_side`, a side output, and whether it `is_only_input` of its target.
    """
    if not nodes:
        return {"width": 0, "height": 0, "nodes": [], "edges": []}
    labels = [_label(str(node["name"])) for node in nodes]
    details = _details(nodes)
    boxes, lines = _drawn(nodes, edges, labels, details)
    placed = [
        {**node, "label": label, "details": detail, **box}
        for node, label, detail, box in zip(nodes, labels, details, boxes, strict=True)
    ]
    led = _led(nodes, edges, lines)
    width, height = _ends(placed, led)
    return {
        "width": round(width + _MARGIN),
        "height": round(height + _MARGIN),
        "nodes": placed,
        "edges": led,
    }


def _drawn(
    nodes: Sequence[Mapping[str, Any]],
    edges: Sequence[Mapping[str, Any]],
    labels: Sequence[str],
    details: Sequence[str],
) -> tuple[list[dict[str, float]], list[list[_Point]]]:
    """Return the boxes of nodes, and the points of edges."""
    graphlay = EXTRAS["ui"].load("graphlay")
    graph = graphlay.Graph()
    for node, label, detail in zip(nodes, labels, details, strict=True):
        length = max(len(label), len(detail) + _FIGURES)
        width = max(_LEAST_WIDTH, length * _CHAR_WIDTH + _SIDES)
        graph.node(node["id"], width=width, height=_HEIGHT)
    for edge in edges:
        graph.edge(edge["source"], edge["target"])
    drawing = graphlay.layout(graph, options={"direction": "topbottom"})
    lines = [[(place["x"], place["y"]) for place in edge["points"]] for edge in drawing.edges]
    corners = [
        (
            node["center"]["x"] - node["size"]["width"] / 2,
            node["center"]["y"] - node["size"]["height"] / 2,
        )
        for node in drawing.nodes
    ]
    points = corners + [point for line in lines for point in line]
    left, top = min(x for x, _ in points), min(y for _, y in points)

    def moved(x: float, y: float) -> _Point:
        return round(x - left + _MARGIN, 1), round(y - top + _MARGIN, 1)

    boxes = []
    for node, corner in zip(drawing.nodes, corners, strict=True):
        x, y = moved(*corner)
        size = node["size"]
        boxes.append({"x": x, "y": y, "width": size["width"], "height": size["height"]})
    return boxes, [[moved(*point) for point in line] for line in lines]


def _led(
    nodes: Sequence[Mapping[str, Any]],
    edges: Sequence[Mapping[str, Any]],
    lines: Sequence[Sequence[_Point]],
) -> list[dict[str, Any]]:
    """Return the edges along their lines."""
    inputs = Counter(edge["target"] for edge in edges)
    uids = {node["id"]: node["uid"] for node in nodes}
    sources = {node["id"]: node["name"] for node in nodes if node["kind"] == "source"}
    return [
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
        for edge, line in zip(edges, lines, strict=True)
    ]


def _ends(nodes: Sequence[Mapping[str, Any]], edges: Sequence[Mapping[str, Any]]) -> _Point:
    """Return the lower right corner of everything, room for the labels of edges included."""
    ends = [(node["x"] + node["width"], node["y"] + node["height"]) for node in nodes]
    for edge in edges:
        (x, y), label = edge["label_at"], edge["label"]
        ends.append((x + (len(label) * _CHAR_WIDTH + 80 if label else 70), y))
        ends += edge["points"]
    return max(x for x, _ in ends), max(y for _, y in ends)


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
    ship = "" if edge["ship"] in _UNNAMED else str(edge["ship"]).lower()
    return " · ".join(part for part in (str(edge.get("tag") or ""), ship) if part)


def _label_at(line: Sequence[_Point]) -> _Point:
    """Return a place beside the last piece of a line, which ends above its target."""
    (x, y), (_, before) = line[-1], line[-2]
    return x, round((y + before) / 2 + 4, 1)
