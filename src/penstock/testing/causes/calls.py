"""Calls of the clock, of random numbers, of the environment and of hashes, and what becomes of their results."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from inspect import getattr_static
from types import FunctionType, MethodType
from typing import Any

from penstock.testing.causes.cause import CauseKind, FoundCause
from penstock.testing.causes.names import MISSING, FunctionView
from penstock.testing.causes.patterns import (
    METHODS,
    METRICS,
    REPORTS,
    WATERMARK_METHODS,
    kind_of_call,
)
from penstock.testing.causes.user_functions import Use, function_of, is_users

_WORDS = {
    CauseKind.CLOCK: "reads the clock by {}",
    CauseKind.RANDOM: "draws a random number by {}",
    CauseKind.ENVIRONMENT: "reads an environment variable by {}, which may differ between workers",
    CauseKind.UNSTABLE_KEY: "calls {}, whose result may differ in each process",
}
_AS_KEY = "makes a key by {}, whose result may differ each time"
_HASHES = frozenset({"__hash__", "__eq__", "__repr__"})
"""Methods in which a hash leads to no record."""


def calls(view: FunctionView) -> Iterator[FoundCause]:
    """Yield the calls of a function whose results differ between runs, unless only metrics and logs get them."""
    reported = frozenset(_reported(view))
    for node, kind in _named_calls(view):
        is_clock_of_task = (
            kind in {CauseKind.CLOCK, CauseKind.ENVIRONMENT} and view.user.use is Use.SETUP
        )
        if node in reported or view.user.function.__name__ in _HASHES:
            continue
        is_key = view.user.use is Use.KEY and kind is not CauseKind.ENVIRONMENT
        words = _AS_KEY if is_key else _WORDS[kind]
        text = words.format(ast.unparse(node).replace("(...)", "()"))
        shown = CauseKind.UNSTABLE_KEY if is_key else kind
        yield FoundCause(shown, text, _line(node), is_possible=is_clock_of_task)


def watermark_calls(view: FunctionView) -> Iterator[FoundCause]:
    """Yield reads of the watermark of the moment; a comparison with it decides by what has arrived."""
    compared = {
        inner for node in view.nodes() if isinstance(node, ast.Compare) for inner in ast.walk(node)
    }
    names = _compared_names(view)
    for node in view.nodes():
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr in WATERMARK_METHODS:
            is_compared = node in compared or bool(_targets(view, node) & names)
            verb = "compares with" if is_compared else "reads"
            problem = f"{verb} the watermark of the moment, which depends on what has arrived"
            yield FoundCause(
                CauseKind.LATE_RECORDS, problem, _line(node), is_possible=not is_compared
            )


def texts_of_objects(view: FunctionView, records: type | None) -> Iterator[FoundCause]:
    """Yield texts of a record whose class has no `__repr__` of its own, so that they have its address."""
    inherited = getattr_static(object, "__repr__")
    if (
        records is None
        or getattr_static(records, "__repr__") is not inherited
        or not view.parameters
    ):
        return
    record = view.parameters[0]
    for node in view.nodes():
        if _text_of(node) == record:
            problem = f"makes a text of a {records.__name__}, which has its address in memory"
            yield FoundCause(CauseKind.UNSTABLE_KEY, problem, _line(node))


def _text_of(node: ast.AST) -> str | None:
    """Return the name of which an expression makes a text."""
    value: Any = None
    if isinstance(node, ast.FormattedValue):
        value = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        value = node.args[0] if node.func.id in {"repr", "str"} else None
    return value.id if isinstance(value, ast.Name) else None


def references(view: FunctionView) -> Iterator[tuple[FunctionType, Any]]:
    """Yield the functions of the program that a function names, each with its object if it is a method."""
    for node in _outermost(view):
        value = view.resolve(node)
        if isinstance(value, type):
            for name in ("__init__", "__post_init__"):
                method = function_of(vars(value).get(name))
                if method is not None and is_users(method):
                    yield method, value
            continue
        function = None if value is MISSING else function_of(value)
        owner = value.__self__ if isinstance(value, MethodType) else None
        if isinstance(value, MethodType):
            function = function_of(value.__func__)
        if function is not None and is_users(function):
            base = view.resolve(node.value) if isinstance(node, ast.Attribute) else MISSING
            yield function, owner if owner is not None else _owner(base, view)


def _owner(base: Any, view: FunctionView) -> Any:
    """Return the object of a method that was found by `super()`."""
    return view.user.owner if type(base).__name__ == "_Super" else None


def _named_calls(view: FunctionView) -> Iterator[tuple[ast.expr, CauseKind]]:
    """Yield calls and references with their causes, each place once."""
    functions = {node.func: node for node in view.nodes() if isinstance(node, ast.Call)}
    for node in _outermost(view):
        call = functions.get(node)
        arguments = None if call is None else len(call.args) + len(call.keywords)
        path = view.path(node)
        kind = None if path is None else kind_of_call(path, arguments)
        if kind is None and isinstance(node, ast.Attribute):
            kind = METHODS.get(node.attr)
        if kind is not None:
            yield call or node, kind


def _outermost(view: FunctionView) -> Iterator[ast.expr]:
    """Yield the names and chains of attributes that are read, without those in longer chains."""
    inner = {node.value for node in view.nodes() if isinstance(node, ast.Attribute)}
    for node in view.nodes():
        is_read = isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)
        if is_read and node not in inner:
            yield node  # type: ignore[misc]


def _reported(view: FunctionView) -> Iterator[ast.AST]:
    """Yield the nodes whose values only metrics and logs get."""
    statements = [node for node in view.nodes() if isinstance(node, ast.stmt)]
    harmless = {node for node in statements if _is_report(view, node)}
    inside = {inner for node in harmless for inner in ast.walk(node)}
    yield from inside
    reads: dict[str, list[ast.AST]] = {}
    for node in view.nodes():
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            reads.setdefault(node.id, []).append(node)
    for node in reversed(statements):
        if not isinstance(node, ast.Assign) or not all(
            isinstance(t, ast.Name) for t in node.targets
        ):
            continue
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        if all(read in inside for name in names for read in reads.get(name, ())):
            nodes = set(ast.walk(node))
            inside |= nodes
            yield from nodes


def _is_report(view: FunctionView, node: ast.stmt) -> bool:
    """Return whether a statement is a call of a metric or of a log."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    function = node.value.func
    if isinstance(function, ast.Name):
        return function.id in REPORTS
    if not isinstance(function, ast.Attribute):
        return False
    return function.attr in REPORTS or _is_metric(view, view.attribute_of(function.value))


def _is_metric(view: FunctionView, attribute: str | None) -> bool:
    """Return whether an attribute of the object is set to a metric or a logger in one of its methods."""
    values = view.assigned.get(attribute or "", ())
    return any(
        isinstance(node, ast.Attribute) and node.attr in METRICS
        for _, value in values
        for node in ast.walk(value)
    )


def _targets(view: FunctionView, value: ast.expr) -> set[str]:
    """Return the names that are set to an expression."""
    return {
        target.id
        for node in view.nodes()
        if isinstance(node, ast.Assign) and any(inner is value for inner in ast.walk(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _compared_names(view: FunctionView) -> set[str]:
    return {
        inner.id
        for node in view.nodes()
        if isinstance(node, ast.Compare)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name)
    }


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
