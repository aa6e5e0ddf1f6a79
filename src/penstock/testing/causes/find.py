"""Finds known causes of different answers in the functions of a program and the settings of its operators, without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from penstock.api.windows.time_assigners import ProcessingTimeAssigner
from penstock.connectors.files.batch_function_sink import BatchFunctionSink
from penstock.connectors.python.function_sink import FunctionSink
from penstock.errors import CallSite
from penstock.graph.endpoints import Committer, Sink
from penstock.graph.logical import LogicalGraph, Node
from penstock.program.operators import (
    FILTER,
    KEYED_INTERVAL_JOIN,
    PASSING,
    SINK,
    SOURCE,
    TIMESTAMPS,
)
from penstock.program.traverse import reachable
from penstock.program.window_operation import WindowSpec
from penstock.testing.causes.calls import calls, references, texts_of_objects, watermark_calls
from penstock.testing.causes.cause import Cause, CauseKind, FoundCause
from penstock.testing.causes.flow import kinds_of_parameters, order_and_rounding
from penstock.testing.causes.kinds import OTHER, FlowKind, kind_of_type, kind_of_value
from penstock.testing.causes.names import FunctionView, path_of
from penstock.testing.causes.patterns import kind_of_call
from penstock.testing.causes.user_functions import (
    Use,
    UserFunction,
    function_of,
    functions_of,
    methods_of,
)
from penstock.testing.causes.variables import mutable_defaults, outer_variables, self_state

_EXACTLY_ONCE = "EXACTLY_ONCE"
_DROPS = "drops records that come after the watermark has passed {}; which ones are late depends on the order of arrival"


def settings_of(graph: LogicalGraph, node: Node) -> Iterator[FoundCause]:
    """Yield the causes that the settings of a node show."""
    yield from _late_records(graph, node)
    if node.window is not None and isinstance(node.window.assigner, ProcessingTimeAssigner):
        problem = "has windows of the clock, so that a record is in the window of its arrival"
        yield _noted(node, CauseKind.CLOCK, problem, is_possible=False)
    if node.kind == SINK:
        yield from _repeated_writes(node.sink)
    yield from _library_functions(node)


def _late_records(graph: LogicalGraph, node: Node) -> Iterator[FoundCause]:
    """Yield a window or an interval join that drops late records, if there are watermarks before its end."""
    if not _has_watermarks(graph, node):
        return
    window = node.window
    if window is not None and _ends_by_watermark(window) and _drops(window):
        yield _noted(node, CauseKind.LATE_RECORDS, _DROPS.format("their window"))
    if (
        node.kind == KEYED_INTERVAL_JOIN
        and node.interval is not None
        and not any(node.interval.late_tags)
    ):
        yield _noted(node, CauseKind.LATE_RECORDS, _DROPS.format("their interval"))


def _ends_by_watermark(window: WindowSpec) -> bool:
    return bool(window.assigner.is_event_time()) and window.end_of_stream is None


def _drops(window: WindowSpec) -> bool:
    return window.late_tag is None and window.allowed_lateness == 0


def _has_watermarks(graph: LogicalGraph, node: Node) -> bool:
    before = reachable([node.id], lambda number: graph.node(number).inputs)
    settings = (graph.node(number).watermarking for number in before)
    return any(setting is not None and _makes_watermarks(setting) for setting in settings)


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
            yield _noted(
                node, shown, f"{verb} {path}, whose result may differ each time", is_possible=False
            )


def _noted(node: Node, kind: CauseKind, problem: str, *, is_possible: bool = True) -> FoundCause:
    return FoundCause(kind, problem, 0 if node.origin is None else node.origin.lineno, is_possible)


def _line_of(function: Any) -> int:
    code = getattr(function_of(function), "__code__", None)
    return 0 if code is None else int(code.co_firstlineno)


_KEEPING = PASSING | {FILTER, TIMESTAMPS}
"""Kinds whose results are their records."""

_RULES = (calls, watermark_calls, outer_variables, mutable_defaults)
"""Rules that read one function."""


def find_causes(graph: LogicalGraph) -> tuple[Cause, ...]:
    """Return the places of a program that can give two answers over the same records.

    It reads the program's functions, and those of its own modules that they call, but does not run them. Other places
    may still differ, and a cause that `is_possible` changes the answers over some records only.

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
    causes: dict[tuple[str, str], Cause] = {}
    for node in graph.nodes:
        for cause in _of_node(graph, node):
            known = causes.get((cause.code, cause.line))
            if known is None or (known.is_possible and not cause.is_possible):
                causes[cause.code, cause.line] = cause
    return tuple(causes.values())


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
    methods: dict[int, list[FunctionView]] = {}
    keeping: set[int] = set()
    for view in _views(node):
        user = view.user
        if user.owner is None or user.use is Use.SETUP:
            continue
        if user.is_root:
            methods.setdefault(id(user.owner), [])
        if user.may_keep:
            keeping.add(id(user.owner))
        if id(user.owner) in methods:
            methods[id(user.owner)].append(view)
    return {owner: views for owner, views in methods.items() if owner not in keeping}


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
