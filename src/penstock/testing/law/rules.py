"""The rule by which the answers of a sink are compared: the law with the exceptions that the semantics name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from penstock.api.windows.triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    ProcessingTimeTrigger,
)
from penstock.graph.logical import LogicalGraph, Node
from penstock.program.operator_kind import Emit, StateUse
from penstock.program.operators import (
    KEY_BY,
    KEYED_CHANGES,
    KEYED_LATEST,
    KEYED_REGULAR_JOIN,
    KEYED_TOP_N,
    PASSING,
    UNION,
)
from penstock.program.traverse import reachable

CHANGES = frozenset({KEYED_CHANGES, KEYED_REGULAR_JOIN, KEYED_TOP_N})
"""Kinds of operators that emit changes of their results."""

_OWN_TRIGGERS = "penstock.api.windows.triggers"
_EARLY = (ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger, ProcessingTimeTrigger)
_FOLDS = frozenset({Emit.ROLLING, Emit.FINAL})


class SinkAnswer(Enum):
    """The part of the records of a sink that is its answer."""

    RESULTS = "all results, in any order"
    """The bag of results."""

    LAST_PER_KEY = "the last result of each key"
    """The contents of an upsert sink in the end."""

    NET_CHANGES = "the rows that are left after all changes"
    """Inserted rows without deleted ones."""

    FINAL = "the last result of each key, which a stream has among others"
    """Results behind a rolling aggregate: a batch run has the final ones, a live run those in between too."""

    NONE = "not compared"
    """Nothing: the semantics allow every difference."""


@dataclass(frozen=True, slots=True)
class SinkRule:
    """The comparison of one sink.

    Attributes:
        answer: The part of the results that is compared.
        key: For LAST_PER_KEY: selects the key of a record.
        is_contained: For FINAL: every final result is a result of a live run too, because only functions without
            state are between the aggregate and the sink.
        because: For NONE: the exception of the law.
    """

    answer: SinkAnswer
    key: Callable[[Any], Any] | None = None
    is_contained: bool = False
    because: str | None = None


def rule_of(graph: LogicalGraph, sink: Node) -> SinkRule:
    """Return the rule of a sink, or of any node that has one input."""
    above = [graph.node(key) for key in reachable([sink.id], lambda key: graph.node(key).inputs)]
    exceptions = (_exception(node) for node in above)
    excepted = next((because for because in exceptions if because is not None), None)
    if excepted is not None:
        return SinkRule(SinkAnswer.NONE, because=excepted)
    (before,) = (graph.node(key) for key in sink.inputs)
    if before.kind == KEYED_LATEST:
        key_by = graph.node(before.inputs[0])
        assert key_by.kind == KEY_BY, "upsert_to makes no other"
        return SinkRule(SinkAnswer.LAST_PER_KEY, key=key_by.key_selector)
    if any(node.kind.emit in _FOLDS for node in above):
        return SinkRule(SinkAnswer.FINAL, is_contained=_is_contained(graph, before))
    if any(node.kind in CHANGES for node in above):
        return SinkRule(SinkAnswer.NET_CHANGES)
    return SinkRule(SinkAnswer.RESULTS)


def _exception(node: Node) -> str | None:
    window = node.window
    if window is None:
        return None
    trigger = window.trigger
    if isinstance(trigger, _EARLY):
        return f"{node.name!r} fires by {type(trigger).__name__}"
    if type(trigger).__module__ != _OWN_TRIGGERS and trigger is not None:
        return f"{node.name!r} has a trigger of its own, {type(trigger).__name__}"
    return None


def _is_contained(graph: LogicalGraph, node: Node) -> bool:
    """Return whether only functions without state are above a node, up to an aggregate that no other feeds."""
    while node.kind.emit not in _FOLDS:
        is_plain = node.kind in PASSING - {UNION, KEY_BY} or (
            node.kind.state is StateUse.NEVER and not node.kind.is_own
        )
        if not is_plain or len(node.inputs) != 1:
            return False
        node = graph.node(node.inputs[0])
    above = (graph.node(key) for key in reachable(node.inputs, lambda k: graph.node(k).inputs))
    return not any(other.kind.emit in _FOLDS or other.kind in CHANGES for other in above)
