"""Reads which module imports which out of source files, and finds circles.

Nothing is imported. Imports inside functions count: a circle that is delayed is still a circle.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

Graph = Mapping[str, set[str]]


def import_graph(root: Path, *, for_types: bool) -> dict[str, set[str]]:
    """Return the modules below `root`, by dotted name, and those each of them imports.

    Args:
        root: The package's directory; its name is the import name.
        for_types: Count imports under `if TYPE_CHECKING:` too.
    """
    paths = {_name(path.relative_to(root.parent)): path for path in root.rglob("*.py")}
    trees = {name: _parsed(path) for name, path in paths.items()}
    return {
        name: {
            found if found in paths else found.rpartition(".")[0]
            for found in _imported(tree, for_types=for_types)
            if found.partition(".")[0] == root.name
        }
        & paths.keys() - {name}
        for name, tree in trees.items()
    }


def circles(graph: Graph) -> list[list[str]]:
    """Return the sets of modules that import one another, directly or not (Tarjan's way)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        numbers[node] = lowest[node] = len(numbers)
        open_nodes.append(node)
        for read in sorted(graph[node]):
            if read not in numbers:
                visit(read)
            if read in open_nodes:
                lowest[node] = min(lowest[node], lowest[read])
        if lowest[node] == numbers[node]:
            at = open_nodes.index(node)
            members = open_nodes[at:]
            del open_nodes[at:]
            if len(members) > 1:
                found.append(sorted(members))

    for node in sorted(graph):
        if node not in numbers:
            visit(node)
    return found


def assigned_from_below(root: Path) -> list[str]:
    """Return the places where importing a module gives an attribute to something it imported."""
    found: list[str] = []
    for path in sorted(root.rglob("*.py")):
        tree = _parsed(path)
        foreign = {
            alias.asname or alias.name.partition(".")[0]
            for node in tree.body
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            if isinstance(node, ast.AugAssign | ast.AnnAssign):
                targets = [node.target]
            found += [
                f"{path.relative_to(root)}:{node.lineno} {ast.unparse(target)}"
                for target in targets
                if isinstance(target, ast.Attribute | ast.Subscript)
                and isinstance(target.value, ast.Name)
                and target.value.id in foreign
            ]
    return found


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module, *, for_types: bool) -> Iterator[str]:
    to_see: list[ast.AST] = [tree]
    while to_see:
        node = to_see.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            to_see += [*(node.body if for_types else ()), *node.orelse]
            continue
        if isinstance(node, ast.stmt | ast.Module | ast.ExceptHandler | ast.match_case):
            to_see += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
