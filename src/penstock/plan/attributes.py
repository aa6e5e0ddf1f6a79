"""What operators and functions say about themselves, as the planner reads it."""

from __future__ import annotations

from typing import Any

from penstock.errors import GraphError
from penstock.graph.logical import Node, NodeKind
from penstock.graph.operator_attributes import OperatorAttributes

CUSTOM = frozenset(
    {NodeKind.CUSTOM, NodeKind.CO_CUSTOM, NodeKind.KEYED_CUSTOM, NodeKind.KEYED_CO_CUSTOM}
)
"""Operators of the user's own."""

_DEFAULTS = OperatorAttributes()


def attributes_of(node: Node) -> OperatorAttributes:
    """Return what a node says of itself: its function's attributes, and what its kind implies.

    A window operator whose windows fire at the end of the stream emits nothing before
    (FLIP-331 §5.3).

    Raises:
        GraphError: `get_operator_attributes` returned something else.
    """
    if node.window is not None and node.window.end_of_stream is not None:
        return OperatorAttributes(output_only_after_end_of_stream=True)
    said: Any = getattr(node.function, "get_operator_attributes", None)
    if said is None or isinstance(node.function, type):
        return _DEFAULTS
    found = said()
    if not isinstance(found, OperatorAttributes):
        raise GraphError(
            f"get_operator_attributes of {node.name!r} returned {found!r}",
            hint="Return OperatorAttributesBuilder()….build().",
            origin=node.origin,
        )
    return found
