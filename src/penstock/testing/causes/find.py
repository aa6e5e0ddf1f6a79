"""Finds known causes of different answers in the functions of a program, without running them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.errors import CallSite
from penstock.graph.logical import LogicalGraph, Node
from penstock.program.operators import FILTER, PASSING, SOURCE, TIMESTAMPS
from penstock.testing.causes.calls import calls, references, texts_of_objects, watermark_calls
from penstock.testing.causes.cause import Cause, FoundCause
from penstock.testing.causes.flow import kinds_of_parameters, order_and_rounding
from penstock.testing.causes.kinds import OTHER, FlowKind, kind_of_type, kind_of_value
from penstock.testing.causes.names import FunctionView
from penstock.testing.causes.operators import settings_of
from penstock.testing.causes.user_functions import Use, UserFunction, functions_of
from penstock.testing.causes.variables import mutable_defaults, outer_variables, self_state

_KEEPING = PASSING | {FILTER, TIMESTAMPS}
"""Kinds whose results are their records."""

_RULES = (calls, watermark_calls, outer_variables, mutable_defaults)
"""Rules that read one function."""


def find_causes(graph: LogicalGraph) -> tuple[Cause, ...]:
    """Return the places of a program that can give two answers over the same records.

    It reads the program's functions, and those of its own modules that they call, but does not run them. What it
    does not find may still differ, and a cause that `is_possible` changes the answers over some records only.

    Args:
        graph: The graph of a built program: `env.plan().graph`.

    Returns:
        The causes, upstream first, each place once.

    Example:
        >>> import time
        >>> sink = numbers.map(lambda n: (n, time.time())).name("stamped").print()
        >>> from penstock.testing.causes import find_causes
        >>> [(cause.operator, cause.name) for cause in find_causes(env.plan().graph)]
        [('stamped', 'reads the clock')]
    """
    found: dict[tuple[str, str], Cause] = {}
    for node in graph.nodes:
        for cause in _of_node(graph, node):
            known = found.get((cause.code, cause.line))
            if known is None or (known.is_possible and not cause.is_possible):
                found[cause.code, cause.line] = cause
    return tuple(found.values())


def _of_node(graph: LogicalGraph, node: Node) -> Iterator[Cause]:
    for finding in settings_of(graph, node):
        yield _cause(node, node.origin, finding)
    samples = tuple(_sample(graph, number) for number in node.inputs)
    for view in _views(node):
        title = view.user.title
        for finding in _in_function(graph, node, view, samples):
            yield _cause(node, _site(view, finding), finding, title)
    for views in _methods(node).values():
        for view, finding in self_state(views):
            yield _cause(node, _site(view, finding), finding, view.user.title)


def _in_function(
    graph: LogicalGraph, node: Node, view: FunctionView, samples: tuple[Any, ...]
) -> Iterator[FoundCause]:
    for rule in _RULES:
        yield from rule(view)
    if view.user.use is Use.KEY:
        yield from texts_of_objects(view, type(samples[0]) if samples else None)
    if view.user.use is not Use.SETUP:
        kinds = [
            _kind(graph.node(number), sample)
            for number, sample in zip(node.inputs, samples, strict=True)
        ]
        has_records = node.window is not None and node.window.fold_function is None
        elements = kinds[0] if has_records and kinds else None
        yield from order_and_rounding(view, kinds_of_parameters(view, tuple(kinds), elements))


def _kind(node: Node, sample: Any) -> FlowKind:
    """Return the kind of the records of a node: by their type, or by a record of its source."""
    declared = kind_of_type(node.type_info)
    return kind_of_value(sample) if declared == OTHER else declared


def _sample(graph: LogicalGraph, number: int) -> Any:
    """Return a record that a node emits, if it passes on those of a source that has them in memory."""
    node = graph.node(number)
    if node.kind == SOURCE:
        values = getattr(node.source, "values", None)
        return values[0] if isinstance(values, tuple) and values else None
    return _sample(graph, node.inputs[0]) if node.kind in _KEEPING and node.inputs else None


def _views(node: Node) -> Iterator[FunctionView]:
    """Yield the functions of a node, and those of the program that they call, each once."""
    waiting = list(functions_of(node))
    known: set[tuple[Any, int, Use]] = set()
    while waiting:
        user = waiting.pop(0)
        mark = (user.function.__code__, id(user.owner), user.use)
        if mark in known:
            continue
        known.add(mark)
        view = FunctionView(user)
        yield view
        waiting += [
            UserFunction(function, owner, user.use, is_root=False)
            for function, owner in references(view)
        ]


def _methods(node: Node) -> dict[int, list[FunctionView]]:
    """Return the methods that records lead to, by their objects; only of objects that the runtime calls."""
    found: dict[int, list[FunctionView]] = {}
    keeping: set[int] = set()
    for view in _views(node):
        user = view.user
        if user.owner is None or user.use is Use.SETUP:
            continue
        if user.is_root:
            found.setdefault(id(user.owner), [])
        if user.may_keep:
            keeping.add(id(user.owner))
        if id(user.owner) in found:
            found[id(user.owner)].append(view)
    return {owner: views for owner, views in found.items() if owner not in keeping}


def _site(view: FunctionView, finding: FoundCause) -> CallSite:
    return CallSite(view.user.function.__code__.co_filename, finding.line, view.user.title)


def _cause(
    node: Node, site: CallSite | None, finding: FoundCause, title: str | None = None
) -> Cause:
    kind = finding.kind
    place = "unknown" if site is None else f"{site.filename}:{site.lineno}"
    verb = f"may give two answers: it {finding.problem}" if finding.is_possible else finding.problem
    problem = verb if title is None else f"{verb} in {title}"
    return Cause(
        kind.code, node.name, kind.title, problem, kind.hint, place, kind.page, finding.is_possible
    )
