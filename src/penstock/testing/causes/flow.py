"""The kinds of the expressions of a function, statement by statement, and where their order or rounding reaches a result."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from penstock.testing.causes.cause import CauseKind, FoundCause
from penstock.testing.causes.kinds import (
    FLOAT,
    KEPT,
    OTHER,
    UNORDERED,
    FlowKind,
    Form,
    arriving,
)
from penstock.testing.causes.names import FunctionView
from penstock.testing.causes.user_functions import Use

_SETS = frozenset({"set", "frozenset"})
_SET_METHODS = frozenset(
    {
        "union",
        "intersection",
        "difference",
        "symmetric_difference",
        "copy",
        "keys",
        "items",
        "values",
    }
)
_SET_OPERATIONS = (ast.BitOr, ast.BitAnd, ast.BitXor, ast.Sub)
_WITHOUT_ORDER = frozenset(
    {
        "sorted",
        "set",
        "frozenset",
        "len",
        "min",
        "max",
        "any",
        "all",
        "bool",
        "isinstance",
        "fsum",
        "Counter",
        "dict",
    }
)
"""Functions whose result does not depend on the order of what they iterate over."""

_IN_ORDER = frozenset(
    {
        "list",
        "tuple",
        "enumerate",
        "iter",
        "zip",
        "map",
        "filter",
        "reversed",
        "deque",
        "chain",
        "join",
        "next",
        "islice",
        "reduce",
    }
)
"""Functions whose result has the order of what they iterate over."""

_SUMS = frozenset({"sum", "mean", "fmean", "cumsum", "accumulate"})
_STATE_READS = frozenset({"value", "get"})
_COPIES = frozenset({"list", "tuple", "iter", "reversed"})
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)
_VISIBLE = (ast.Yield, ast.YieldFrom, ast.Return, ast.Break)
_TEXT_CHARS = 60
_COLLECTED = frozenset(
    {"append", "extend", "insert", "write", "collect", "output", "appendleft", "put"}
)


def order_and_rounding(view: FunctionView, inputs: dict[str, FlowKind]) -> Iterator[FoundCause]:
    """Yield where the order of a set reaches a result, and where floats are added in order of arrival."""
    flow = _KindFlow(view, inputs)
    flow.run(view.body)
    seen = set()
    for finding in flow.findings:
        if (finding.kind, finding.line) not in seen:
            seen.add((finding.kind, finding.line))
            yield finding


class _KindFlow:
    """One pass over the statements of a function."""

    def __init__(self, view: FunctionView, inputs: dict[str, FlowKind]) -> None:
        self.findings: list[FoundCause] = []
        self._view = view
        self._kinds = dict(inputs)

    def run(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        rule = _STATEMENTS.get(type(node), _KindFlow._expressions)
        rule(self, node)
        if isinstance(node, ast.For | ast.AsyncFor):
            return
        parts = [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]
        blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
        for block in (*blocks, *(part.body for part in parts)):
            self.run(block)

    def _expressions(self, node: ast.stmt) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._kind(child)

    def _assignment(self, node: ast.Assign) -> None:
        kind = self._kind(node.value)
        for target in node.targets:
            self._bind(target, kind)
            if kind.form is Form.UNORDERED and isinstance(target, ast.Tuple | ast.List):
                self._order(node.value)

    def _declaration(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._bind(node.target, self._kind(node.value))

    def _augmented(self, node: ast.AugAssign) -> None:
        self._added(node, self._kind(node.target), node.op, self._kind(node.value))

    def _definition(self, node: ast.stmt) -> None:
        """Leave the body to the caller: a function in the function is read where it stands."""

    def _loop(self, node: ast.For | ast.AsyncFor) -> None:
        kind = self._kind(node.iter)
        self._bind(node.target, _item(kind))
        if kind.form is Form.UNORDERED and any(map(_shows_order, node.body)):
            self._order(node.iter)
        if kind.form is Form.ARRIVING:
            self._sums_in(node.body)
        self.run([*node.body, *node.orelse])

    def _sums_in(self, statements: list[ast.stmt]) -> None:
        """Note floats that a loop over records adds up."""
        nodes = (node for statement in statements for node in ast.walk(statement))
        for node in nodes:
            is_sum = isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub)
            if is_sum and self._kind(node.value).form is Form.FLOAT:  # type: ignore[attr-defined]
                self._sum(node)

    def _bind(self, target: ast.expr, kind: FlowKind) -> None:
        if isinstance(target, ast.Name):
            self._kinds[target.id] = kind
        elif isinstance(target, ast.Tuple | ast.List):
            for number, part in enumerate(target.elts):
                self._bind(part, kind.member(number))

    def _kind(self, node: ast.expr) -> FlowKind:
        """Return the kind of an expression, and note what its parts do."""
        if isinstance(node, ast.Name):
            return self._kinds.get(node.id, _of_variable(self._view, node))
        rule = _RULES.get(type(node), _KindFlow._parts)
        return rule(self, node)

    def _parts(self, node: ast.expr) -> FlowKind:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._kind(child)
        return OTHER

    def _set(self, node: ast.expr) -> FlowKind:
        self._parts(node)
        return UNORDERED

    def _attribute(self, node: ast.Attribute) -> FlowKind:
        base = self._kind(node.value)
        member = base.member(node.attr)
        if member != OTHER or self._view.attribute_of(node) is None:
            return member
        own = _of_variable(self._view, node)
        return own if own != OTHER else _of_assigned(self._view, node.attr)

    def _subscript(self, node: ast.Subscript) -> FlowKind:
        base = self._kind(node.value)
        self._kind(node.slice)
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if base.form is Form.ARRIVING:
            return base if isinstance(node.slice, ast.Slice) else base.items or OTHER
        if base.form is Form.KEPT:
            return KEPT
        return base.member(index) if isinstance(index, str | int) else OTHER

    def _operation(self, node: ast.BinOp) -> FlowKind:
        left, right = self._kind(node.left), self._kind(node.right)
        forms = {left.form, right.form}
        if Form.UNORDERED in forms and isinstance(node.op, _SET_OPERATIONS):
            return UNORDERED
        self._added(node, left, node.op, right, operands=(node.left, node.right))
        if Form.FLOAT in forms:
            return FLOAT
        return KEPT if Form.KEPT in forms else OTHER

    def _added(
        self,
        node: ast.AST,
        left: FlowKind,
        op: ast.operator,
        right: FlowKind,
        operands: tuple[ast.expr, ...] = (),
    ) -> None:
        """Note an addition of floats whose result is combined with further records."""
        forms = (left.form, right.form)
        if not isinstance(op, ast.Add | ast.Sub) or Form.FLOAT not in forms:
            return
        if any(isinstance(part, ast.Constant) for part in operands):
            return
        is_fold = self._view.user.use is Use.FOLD
        if Form.KEPT in forms or (is_fold and len({*map(ast.dump, operands)}) != 1):
            self._sum(node)

    def _choice(self, node: ast.BoolOp | ast.IfExp) -> FlowKind:
        parts = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
        if isinstance(node, ast.IfExp):
            self._kind(node.test)
        kinds = [self._kind(part) for part in parts]
        return next((kind for kind in kinds if kind != OTHER), OTHER)

    def _comprehension(
        self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp
    ) -> FlowKind:
        over = [self._generator(generator) for generator in node.generators]
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        kinds = [self._kind(part) for part in parts]
        is_unordered = any(kind.form is Form.UNORDERED for kind in over)
        if isinstance(node, ast.SetComp):
            return UNORDERED
        if isinstance(node, ast.DictComp):
            return UNORDERED if is_unordered else OTHER
        if is_unordered:
            if isinstance(node, ast.ListComp):
                self._order(node)
                return OTHER
            return UNORDERED
        return arriving(kinds[0]) if any(kind.form is Form.ARRIVING for kind in over) else OTHER

    def _generator(self, node: ast.comprehension) -> FlowKind:
        kind = self._kind(node.iter)
        self._bind(node.target, _item(kind))
        for condition in node.ifs:
            self._kind(condition)
        return kind

    def _call(self, node: ast.Call) -> FlowKind:
        name = _called(node)
        if name in _WITHOUT_ORDER:
            return self._without_order(node, name)
        if isinstance(node.func, ast.Attribute):
            kind = self._method(node, node.func)
            if kind is not None:
                return kind
        kinds = [self._kind(part) for part in _arguments(node)]
        first = kinds[0] if kinds else OTHER
        if (
            name in _SUMS
            and first.form is Form.ARRIVING
            and (first.items or OTHER).form is Form.FLOAT
        ):
            self._sum(node)
        if name in _IN_ORDER and any(kind.form is Form.UNORDERED for kind in kinds):
            self._order(node)
        return first if name in _COPIES and first.form is Form.ARRIVING else OTHER

    def _without_order(self, node: ast.Call, name: str) -> FlowKind:
        """Return the kind of a call whose result has no order of its argument: the argument is no finding itself."""
        before = len(self.findings)
        kinds = [self._kind(part) for part in _arguments(node)]
        direct = {id(part) for part in _arguments(node) if isinstance(part, _COMPREHENSIONS)}
        lines = {part.lineno for part in _arguments(node) if id(part) in direct}
        self.findings[before:] = [
            finding
            for finding in self.findings[before:]
            if not (finding.kind is CauseKind.SET_ORDER and finding.line in lines)
        ]
        if name in _SETS:
            return UNORDERED
        is_of_set = name == "dict" and any(kind.form is Form.UNORDERED for kind in kinds)
        return UNORDERED if is_of_set else OTHER

    def _method(self, node: ast.Call, method: ast.Attribute) -> FlowKind | None:
        """Return the kind of a call of a method; None if it is like that of a function."""
        base = self._kind(method.value)
        name = method.attr
        if base.form is Form.UNORDERED and name in _SET_METHODS:
            return UNORDERED
        if base.form is Form.UNORDERED and name in {"pop", "popitem"}:
            self._order(node)
            return OTHER
        if name == "fromkeys":
            kinds = [self._kind(part) for part in _arguments(node)]
            return UNORDERED if kinds and kinds[0].form is Form.UNORDERED else OTHER
        if name in _STATE_READS and self._view.attribute_of(method.value) is not None:
            for part in _arguments(node):
                self._kind(part)
            return KEPT
        return None

    def _yield_from(self, node: ast.YieldFrom) -> FlowKind:
        if self._kind(node.value).form is Form.UNORDERED:
            self._order(node)
        return OTHER

    def _starred(self, node: ast.Starred) -> FlowKind:
        if self._kind(node.value).form is Form.UNORDERED:
            self._order(node)
        return OTHER

    def _lambda(self, node: ast.Lambda) -> FlowKind:
        self._kind(node.body)
        return OTHER

    def _named(self, node: ast.NamedExpr) -> FlowKind:
        kind = self._kind(node.value)
        self._bind(node.target, kind)
        return kind

    def _order(self, node: ast.expr) -> None:
        problem = f"lets the order of a set reach its result by {_text(node)}"
        self.findings.append(FoundCause(CauseKind.SET_ORDER, problem, node.lineno))

    def _sum(self, node: Any) -> None:
        problem = f"adds floats by {_text(node)}, whose sum may depend on the order of records in its last digits"
        self.findings.append(
            FoundCause(CauseKind.FLOAT_SUM, problem, node.lineno, is_possible=True)
        )


_STATEMENTS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.FunctionDef: _KindFlow._definition,  # noqa: SLF001 - its own table
    ast.AsyncFunctionDef: _KindFlow._definition,  # noqa: SLF001
    ast.ClassDef: _KindFlow._definition,  # noqa: SLF001
    ast.For: _KindFlow._loop,  # noqa: SLF001
    ast.AsyncFor: _KindFlow._loop,  # noqa: SLF001
    ast.Assign: _KindFlow._assignment,  # noqa: SLF001
    ast.AnnAssign: _KindFlow._declaration,  # noqa: SLF001
    ast.AugAssign: _KindFlow._augmented,  # noqa: SLF001
}
"""Class of a statement to what reads it; of others the expressions count."""

_RULES: dict[type[ast.expr], Callable[..., FlowKind]] = {
    ast.Set: _KindFlow._set,  # noqa: SLF001 - its own table
    ast.Attribute: _KindFlow._attribute,  # noqa: SLF001
    ast.Subscript: _KindFlow._subscript,  # noqa: SLF001
    ast.BinOp: _KindFlow._operation,  # noqa: SLF001
    ast.BoolOp: _KindFlow._choice,  # noqa: SLF001
    ast.IfExp: _KindFlow._choice,  # noqa: SLF001
    ast.ListComp: _KindFlow._comprehension,  # noqa: SLF001
    ast.GeneratorExp: _KindFlow._comprehension,  # noqa: SLF001
    ast.SetComp: _KindFlow._comprehension,  # noqa: SLF001
    ast.DictComp: _KindFlow._comprehension,  # noqa: SLF001
    ast.Call: _KindFlow._call,  # noqa: SLF001
    ast.YieldFrom: _KindFlow._yield_from,  # noqa: SLF001
    ast.Starred: _KindFlow._starred,  # noqa: SLF001
    ast.Lambda: _KindFlow._lambda,  # noqa: SLF001
    ast.NamedExpr: _KindFlow._named,  # noqa: SLF001
}
"""Class of an expression to what finds its kind; of others the parts count."""


def _item(kind: FlowKind) -> FlowKind:
    return kind.items or OTHER


def _of_variable(view: FunctionView, node: ast.expr) -> FlowKind:
    """Return the kind of a variable outside of the function, or of an attribute that is set already."""
    value = view.resolve(node)
    return UNORDERED if isinstance(value, (set, frozenset)) else OTHER


def _of_assigned(view: FunctionView, name: str) -> FlowKind:
    """Return the kind of an attribute that a method sets to a set."""
    for _, value in view.assigned.get(name, ()):
        is_call = isinstance(value, ast.Call) and _called(value) in _SETS
        if is_call or isinstance(value, ast.Set | ast.SetComp):
            return UNORDERED
    return OTHER


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _arguments(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(keyword.value for keyword in node.keywords)]


def _shows_order(statement: ast.stmt) -> bool:
    """Return whether a statement of a loop makes a result in the order of the loop."""
    for node in ast.walk(statement):
        if isinstance(node, _VISIBLE):
            return True
        if isinstance(node, ast.Call) and _called(node) in _COLLECTED:
            return True
    return False


def _text(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]}…"


def kinds_of_parameters(
    view: FunctionView, records: tuple[FlowKind, ...], elements: FlowKind | None
) -> dict[str, FlowKind]:
    """Return the kinds of parameters by the positions that the runtime fills; elements of a window are the last."""
    names, method = view.parameters, view.user.function.__name__
    if not view.user.is_root or not names or not records:
        return {}
    if elements is not None and view.user.use is Use.RECORDS:
        return {names[-1]: arriving(elements)}
    record = records[-1] if method.endswith("2") and len(records) > 1 else records[0]
    if view.user.use is Use.FOLD and method != "add":
        return {} if method in {"merge", "get_result"} else dict.fromkeys(names[:2], record)
    return {names[0]: record}
