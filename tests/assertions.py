"""Which tests can fail: those that assert something, or call a function of the tests that does."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_EXPECTATIONS = frozenset({"raises", "warns", "fail", "check_log_source"})
"""Of pytest, and of `penstock.testing`."""


@dataclass(slots=True)
class _Calls:
    """The functions of one name in one module.

    Attributes:
        line: Where the last one begins.
        asserts: Whether one of them asserts something itself.
        names: What they call by name, and their parameters, which may be fixtures.
        methods: What they call as an attribute.
    """

    line: int = 0
    asserts: bool = False
    names: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)

    def add(self, function: _Function) -> None:
        self.line = function.lineno
        self.names |= {each.arg for each in (*function.args.args, *function.args.kwonlyargs)}
        for node in ast.walk(function):
            if isinstance(node, ast.Assert | ast.Raise):
                self.asserts = True
            elif isinstance(node, ast.Call):
                called = node.func
                if isinstance(called, ast.Name):
                    self.names.add(called.id)
                elif isinstance(called, ast.Attribute):
                    self.methods.add(called.attr)
                self.asserts |= any(map(_is_checked, node.keywords))
        self.asserts |= not _EXPECTATIONS.isdisjoint(self.names | self.methods)


def _is_checked(argument: ast.keyword) -> bool:
    """Return whether an argument is `check=True`, of a process that has to succeed."""
    value = argument.value
    return argument.arg == "check" and isinstance(value, ast.Constant) and value.value is True


class _Module:
    """What a module defines, and what it imports of others.

    Attributes:
        functions: Name to its functions, methods included.
        imports: Name here to (module, name there).
    """

    def __init__(self, path: Path) -> None:
        self.functions: dict[str, _Calls] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, _Function):
                self.functions.setdefault(node.name, _Calls()).add(node)
            elif isinstance(node, ast.ImportFrom) and node.module:
                for each in node.names:
                    self.imports[each.asname or each.name] = (node.module, each.name)

    def modules(self) -> Iterator[str]:
        for module, name in self.imports.values():
            yield module
            yield f"{module}.{name}"


def without_assertion(root: Path, shared: Iterable[Path]) -> dict[str, int]:
    """Return tests that cannot fail but by an error of what they call.

    Args:
        root: Folder of the tests; the one above it is that of their packages.
        shared: Other folders below it whose functions may assert something.

    Returns:
        `path::name` to the line.
    """
    modules = {
        _dotted(path, top): _Module(path)
        for top, folder in [(root.parent, root), *((each.parent, each) for each in shared)]
        for path in sorted(folder.rglob("*.py"))
    }
    asserting = {
        (module, name)
        for module, found in modules.items()
        for name, calls in found.functions.items()
        if calls.asserts
    }

    def asserts(module: str, calls: _Calls) -> bool:
        found = modules[module]
        if any(found.imports.get(name, (module, name)) in asserting for name in calls.names):
            return True
        near = [module, *(each for each in found.modules() if each in modules)]
        return any((each, method) in asserting for each in near for method in calls.methods)

    while True:
        more = {
            (module, name)
            for module, found in modules.items()
            for name, calls in found.functions.items()
            if (module, name) not in asserting and asserts(module, calls)
        }
        if not more:
            break
        asserting |= more
    return {
        f"{module.replace('.', '/')}.py::{name}": calls.line
        for module, found in modules.items()
        for name, calls in found.functions.items()
        if module.startswith(f"{root.name}.")
        and name.startswith("test_")
        and (module, name) not in asserting
    }


def _dotted(path: Path, top: Path) -> str:
    return ".".join(path.relative_to(top).with_suffix("").parts)
