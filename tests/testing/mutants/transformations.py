"""Typical ways to break a program, each as a transformation of its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

HELPERS = """
import os as _os, random as _random, time as _time
from penstock.datastream import FilterFunction as _Filter, ProcessFunction as _Process

_count = 0

def _by_clock(record):
    return _time.time_ns() // 1000 % 3 > 0

def _by_chance(record):
    return _random.random() < 0.6

def _by_environment(record):
    return _os.environ.get("SHELL", "") != "" and len(repr(record)) % len(_os.environ["PATH"]) > 5

def _by_global(record):
    global _count
    _count += 1
    return _count % 3 > 0

def _by_default(record, seen=[]):
    seen.append(1)
    return len(seen) % 3 > 0

class _BySelf(_Filter):
    def __init__(self):
        self.count = 0

    def filter(self, record):
        self.count += 1
        return self.count % 3 > 0

class _ByWatermark(_Process):
    def process_element(self, value, ctx):
        if (ctx.timestamp() or 0) % 7 > ctx.timer_service().current_watermark() % 5:
            yield value

def _by_set(record):
    first, *_ = {repr(record), "one", "another"}
    return first != "one"

class _Attribute:
    def __init__(self, *_):
        self.held = None

    def value(self):
        return self.held

    def update(self, value):
        self.held = value

    def clear(self):
        self.held = None

class _Attributes(_Attribute):
    def add(self, value):
        self.held = [*self.get(), value]

    def get(self):
        return self.held or []
"""
"""Definitions that mutants use."""

_ENDINGS = frozenset({"print", "sink_to", "upsert_to"})
_TIMERS = {"register_event_time_timer": "register_processing_time_timer"}
_ATTRIBUTES = {"get_state": "_Attribute()", "get_list_state": "_Attributes()"}
_WINDOWS = {
    "TumblingEventTimeWindows": "TumblingProcessingTimeWindows",
    "SlidingEventTimeWindows": "SlidingProcessingTimeWindows",
    "EventTimeSessionWindows": "ProcessingTimeSessionWindows",
}


@dataclass(frozen=True, slots=True)
class Transformation:
    """One way to break a program.

    Attributes:
        name: Short name.
        change: Takes a node and returns another one, or the same if it does not apply.
        breaks: Whether the answer of each mutant changes, by construction; otherwise some mutants are another
            program with one answer.
    """

    name: str
    change: Callable[[ast.AST], ast.AST]
    breaks: bool


class _Once(ast.NodeTransformer):
    """Applies a change to the first node that it fits."""

    def __init__(self, change: Callable[[ast.AST], ast.AST]) -> None:
        self._change = change
        self.is_done = False

    def visit(self, node: ast.AST) -> ast.AST:
        if self.is_done:
            return node
        changed = self._change(node)
        if changed is not node:
            self.is_done = True
            return ast.copy_location(changed, node)
        return self.generic_visit(node)


def mutant(program: str, transformation: Transformation) -> str | None:
    """Return a program with one place changed; None if the transformation has no place there."""
    tree = ast.parse(program)
    transformer = _Once(transformation.change)
    changed = transformer.visit(tree)
    assert isinstance(changed, ast.Module), "the whole program"
    if not transformer.is_done:
        return None
    head = [node for node in changed.body if _is_of_head(node)]
    body = [node for node in changed.body if not _is_of_head(node)]
    changed.body = [*head, *ast.parse(HELPERS).body, *body]
    return ast.unparse(ast.fix_missing_locations(changed))


def _is_of_head(node: ast.stmt) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _inserted(method: str, argument: str) -> Callable[[ast.AST], ast.AST]:
    """Return a change that puts an operator in front of a sink, or behind a result of an example."""

    def through(stream: ast.expr) -> ast.expr:
        function = ast.Attribute(value=stream, attr=method, ctx=ast.Load())
        return ast.Call(func=function, args=[_expression(argument)], keywords=[])

    def change(node: ast.AST) -> ast.AST:
        if not isinstance(node, ast.Call):
            return node
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in _ENDINGS:
            if isinstance(function.value, ast.Name) and not function.value.id.islower():
                return node
            ended = ast.Attribute(value=through(function.value), attr=function.attr, ctx=ast.Load())
            return ast.Call(func=ended, args=node.args, keywords=node.keywords)
        if isinstance(function, ast.Name) and function.id == "Result" and node.args:
            args = [through(node.args[0]), *node.args[1:]]
            return ast.Call(func=function, args=args, keywords=node.keywords)
        return node

    return change


def _key(template: str) -> Callable[[ast.AST], ast.AST]:
    """Return a change of a key selector, which is `KEY` in the template."""

    def change(node: ast.AST) -> ast.AST:
        is_key_by = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if not is_key_by or node.func.attr != "key_by" or len(node.args) != 1:  # type: ignore[attr-defined]
            return node
        selector = node.args[0]  # type: ignore[attr-defined]
        if not isinstance(selector, ast.Lambda):
            return node
        made = _expression(template.replace("KEY", f"({ast.unparse(selector)})"))
        return ast.Call(func=node.func, args=[made], keywords=node.keywords)  # type: ignore[attr-defined]

    return change


def _last_wins(node: ast.AST) -> ast.AST:
    """Let a reduce return its second argument where it combined both."""
    is_reduce = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    if not is_reduce or node.func.attr != "reduce" or not node.args:  # type: ignore[attr-defined]
        return node
    if not isinstance(node.args[0], ast.Lambda):  # type: ignore[attr-defined]
        return node
    args = [_expression("lambda a, b: b"), *node.args[1:]]  # type: ignore[attr-defined]
    return ast.Call(func=node.func, args=args, keywords=node.keywords)  # type: ignore[attr-defined]


def _forgotten_clear(node: ast.AST) -> ast.AST:
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    function = node.value.func if is_call else None  # type: ignore[attr-defined]
    is_clear = isinstance(function, ast.Attribute) and function.attr == "clear"
    return ast.Pass() if is_clear else node


def _renamed(names: dict[str, str]) -> Callable[[ast.AST], ast.AST]:
    def change(node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Attribute) and node.attr in names:
            return ast.Attribute(value=node.value, attr=names[node.attr], ctx=node.ctx)
        if isinstance(node, ast.Name) and node.id in names:
            window = "__import__('penstock.datastream.window', fromlist=['x'])"
            return _expression(f"{window}.{names[node.id]}")
        return node

    return change


def _by_arrival(node: ast.AST) -> ast.AST:
    """Let a function take records in order of arrival where it sorted them."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    if is_call and node.func.id == "sorted" and node.keywords:  # type: ignore[attr-defined]
        return ast.Call(func=_expression("list"), args=node.args, keywords=[])  # type: ignore[attr-defined]
    return node


