"""Phase: refuses attributes that the planner would ignore.

In FLIP-327, 329 and 331 `get_operator_attributes` is a method of operators; functions have it too. But
`is_output_value_stored` says whether a function stores its outputs (FLIP-329), and the function cannot
decide how its operator treats records. So the planner uses one attribute of a function. It uses no
attribute of other callables of an operator, such as a key selector.

| attribute | of an operator | of a function |
|---|---|---|
| output_stream_record_value_stored | used | refused |
| input_stream_record_stored | shown in the plan | refused |
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
from penstock.plan.phases.attributes import declared_attributes
from penstock.plan.physical import PhysicalPlan

REFUSED_OF_FUNCTIONS = {
    "output_stream_record_value_stored": "Say in is_output_value_stored what the function keeps.",
    "input_stream_record_stored": "Leave it out: a function is given values, not records.",
    "internal_sorter_supported": "Leave it out: the input of a function is always grouped; write "
    "a OneInputStreamOperator to sort it yourself.",
}
"""Attribute that a function must not set, to the hint of the error."""

_NO_OPERATOR = "Leave it out, or say it in the function of the operator itself."


def check_attributes(plan: PhysicalPlan) -> PhysicalPlan:
    """Return the plan unchanged.

    Raises:
        GraphError: An attribute would be ignored, or `get_operator_attributes` returned no attributes.
        UserCodeError: `get_operator_attributes` failed.
    """
    for node in plan.graph.nodes:
        if not node.kind.is_own:
            for name in _set_attributes(node, node.function):
                if name in REFUSED_OF_FUNCTIONS:
                    raise _refused(node, node.function, name, REFUSED_OF_FUNCTIONS[name])
        for function in _beside(node):
            for name in _set_attributes(node, function):
                raise _refused(node, function, name, _NO_OPERATOR)
    return plan


def _set_attributes(node: Node, function: Any) -> list[str]:
    """Return the names of the attributes that differ from their defaults."""
    declared, default = declared_attributes(node, function), OperatorAttributes()
    names = [field.name for field in fields(OperatorAttributes)]
    return [name for name in names if getattr(declared, name) != getattr(default, name)]


def _beside(node: Node) -> Iterator[Any]:
    """Yield the callables of a node other than its function."""
    called: list[Any] = [node.key_selector]
    if node.partitioning is not None:
        called += [node.partitioning.function, node.partitioning.key_selector]
    if node.window is not None:
        called.append(node.window.fold_function)
    called.append(getattr(node.sink, "function", None))
    for each in called:
        owner = getattr(each, "__self__", each)  # the node has the bound method of an object
        if owner is not None and owner is not node.function:
            yield owner


def _refused(node: Node, function: Any, name: str, hint: str) -> GraphError:
    return GraphError(
        f"get_operator_attributes of {type(function).__name__} sets {name}, which is not used there",
        hint=hint,
        origin=node.origin,
    )
