"""Variables that outlive a call: of a module or of a function around, defaults of parameters, attributes of `self`."""

from __future__ import annotations

import ast
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, MutableMapping, MutableSequence, MutableSet
from enum import Enum, auto
from types import ModuleType
from typing import Any

from penstock.testing.causes.cause import CauseKind, FoundCause
from penstock.testing.causes.names import MISSING, FunctionView
from penstock.testing.causes.patterns import MUTATORS
from penstock.testing.causes.source_tree import Tree, body_of, functions_in, module_tree
from penstock.testing.causes.user_functions import is_of_users_class

_CONTAINERS = (MutableMapping, MutableSequence, MutableSet, deque, bytearray, array)
_LITERALS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_FIRST = ("next", "anext")


def changed(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, ast.AST]]:
    """Yield the expressions whose objects a piece of code changes or sets, each with its place.

    `a.b[c] = d` and `a.b.append(d)` change `a.b`; `a = b` and `a.b = c` set what is on the left.
    """
    for node in nodes:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign | ast.Delete):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        elif isinstance(node, ast.Call):
            targets = list(_mutated(node))
        for target in targets:
            yield from ((part, node) for part in _changed_parts(target))


def _mutated(call: ast.Call) -> Iterator[ast.expr]:
    if isinstance(call.func, ast.Attribute) and call.func.attr in MUTATORS:
        yield call.func.value
    if isinstance(call.func, ast.Name) and call.func.id in _FIRST and call.args:
        yield call.args[0]