def _attribute_for_state(node: ast.AST) -> ast.AST:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        made = _ATTRIBUTES.get(node.func.attr)
        return node if made is None else _expression(made)
    return node


TRANSFORMATIONS: tuple[Transformation, ...] = (
    Transformation("the clock decides", _inserted("filter", "_by_clock"), breaks=True),
    Transformation("chance decides", _inserted("filter", "_by_chance"), breaks=True),
    Transformation(
        "an environment variable decides", _inserted("filter", "_by_environment"), breaks=True
    ),
    Transformation("a global counter decides", _inserted("filter", "_by_global"), breaks=True),
    Transformation("a mutable default decides", _inserted("filter", "_by_default"), breaks=True),
    Transformation("a counter in self decides", _inserted("filter", "_BySelf()"), breaks=True),
    Transformation("the order of a set decides", _inserted("filter", "_by_set"), breaks=True),
    Transformation("the watermark decides", _inserted("process", "_ByWatermark()"), breaks=True),
    Transformation(
        "the key is an id", _key("lambda record: (id(record), KEY(record))"), breaks=True
    ),
    Transformation("the key is a hash", _key("lambda record: hash(KEY(record))"), breaks=True),
    Transformation("the key is gone", _key("lambda record: 0"), breaks=False),
    Transformation("the last record wins", _last_wins, breaks=False),
    Transformation("state is not cleared", _forgotten_clear, breaks=False),
    Transformation("timers of the clock", _renamed(_TIMERS), breaks=True),
    Transformation("windows of the clock", _renamed(_WINDOWS), breaks=True),
    Transformation("records in order of arrival", _by_arrival, breaks=False),
    Transformation("an attribute in place of state", _attribute_for_state, breaks=True),
)
"""The table."""
