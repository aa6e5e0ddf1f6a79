"""Phase: attributes that nobody would look at are refused.

`get_operator_attributes` is the operator's in FLIP-327, 329 and 331, and functions have it too. But
what a function keeps is said by `is_output_value_stored` (FLIP-329), and how its operator treats
records is for the operator, which is not the user's. So of the attributes of a function one is
used. A key selector, or whatever else is called beside an operator's own function, has none.

| attribute | of an operator | of a function |
|---|---|---|
| output_stream_record_value_stored | used | refused |
| input_stream_record_stored | used | refused |
| internal_sorter_supported | used | refused |
| output_only_after_end_of_stream | used | used |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from penstock.errors import GraphError
from penstock.graph.logical import Node
from penstock.graph.operator_attributes import OperatorAttributes
from penstock.plan.phases.attributes import said_of
from penstock.plan.physical import PhysicalPlan

REFUSED_OF_FUNCTIONS = {
    "output_stream_record_value_stored": "Say in is_output_value_stored what the function keeps.",
    "input_stream_record_stored": "Leave it out: a function is given values, not records.",
    "internal_sorter_supported": "Leave it out: the input of a function is always grouped; write "
    "a OneInputStreamOperator to sort it yourself.",
}
"""Attribute that a function may not say, to what to do instead."""

_NO_OPERATOR = "Leave it out, or say it in the function of the operator itself."


def check_attributes(plan: PhysicalPlan) -> PhysicalPlan:
    """Return the plan as it is.

    Raises:
        GraphError: An attribute would not be used, or `get_operator_attributes` returned none.
        UserCodeError: `get_operator_attributes` failed.
    """
    for node in plan.graph.nodes:
        if not node.kind.is_own:
            for name in _said(node, node.function):
                if name in REFUSED_OF_FUNCTIONS:
                    raise _refused(node, node.function, name, REFUSED_OF_FUNCTIONS[name])
        for function in _beside(node):
            for name in _said(node, function):
                raise _refused(node, function, name, _NO_OPERATOR)
    return plan


def _said(node: Node, function: Any) -> list[str]:
    """Return the attributes that are not what they are if nothing is said."""
    said, default = said_of(node, function), OperatorAttributes()
    names = [field.name for field in fields(OperatorAttributes)]
    return [name for name in names if getattr(said, name) != getattr(default, name)]


def _beside(node: Node) -> Iterator[Any]:
    """Yield the objects that a node calls beside its function."""
    called: list[Any] = [node.key_selector]
    if node.partitioning is not None:
        called += [node.partitioning.function, node.partitioning.key_selector]
    if node.window is not None:
        called.append(node.window.fold_function)
    called.append(getattr(node.sink, "function", None))
    for each in called:
        owner = getattr(each, "__self__", each)  # of an object its method is kept
        if owner is not None and owner is not node.function:
            yield owner


def _refused(node: Node, function: Any, name: str, hint: str) -> GraphError:
    return GraphError(
        f"get_operator_attributes of {type(function).__name__} sets {name}, which is not used there",
        hint=hint,
        origin=node.origin,
    )