def _changed_parts(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _changed_parts(part)
    elif isinstance(target, ast.Subscript | ast.Starred):
        yield from _changed_parts(target.value)
    else:
        yield target


def _root(node: ast.expr) -> ast.expr:
    """Return the name at the beginning of a chain."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def outer_variables(view: FunctionView) -> Iterator[FoundCause]:
    """Yield changes of variables outside of the function, and reads of those that other functions change."""
    own = set()
    for target, place in changed(view.nodes()):
        root = _root(target)
        if not isinstance(root, ast.Name) or not view.is_outside(root.id):
            is_class = isinstance(target, ast.Attribute) and isinstance(
                view.resolve(target.value), type
            )
            if is_class and not isinstance(view.user.owner, type):
                yield _outer(f"changes {ast.unparse(target)}, an attribute of a class", place)
            continue
        if _is_variable(view, target, root, place):
            own.add(root.id)
            yield _outer(f"changes {ast.unparse(target)}, a variable outside of it", place)
    elsewhere = _changed_elsewhere(view)
    names = elsewhere.keys() & view.user.function.__globals__.keys() - own
    for node in view.nodes():
        is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if is_read and node.id in names and view.is_outside(node.id):  # type: ignore[attr-defined]
            name = node.id  # type: ignore[attr-defined]
            problem = f"reads {name}, a variable of the module that {elsewhere[name]} changes"
            yield _outer(problem, node, is_possible=True)


def _is_variable(view: FunctionView, target: ast.expr, root: ast.Name, place: ast.AST) -> bool:
    """Return whether a change of a target is one of a variable outside of the function."""
    value = view.resolve(target)
    if isinstance(place, ast.Call):
        return isinstance(value, _CONTAINERS) or (_is_iterator(value) and _is_first(place))
    if isinstance(target, ast.Name):
        is_item = not isinstance(target.ctx, ast.Store | ast.Del)
        return isinstance(value, _CONTAINERS) if is_item else True
    base = view.resolve(target.value) if isinstance(target, ast.Attribute) else MISSING
    return isinstance(base, ModuleType | type) or is_of_users_class(view.resolve(root))


def _is_first(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in _FIRST


def _is_iterator(value: Any) -> bool:
    return value is not MISSING and hasattr(type(value), "__next__")


def _outer(problem: str, place: ast.AST, *, is_possible: bool = False) -> FoundCause:
    return FoundCause(CauseKind.GLOBAL, problem, getattr(place, "lineno", 0), is_possible)


def _changed_elsewhere(view: FunctionView) -> dict[str, str]:
    """Return the variables that functions of the module declare as global and set, each with a function's name."""
    module = module_tree(view.user.function)
    changes: dict[str, str] = {}
    for function in functions_in(module) if module is not None else ():
        nodes = [node for statement in body_of(function) for node in ast.walk(statement)]
        declared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
        for target, _ in changed(nodes):
            if isinstance(target, ast.Name) and target.id in declared:
                changes.setdefault(target.id, _name(function))
    return changes


def _name(function: Tree) -> str:
    return "a lambda" if isinstance(function, ast.Lambda) else function.name


def mutable_defaults(view: FunctionView) -> Iterator[FoundCause]:
    """Yield parameters whose default the function changes."""
    function = view.user.function
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    given |= function.__kwdefaults__ or {}
    mutable = {name for name, value in given.items() if isinstance(value, _CONTAINERS)}
    for target, place in changed(view.nodes()):
        root = _root(target)
        is_set = (
            isinstance(place, ast.Assign)
            and isinstance(target, ast.Name)
            and isinstance(target.ctx, ast.Store)
        )
        if isinstance(root, ast.Name) and root.id in mutable and not is_set:
            problem = f"changes the default of its parameter {root.id}, which all calls share"
            yield FoundCause(CauseKind.MUTABLE_DEFAULT, problem, place.lineno)  # type: ignore[attr-defined]


def self_state(views: list[FunctionView]) -> Iterator[tuple[FunctionView, FoundCause]]:
    """Yield attributes of one object that its methods change per record, and read again for later records."""
    reads = {name for view in views for name in _reads(view)}
    known: set[str] = set()
    for view in views:
        for target, place in changed(view.nodes()):
            name = _attribute(view, target)
            if name is None or name not in reads or name in known:
                continue
            if not _is_kept(view, name, target, place) or _is_set_first(views, name):
                continue
            known.add(name)
            is_memo = _is_memo(view, name, place)
            problem = f"keeps self.{name} from one record to the next, outside of state"
            line = getattr(place, "lineno", 0)
            yield view, FoundCause(CauseKind.SELF_STATE, problem, line, is_possible=is_memo)


def _attribute(view: FunctionView, target: ast.expr) -> str | None:
    """Return the attribute of `self` at the beginning of a chain."""
    while isinstance(target, ast.Attribute | ast.Subscript):
        name = view.attribute_of(target)
        if name is not None:
            return name
        target = target.value
    return None


def _reads(view: FunctionView) -> Iterator[str]:
    """Yield the attributes of `self` whose values are used beside changing them."""
    only_changed = set()
    for node in view.nodes():
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            only_changed |= {id(part) for part in _mutated(node.value)}
    for target, _ in changed(view.nodes()):
        if isinstance(target, ast.Attribute) and not isinstance(target.ctx, ast.Load):
            only_changed.add(id(target))
    for node in view.nodes():
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            only_changed.add(id(node.value))
    for node in view.nodes():
        name = view.attribute_of(node)
        if name is not None and id(node) not in only_changed:
            yield name


def _is_kept(view: FunctionView, name: str, target: ast.expr, place: ast.AST) -> bool:
    """Return whether a change stays in the object, and is no call of a handle of state."""
    is_container = _is_container(view, name)
    if isinstance(place, ast.Call):
        return is_container or (_is_first(place) and _is_iterator_attribute(view, name))
    if isinstance(target, ast.Attribute) and view.attribute_of(target) == name:
        is_item = isinstance(target.ctx, ast.Load)
        return is_container if is_item else not _is_made_once(view, name, place)
    return True


def _is_container(view: FunctionView, name: str) -> bool:
    owner = view.user.owner
    value = getattr(owner, "__dict__", {}).get(name, getattr(view.owner_class, name, MISSING))
    if isinstance(value, _CONTAINERS):
        return True
    for method, node in view.assigned.get(name, ()):
        cls = method.resolve(node.func) if isinstance(node, ast.Call) else MISSING
        if isinstance(node, _LITERALS) or (isinstance(cls, type) and issubclass(cls, _CONTAINERS)):
            return True
    return False


def _is_iterator_attribute(view: FunctionView, name: str) -> bool:
    if _is_iterator(getattr(view.user.owner, "__dict__", {}).get(name, MISSING)):
        return True
    calls = (value for _, value in view.assigned.get(name, ()) if isinstance(value, ast.Call))
    return any(_is_iterator_class(view.resolve(value.func)) for value in calls)


def _is_iterator_class(cls: Any) -> bool:
    return isinstance(cls, type) and hasattr(cls, "__next__")


def _is_made_once(view: FunctionView, name: str, place: ast.AST) -> bool:
    """Return whether an attribute is set only if it is not there yet, to a value that no parameter is in."""
    if not isinstance(place, ast.Assign | ast.AnnAssign) or place.value is None:
        return False
    parameters = set(view.parameters)
    made_of = {node.id for node in ast.walk(place.value) if isinstance(node, ast.Name)}
    return not made_of & parameters and _guard(view, name, place) is not None


def _is_memo(view: FunctionView, name: str, place: ast.AST) -> bool:
    """Return whether an element of an attribute is set only if there is none."""
    guard = _guard(view, name, place)
    compares = (node for node in ast.walk(guard) if isinstance(node, ast.Compare)) if guard else ()
    return isinstance(place, ast.Assign) and any(
        isinstance(op, ast.NotIn) for node in compares for op in node.ops
    )


def _guard(view: FunctionView, name: str, place: ast.AST) -> ast.expr | None:
    """Return the condition on an attribute under which a statement runs."""
    for node in view.nodes():
        if isinstance(node, ast.If) and any(
            inner is place for part in node.body for inner in ast.walk(part)
        ):
            words = [view.attribute_of(inner) for inner in ast.walk(node.test)]
            texts = [
                inner.value for inner in ast.walk(node.test) if isinstance(inner, ast.Constant)
            ]
            if name in words or name in texts:
                return node.test
    return None


def _is_set_first(views: list[FunctionView], name: str) -> bool:
    """Return whether all methods that the runtime calls set an attribute before they read it."""
    firsts = [_first_use(view, name) for view in views if view.user.is_root]
    return _Use.SET in firsts and _Use.READ not in firsts


class _Use(Enum):
    """The first use of an attribute in a method."""

    SET = auto()
    READ = auto()
    NONE = auto()


def _first_use(view: FunctionView, name: str) -> _Use:
    for statement in view.body:
        if isinstance(statement, ast.Assign) and any(
            view.attribute_of(t) == name for t in statement.targets
        ):
            reads = any(view.attribute_of(node) == name for node in ast.walk(statement.value))
            return _Use.READ if reads else _Use.SET
        for node in ast.walk(statement):
            is_other_method = (
                isinstance(node, ast.Call) and view.attribute_of(node.func) is not None
            )
            if is_other_method or view.attribute_of(node) == name:
                return _Use.READ
    return _Use.NONE
