"""Phases: refuse keys that can never be keys, `forward` between different numbers of subtasks, and unused attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from enum import EnumMeta
from types import FunctionType
from typing import Any

from penstock.errors import GraphError, KeyTypeError
from penstock.graph.logical import Node
from penstock.graph.operator_attributes import OperatorAttributes
from penstock.plan.phases.edges import physical_inputs
from penstock.plan.phases.operator_traits import declared_attributes
from penstock.plan.physical import PhysicalPlan
from penstock.program.channel import StreamPartitioner
from penstock.program.operators import KEY_BY
from penstock.program.selected_field import field_position
from penstock.types import RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.types.list_key import CHANGED_HINT, no_key_in
from penstock.wire.canonical.key_encodings import hint_for, key_class

_CALLS = (type.__call__, EnumMeta.__call__)
_BY_VALUE = (list, type(None))
"""Classes of keys that `key_class` does not list: lists become tuples first."""


def check_keys(plan: PhysicalPlan) -> PhysicalPlan:
    """Refuse a key selector whose results cannot be keys."""
    for node in plan.graph.of_kind(KEY_BY):
        if node.key_selector is not None:
            _check_class(node, node.key_selector)
            _check_field(node, node.key_selector, plan.graph.node(node.inputs[0]).type_info)
    return plan


def _check_class(node: Node, selector: Any) -> None:
    if not isinstance(selector, type) or selector in _BY_VALUE or not _makes_instances(selector):
        return
    reason = key_class(selector)
    if isinstance(reason, str):
        raise KeyTypeError(
            f"instances of {selector.__name__} cannot be keys: {reason}",
            hint=CHANGED_HINT if selector.__hash__ is None else hint_for(reason),
            origin=node.origin,
        )


def _makes_instances(cls: type) -> bool:
    """Return whether a call of the class returns an instance of it; `__new__` may return anything.

    The `__new__` of `Enum` returns members, which are instances.
    """
    made_by = next(vars(base)["__new__"] for base in cls.__mro__ if "__new__" in vars(base))
    made_by = getattr(made_by, "__func__", made_by)
    known = isinstance(cls, EnumMeta) or not isinstance(made_by, FunctionType)
    return known and type(cls).__call__ in _CALLS


def _check_field(
    node: Node, selector: Callable[[Any], Any], records: TypeInformation | None
) -> None:
    if not isinstance(records, (RowTypeInfo, TupleTypeInfo)):
        return
    position = field_position(selector, records.field_names)
    if position is None:
        return
    name, declared = records.field_names[position], records.field_types[position]
    part = no_key_in(declared)
    if part is not None:
        raise KeyTypeError(
            f"the field {name!r} of type {declared!r} cannot be a key: values of {part!r} can be "
            "changed",
            hint=CHANGED_HINT,
            origin=node.origin,
        )


def check_forwarding(plan: PhysicalPlan) -> PhysicalPlan:
    """Refuse streams that are forwarded to an operator of another parallelism; return the plan."""
    for node in plan.graph.nodes:
        for edge in physical_inputs(plan.graph, node):
            partitioning = edge.partitioning
            if partitioning is None or partitioning.partitioner is not StreamPartitioner.FORWARD:
                continue
            n_senders, n_receivers = (_subtasks(plan, end) for end in (edge.producer, node))
            if n_senders != n_receivers:
                raise GraphError(
                    f"forward() does not change the parallelism, but {edge.producer.name!r} has "
                    f"{n_senders} and {node.name!r} has {n_receivers}",
                    hint="Use rebalance() or rescale(), or set one parallelism for both.",
                    origin=node.origin,
                )
    return plan


def _subtasks(plan: PhysicalPlan, node: Node) -> int:
    if node.source is not None and node.source.kind == "collection":
        return 1
    return node.parallelism or plan.options.default_parallelism


REFUSED_OF_FUNCTIONS = {
    "output_stream_record_value_stored": "Implement is_output_value_stored in the function instead.",
    "input_stream_record_stored": "Leave it out: a function is given values, not records.",
    "internal_sorter_supported": "Leave it out: the input of a function is always grouped; write "
    "a OneInputStreamOperator to sort it yourself.",
}
"""Attribute that a function must not set, to the hint of the error."""

_NO_OPERATOR = "Leave it out, or set it in the function of the operator itself."


def check_attributes(plan: PhysicalPlan) -> PhysicalPlan:
    """Refuse attributes that would be ignored; return the plan unchanged."""
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
    for callee in called:
        owner = getattr(callee, "__self__", callee)  # the node has the bound method of an object
        if owner is not None and owner is not node.function:
            yield owner


def _refused(node: Node, function: Any, name: str, hint: str) -> GraphError:
    return GraphError(
        f"get_operator_attributes of {type(function).__name__} sets {name}, which is not used there",
        hint=hint,
        origin=node.origin,
    )
