"""The objects that names in a function refer to, as far as they are known before it runs."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from inspect import getattr_static
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from penstock.testing.causes.source_tree import Tree, body_of, parameters_of, tree_of
from penstock.testing.causes.user_functions import Use, UserFunction, function_of, methods_of

MISSING = object()
"""Stands for an object that is not known before the function runs."""


@dataclass(frozen=True)
class FunctionView:
    """A function of the program with its tree and its names."""

    user: UserFunction

    @cached_property
    def tree(self) -> Tree:
        """The syntax tree."""
        return tree_of(self.user.function)

    @cached_property
    def body(self) -> list[ast.stmt]:
        """The statements."""
        return body_of(self.tree)

    @cached_property
    def parameters(self) -> list[str]:
        """The names of the parameters, `self` left out."""
        names = parameters_of(self.tree)
        return names[1:] if self.self_name is not None else names

    @cached_property
    def self_name(self) -> str | None:
        """The parameter that is the object of a method."""
        names = parameters_of(self.tree)
        is_static = isinstance(self._member, staticmethod)
        return names[0] if self.user.owner is not None and names and not is_static else None

    @cached_property
    def _member(self) -> Any:
        return getattr_static(self.owner_class, self.user.function.__name__, None)

    @cached_property
    def _locals(self) -> frozenset[str]:
        return frozenset(_local_names(self.user.function.__code__))

    @cached_property
    def _imports(self) -> dict[str, str]:
        """Names that the function itself imports, to their dotted paths."""
        return dict(_imported(self.tree))

    @cached_property
    def _cells(self) -> dict[str, Any]:
        code, cells = self.user.function.__code__, self.user.function.__closure__ or ()
        contents = {}
        for name, cell in zip(code.co_freevars, cells, strict=True):
            try:
                contents[name] = cell.cell_contents
            except ValueError:  # not filled
                continue
        return contents

    @cached_property
    def owner_class(self) -> type | None:
        """The class of a method's object."""
        owner = self.user.owner
        return owner if owner is None or isinstance(owner, type) else type(owner)

    @cached_property
    def assigned(self) -> dict[str, list[tuple[FunctionView, ast.expr]]]:
        """The values that methods of the class assign to attributes of the object, by attribute."""
        assignments: dict[str, list[tuple[FunctionView, ast.expr]]] = {}
        methods = {} if self.owner_class is None else methods_of(self.owner_class)
        for function in methods.values():
            view = FunctionView(UserFunction(function, self.user.owner, Use.SETUP))
            for node in view.nodes():
                if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                    continue
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for name in filter(None, map(view.attribute_of, targets)):
                    assignments.setdefault(name, []).append((view, node.value))
        return assignments

    def attribute_of(self, node: ast.AST) -> str | None:
        """Return the name of an attribute of the method's object; None for another expression."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.attr if node.value.id == self.self_name else None
        return None

    def nodes(self) -> Iterator[ast.AST]:
        """Yield all nodes of the body."""
        return (node for statement in self.body for node in ast.walk(statement))

    def is_outside(self, name: str) -> bool:
        """Return whether a name is a variable outside of the function: of its module, or of a function around it."""
        return name in self._cells or name not in self._locals

    def resolve(self, node: ast.AST) -> Any:
        """Return the object of an expression of names and attributes; MISSING if it is not known."""
        if isinstance(node, ast.Name):
            return self._of_name(node.id)
        if isinstance(node, ast.Attribute):
            attribute = member(self.resolve(node.value), node.attr)
            name = self.attribute_of(node)
            return self._made(name) if attribute is MISSING and name is not None else attribute
        if isinstance(node, ast.Call) and not node.keywords and len(node.args) <= 1:
            return self._of_call(node)
        return MISSING

    def _of_name(self, name: str) -> Any:
        if name == self.self_name:
            return self.user.owner
        if name in self._imports:
            return _imported_object(self._imports[name])
        if name in self._cells:
            return self._cells[name]
        if name in self._locals:
            return MISSING
        return self.user.function.__globals__.get(name, getattr(builtins, name, MISSING))

    def _made(self, name: str) -> Any:
        """Return an object of the class by whose call a method makes an attribute."""
        for view, value in self.assigned.get(name, ()):
            is_call = isinstance(value, ast.Call) and view.attribute_of(value.func) is None
            cls = view.resolve(value.func) if is_call else MISSING  # type: ignore[attr-defined]
            if isinstance(cls, type):
                return _ObjectOf(cls)
        return MISSING

    def _of_call(self, node: ast.Call) -> Any:
        """Return the class of `type(self)`, and the object of `super()`."""
        function = node.func.id if isinstance(node.func, ast.Name) else None
        owner = self.user.owner
        if owner is None or function not in {"type", "super"}:
            return MISSING
        if function == "type" and node.args and self.resolve(node.args[0]) is owner:
            return owner if isinstance(owner, type) else type(owner)
        return _Super(owner, self.user.function) if function == "super" else MISSING

    def path(self, node: ast.AST) -> str | None:
        """Return the dotted path of the object of an expression, whatever name it has here; None if unknown."""
        value = self.resolve(node)
        if value is not MISSING:
            return path_of(value)
        if isinstance(node, ast.Name):
            return self._imports.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            if base is MISSING or isinstance(base, ModuleType):
                before = self.path(node.value)
                return None if before is None else f"{before}.{node.attr}"
        return None


@dataclass(frozen=True)
class _ObjectOf:
    """An object that a function makes when it runs, or a method of it.

    Attributes:
        method: A method in C, if it is one.
    """

    cls: type
    method: str | None = None

    def member(self, name: str) -> Any:
        attribute = getattr_static(self.cls, name, MISSING)
        if attribute is MISSING or self.method is not None:
            return MISSING
        function = function_of(attribute)
        return _ObjectOf(self.cls, name) if function is None else MethodType(function, self.cls)


@dataclass(frozen=True)
class _Super:
    """The object of `super()` in a method."""

    owner: Any
    function: FunctionType

    def member(self, name: str) -> Any:
        cls: type = self.owner if isinstance(self.owner, type) else type(self.owner)
        defining = [
            index
            for index, base in enumerate(cls.__mro__)
            if self.function in map(function_of, vars(base).values())
        ]
        for base in cls.__mro__[defining[0] + 1 :] if defining else ():
            if name in vars(base):
                return vars(base)[name]
        return MISSING


def member(value: Any, name: str) -> Any:
    """Return an attribute of an object without running code of its class; MISSING if there is none."""
    if name == "__class__":
        return type(value)
    rule = next((rule for cls, rule in _MEMBERS.items() if isinstance(value, cls)), _of_object)
    return MISSING if value is MISSING else rule(value, name)


def _of_namespace(value: ModuleType | type, name: str) -> Any:
    attribute = getattr_static(value, name, MISSING)
    is_plain = attribute is not MISSING and not isinstance(attribute, property)
    return getattr(value, name, MISSING) if is_plain else MISSING


def _of_object(value: Any, name: str) -> Any:
    attribute = getattr_static(value, name, MISSING)
    if isinstance(attribute, (FunctionType, staticmethod, classmethod)):
        function = function_of(attribute)
        return MISSING if function is None else MethodType(function, value)
    if isinstance(attribute, property) or hasattr(type(attribute), "__get__"):
        return _builtin_member(value, name)
    return attribute


_MEMBERS: dict[type | tuple[type, ...], Callable[[Any, str], Any]] = {
    (_Super, _ObjectOf): lambda value, name: value.member(name),
    (ModuleType, type): _of_namespace,
}
"""Class of an object to what finds its attributes."""


def _builtin_member(value: Any, name: str) -> Any:
    """Return a method in C of an object, such as `random.Random().random`."""
    attribute = getattr(value, name, MISSING) if _is_builtin(type(value)) else MISSING
    return attribute if callable(attribute) else MISSING


def _is_builtin(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in {*sys.stdlib_module_names, "numpy"}


def path_of(value: Any) -> str | None:
    """Return the dotted path of a module, class or function; of another object, that of its class."""
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, _ObjectOf):
        path = _class_path(value.cls)
        return path if value.method is None else f"{path}.{value.method}"
    bound = getattr(value, "__self__", None)
    if isinstance(value, (BuiltinFunctionType, MethodType)) and not isinstance(
        bound, (ModuleType, type(None))
    ):
        return f"{_class_path(bound)}.{value.__name__}"
    if isinstance(value, type) or callable(value):
        name = getattr(value, "__qualname__", None)
        module = getattr(value, "__module__", None)
        if isinstance(name, str):
            return f"{module}.{name}" if module else name
    return _class_path(value)


def _class_path(value: Any) -> str:
    cls = value if isinstance(value, type) else type(value)
    return f"{cls.__module__}.{cls.__qualname__}"


def _local_names(code: CodeType) -> Iterator[str]:
    yield from code.co_varnames
    yield from code.co_cellvars
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _local_names(inner)


def _imported(tree: Tree) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield (
                    (name.asname or name.name.partition(".")[0]),
                    (name.name if name.asname else name.name.partition(".")[0]),
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in node.names:
                yield name.asname or name.name, f"{node.module}.{name.name}"


def _imported_object(path: str) -> Any:
    """Return what a dotted path names, of modules that are loaded; MISSING for others."""
    if path in sys.modules:
        return sys.modules[path]
    module, _, name = path.rpartition(".")
    return getattr(sys.modules.get(module), name, MISSING)
