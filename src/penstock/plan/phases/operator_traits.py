"""Attributes of operators and functions that the planner reads: fields of records, and storage of records (FLIP-329).

A user function decides whether it stores its outputs (`stored_output`). The operator decides in two cases:

* A function with several results per call may return one object several times, or change it between
  two `yield`s. The plan assumes so unless a function object promises otherwise.
* An operator that has records or accumulators in its state and emits the same objects stores them,
  whatever the function promises. A window at the end of a bounded input is no such state: it belongs to
  a batch run, and no operator reads its records again.

FLIP-329's prototype has the same values for sources, sinks, timestamps, functions and asynchronous
calls. It has none for reduce, windows and joins; here they have the safe ones.

User functions may keep records that they have returned, or use them again. FLIP-329 gives plain functions the
default "stores nothing" and rich ones "may store", and contradicts itself on the first (heading and listing).
Here the declaration of a function by `is_output_value_stored` counts. From every other function readers get copies
of mutable values, unless the declared or annotated type excludes changes. The code is not inspected: a value
may be kept behind any attribute of a module, a class or a record.

A function that reads a field that its records lack is refused early, if it only reads one field, as
key selectors do. Other functions fail at run time, and the error of the row suggests the right name.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from penstock.errors import (
    ArgumentError,
    GraphError,
    UserCodeError,
    UserFunctionError,
    did_you_mean,
)
from penstock.graph.backlog_end import as_split_part
from penstock.graph.endpoints import Source
from penstock.graph.logical import Node
from penstock.graph.operator_attributes import OperatorAttributes, OperatorAttributesBuilder
from penstock.plan.physical import PhysicalPlan
from penstock.program.operator_kind import PROMISE, Keeps
from penstock.program.operators import FILTER, KEY_BY, MAP
from penstock.program.selected_field import missing_field
from penstock.types import RowTypeInfo
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
    """
    if node.window is not None and node.window.fires_only_at_end:
        return OperatorAttributes(output_only_after_end_of_stream=True)
    return declared_attributes(node, node.function)


def declared_attributes(node: Node, function: Any) -> OperatorAttributes:
    """Return the attributes that a callable of a node declares; the defaults if it declares none."""
    declare: Any = getattr(function, "get_operator_attributes", None)
    if declare is None or isinstance(function, type):
        return _DEFAULTS
    with raises_node_error(node, "get_operator_attributes"):
        attributes = declare()
    if not isinstance(attributes, OperatorAttributes):
        raise GraphError(
            f"get_operator_attributes of {node.name!r} returned {short(attributes)}",
            hint="Return OperatorAttributesBuilder()….build().",
            origin=node.origin,
        )
    return attributes


_READERS = frozenset({KEY_BY, MAP, FILTER})


def check_fields(plan: PhysicalPlan) -> PhysicalPlan:
    """Refuse a key selector, `map` or `filter` that only reads a field that no record has."""
    for kind in _READERS:
        for node in plan.graph.of_kind(kind):
            _check(plan, node)
    return plan


def _check(plan: PhysicalPlan, node: Node) -> None:
    records = plan.graph.node(node.inputs[0]).type_info
    function = node.key_selector if node.kind == KEY_BY else node.function
    if function is None or not isinstance(records, RowTypeInfo):
        return
    names = records.field_names
    field = missing_field(function, names)
    if field is not None:
        raise ArgumentError(
            f"{node.name!r} reads the field {field!r}, which its records do not have"
            f"{did_you_mean(field, names)}",
            hint=f"Use one of {', '.join(names)}.",
            origin=node.origin,
        )


@dataclass(frozen=True, slots=True)
class StoredOutput:
    """The answer for one function.

    Attributes:
        is_stored: It may keep its results or use them again.
        reason: Why, to complete "because …".
    """

    is_stored: bool
    reason: str


# FLIP-329, rule 2.
def stored_output(function: Any) -> StoredOutput:
    """Return whether a user function stores what it returned, or returns what it stores."""
    if isinstance(function, type) or not hasattr(function, PROMISE):
        return StoredOutput(
            is_stored=True, reason="a function without a promise may keep what it has returned"
        )
    answer = getattr(function, PROMISE)()
    name = getattr(function, "__name__", type(function).__name__)
    if not isinstance(answer, bool):
        raise UserCodeError(
            f"{PROMISE} of {name} returned {answer!r}",
            hint="Return True if the function may use values again that it has emitted, else "
            "False.",
        )
    return StoredOutput(is_stored=answer, reason=f"{PROMISE} of {name} is {answer}")


@dataclass(frozen=True, slots=True)
class OperatorTraits:
    """The attributes of one operator, with the reason why it stores outputs.

    Attributes:
        reason: Why it stores emitted values or not; completes "because …".
    """

    attributes: OperatorAttributes
    reason: str


def traits_of(node: Node, *, is_at_end: bool = False) -> OperatorTraits:
    """Return the attributes of a node with an operator that are about storing records."""
    kind = node.kind
    if kind.keeps is Keeps.AS_OPERATOR:
        reason = f"get_operator_attributes of {type(node.function).__name__} decides"
        return OperatorTraits(attributes_of(node), reason)
    keeps = (kind.keeps_at_end if is_at_end else None) or kind.keeps
    with raises_node_error(node, PROMISE):
        answers = [_STORED[keeps](function) for function in _functions(node)]
    final_answer = max(answers, key=lambda answer: answer.is_stored)
    attributes = (
        OperatorAttributesBuilder()
        .set_output_stream_record_value_stored(final_answer.is_stored)
        .set_input_stream_record_stored(kind.holds_input)
        .build()
    )
    return OperatorTraits(attributes, final_answer.reason)


def _functions(node: Node) -> list[Any]:
    """Return the function of a node, and in a window operation also that of its aggregation."""
    fold = None if node.window is None else node.window.fold_function
    return [node.function] if fold is None or fold is node.function else [fold, node.function]


def _nothing(_: Any) -> StoredOutput:
    return StoredOutput(is_stored=False, reason="it passes records on as they are")


def _results(_: Any) -> StoredOutput:
    return StoredOutput(is_stored=True, reason="it keeps in its state what it emits")


# FLIP-329, rule 7.
def _as_object(function: Any) -> StoredOutput:
    if hasattr(function, PROMISE):
        return stored_output(function)
    return StoredOutput(is_stored=True, reason="one call may give the same object several times")


_STORED: dict[Keeps, Callable[[Any], StoredOutput]] = {
    Keeps.NOTHING: _nothing,
    Keeps.AS_FUNCTION: stored_output,
    Keeps.AS_OBJECT: _as_object,
    Keeps.RESULTS: _results,
    Keeps.STATE: _results,
}


def stored_output_of_source(part: Source) -> StoredOutput:
    """Return whether a source may store the records that it returns.

    A source that makes a new object per record does not; for a generator its function decides. Any
    other source may return stored objects, as a collection does.
    """
    if part.makes_records_anew:
        return StoredOutput(is_stored=False, reason="it makes every record anew")
    if part.record_function is not None:
        return stored_output(part.record_function)
    cut = as_split_part(part)
    whole = part if cut is None else cut.source
    return StoredOutput(is_stored=True, reason=f"{whole.describe()} may give a record again")
