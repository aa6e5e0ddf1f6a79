"""Causes that the settings of an operator or a sink show."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from penstock.api.windows.time_assigners import ProcessingTimeAssigner
from penstock.connectors.files.batch_function_sink import BatchFunctionSink
from penstock.connectors.python.function_sink import FunctionSink
from penstock.graph.endpoints import Committer, Sink
from penstock.graph.logical import LogicalGraph, Node
from penstock.program.operators import KEYED_INTERVAL_JOIN, SINK, TIMESTAMPS
from penstock.program.traverse import reachable
from penstock.program.window_operation import WindowSpec
from penstock.testing.causes.cause import CauseKind, FoundCause
from penstock.testing.causes.names import FunctionView, path_of
from penstock.testing.causes.patterns import kind_of_call
from penstock.testing.causes.user_functions import Use, UserFunction, function_of, methods_of

_EXACTLY_ONCE = "EXACTLY_ONCE"
_DROPS = "drops records that come after the watermark has passed {}; which ones are late depends on the order of arrival"


def settings_of(graph: LogicalGraph, node: Node) -> Iterator[FoundCause]:
    """Yield the causes that the settings of a node show."""
    yield from _late_records(graph, node)
    if node.window is not None and isinstance(node.window.assigner, ProcessingTimeAssigner):
        problem = "has windows of the clock, so that a record is in the window of its arrival"
        yield _of_node(node, CauseKind.CLOCK, problem, is_possible=False)
    if node.kind == SINK:
        yield from _repeated_writes(node.sink)
    yield from _library_functions(node)


def _late_records(graph: LogicalGraph, node: Node) -> Iterator[FoundCause]:
    """Yield a window or an interval join that drops late records, if there are watermarks before its end."""
    if not _has_watermarks(graph, node):
        return
    window = node.window
    if window is not None and _ends_by_watermark(window) and _drops(window):
        yield _of_node(node, CauseKind.LATE_RECORDS, _DROPS.format("their window"))
    if (
        node.kind == KEYED_INTERVAL_JOIN
        and node.interval is not None
        and not any(node.interval.late_tags)
    ):
        yield _of_node(node, CauseKind.LATE_RECORDS, _DROPS.format("their interval"))


def _ends_by_watermark(window: WindowSpec) -> bool:
    return bool(window.assigner.is_event_time()) and window.end_of_stream is None


def _drops(window: WindowSpec) -> bool:
    return window.late_tag is None and window.allowed_lateness == 0


def _has_watermarks(graph: LogicalGraph, node: Node) -> bool:
    before = reachable([node.id], lambda number: graph.node(number).inputs)
    settings = (graph.node(number).watermarking for number in before)
    return any(each is not None and _makes_watermarks(each) for each in settings)


def _makes_watermarks(watermarking: Any) -> bool:
    return watermarking.out_of_orderness_ms is not None or watermarking.make_generator is not None


def _repeated_writes(sink: Sink | None) -> Iterator[FoundCause]:
    """Yield a sink that writes again what is repeated after a failure."""
    if isinstance(sink, FunctionSink):
        problem = "calls a function again for records that are repeated after a failure"
        yield FoundCause(CauseKind.SINK, problem, _line_of(sink.function), is_possible=True)
    elif isinstance(sink, BatchFunctionSink):
        yield from _batches(sink)
    elif getattr(getattr(sink, "guarantee", None), "name", _EXACTLY_ONCE) != _EXACTLY_ONCE:
        problem = f"writes with {sink.guarantee.name}: records that are repeated after a failure are there again"  # type: ignore[union-attr]
        yield FoundCause(CauseKind.SINK, problem, 0, is_possible=True)
    elif sink is not None:
        yield from _own_sink(sink)


def _batches(sink: BatchFunctionSink) -> Iterator[FoundCause]:
    """Yield a function of batches that does not read the number of the epoch."""
    function = function_of(sink.function)
    if function is None:
        return
    view = FunctionView(UserFunction(function, None, Use.ENDPOINT))
    epoch = view.parameters[-1] if view.parameters else ""
    if not any(isinstance(node, ast.Name) and node.id == epoch for node in view.nodes()):
        problem = "writes batches without the number of their epoch, and a batch is repeated after a failure"
        yield FoundCause(CauseKind.SINK, problem, _line_of(function), is_possible=True)


def _own_sink(sink: Sink) -> Iterator[FoundCause]:
    """Yield a sink of the program whose committer does nothing: its writers show records at once."""
    method = methods_of(type(sink)).get("create_committer")
    if method is None:
        return
    view = FunctionView(UserFunction(method, sink, Use.ENDPOINT))
    for node in view.nodes():
        cls = view.resolve(node.func) if isinstance(node, ast.Call) else None
        if isinstance(cls, type) and issubclass(cls, Committer) and _commits_nothing(cls):
            problem = f"has a committer, {cls.__name__}, that commits nothing: its writers show records before the epoch is complete"
            yield FoundCause(CauseKind.SINK, problem, _line_of(method))


def _commits_nothing(cls: type) -> bool:
    commit = methods_of(cls).get("commit")
    if commit is None:  # of a library, such as the one of sinks that write at once
        return cls.__name__ == "NothingCommitter"
    body = FunctionView(UserFunction(commit, cls, Use.ENDPOINT)).body
    return all(isinstance(node, ast.Pass) or _is_text(node) for node in body)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _library_functions(node: Node) -> Iterator[FoundCause]:
    """Yield functions of libraries that the program passes as they are: `key_by(hash)`."""
    if node.kind == TIMESTAMPS:
        return
    for name, verb in (("function", "calls"), ("key_selector", "makes a key by")):
        value = getattr(node, name)
        path = path_of(value) if callable(value) else None
        kind = None if path is None else kind_of_call(path, None)
        if kind is not None:
            shown = CauseKind.UNSTABLE_KEY if name == "key_selector" else kind
            yield _of_node(
                node, shown, f"{verb} {path}, whose result may differ each time", is_possible=False
            )


def _of_node(node: Node, kind: CauseKind, problem: str, *, is_possible: bool = True) -> FoundCause:
    return FoundCause(kind, problem, 0 if node.origin is None else node.origin.lineno, is_possible)


def _line_of(function: Any) -> int:
    code = getattr(function_of(function), "__code__", None)
    return 0 if code is None else int(code.co_firstlineno)
