"""The attributes of operators and functions that the planner reads."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from penstock.errors import GraphError, UserFunctionError
from penstock.graph.logical import Node
from penstock.graph.operator_attributes import OperatorAttributes
from penstock.user_failure import failing_as, short

_DEFAULTS = OperatorAttributes()


def raises_node_error(node: Node, method: str) -> AbstractContextManager[None]:
    """Return a context that turns exceptions of a method of a node's function into errors of the node."""
    failed = f"operator {node.name!r} failed on {method}"
    return failing_as(UserFunctionError, failed, node.origin, hint=f"Correct {method}.")


def attributes_of(node: Node) -> OperatorAttributes:
    """Return the attributes of a node: those of its function, and those that its kind implies.

    A window operator whose windows fire at the end of the stream emits nothing before, with an evictor
    too (FLIP-331 §5.3).

    Raises:
        GraphError: `get_operator_attributes` returned something else.
    """
    if node.window is not None and node.window.fires_only_at_end:
        return OperatorAttributes(output_only_after_end_of_stream=True)
    return declared_attributes(node, node.function)


def declared_attributes(node: Node, function: Any) -> OperatorAttributes:
    """Return the attributes that a callable of a node declares; the defaults if it declares none.

    Raises:
        GraphError: `get_operator_attributes` returned something else.
    """
    declare: Any = getattr(function, "get_operator_attributes", None)
    if declare is None or isinstance(function, type):
        return _DEFAULTS
    with raises_node_error(node, "get_operator_attributes"):
        found = declare()
    if not isinstance(found, OperatorAttributes):
        raise GraphError(
            f"get_operator_attributes of {node.name!r} returned {short(found)}",
            hint="Return OperatorAttributesBuilder()….build().",
            origin=node.origin,
        )
    return found
