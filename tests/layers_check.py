"""Reads imports out of source files and compares them with the allowed ones.

Nothing is imported, so a module that cannot be imported is checked all the same. Imports inside
functions and under `if TYPE_CHECKING:` count: a cycle that is delayed is still a cycle, and
readers follow types.
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something at a line that must not be there."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.what}"


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed file: its path below the package, and its place in the architecture."""

    path: Path
    tree: ast.Module

    @property
    def owner(self) -> str:
        """The top-level package or module the file belongs to."""
        return self.path.parts[0].removesuffix(".py")


def modules(root: Path) -> Iterator[Module]:
    """Yield every module below `root`, in the order of their paths; none of environments in it."""
    found: list[Path] = []
    for folder, below, names in os.walk(root):
        if "pyvenv.cfg" in names:
            below.clear()
        else:
            found += [Path(folder, name) for name in names if name.endswith(".py")]
    for path in sorted(found):
        yield Module(path.relative_to(root), ast.parse(path.read_text(encoding="utf-8")))


def forbidden_imports(
    root: Path,
    may_import: Mapping[str, Collection[str]],
    third_party: Mapping[str, Collection[str]],
) -> list[Finding]:
    """Return the imports that cross a boundary the wrong way.

    Args:
        root: The package's directory; its name is the import name.
        may_import: Top-level member to the members, or folders of members (`a.b`), that it may
            import; one that is absent may import none but itself.
        third_party: Guarded distribution to the members that may import it.
    """
    found: list[Finding] = []
    for module in modules(root):
        siblings = {*may_import.get(module.owner, ()), module.owner}
        for line, name in _imported(module, root.name):
            top, *below = name.split(".")
            if top == root.name:
                read = {".".join(below[:1]), ".".join(below[:2])}
                allowed = not below or not siblings.isdisjoint(read)
            else:
                allowed = module.owner in third_party.get(top, (module.owner,))
            if not allowed:
                found.append(Finding(str(module.path), line, f"imports {name}"))
    return found


def forbidden_within(
    root: Path, within: Mapping[str, Mapping[str, Collection[str]]]
) -> list[Finding]:
    """Return the imports that cross a boundary inside a package the wrong way.

    Args:
        root: The package's directory; its name is the import name.
        within: Top-level package to its folders and modules, each with those it may import.
    """
    found: list[Finding] = []
    for module in modules(root):
        allowed = within.get(module.owner)
        if allowed is None or len(module.path.parts) < 2:
            continue
        member = module.path.parts[1].removesuffix(".py")
        own = {member, *allowed.get(member, ())}
        for line, name in _imported(module, root.name):
            _, owner, read = [*name.split("."), "", ""][:3]
            if owner == module.owner and read in allowed and read not in own:
                found.append(Finding(str(module.path), line, f"imports {name}"))
    return found


def crowded_folders(root: Path, limit: int, exempt: Collection[str]) -> list[str]:
    """Return the folders with more than `limit` modules whose path is not in `exempt`."""
    counts = Counter(module.path.parent.as_posix() for module in modules(root))
    return sorted(
        f"{folder} has {count} modules"
        for folder, count in counts.items()
        if count > limit and folder not in exempt
    )


def members_of(root: Path) -> set[str]:
    """Return the names of the modules and packages in a directory, but for `__init__`."""
    return {
        path.name.removesuffix(".py")
        for path in root.iterdir()
        if (path.suffix == ".py" and path.stem != "__init__") or any(path.rglob("*.py"))
    }


def delayed_imports(root: Path, exempt: Collection[str]) -> list[Finding]:
    """Return the imports inside functions, except in the top-level members `exempt`."""
    return sorted(
        {
            Finding(str(module.path), node.lineno, "imports inside a function")
            for module in modules(root)
            if module.owner not in exempt
            for function in ast.walk(module.tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
    )


def long_files(root: Path, limit: int, exempt: Collection[str]) -> list[Finding]:
    """Return the files of more than `limit` lines whose path is not in `exempt`."""
    found: list[Finding] = []
    for module in modules(root):
        lines = len((root / module.path).read_text(encoding="utf-8").splitlines())
        if lines > limit and module.path.as_posix() not in exempt:
            found.append(Finding(str(module.path), lines, f"has more than {limit} lines"))
    return found


def names_of_several(root: Path, exempt: Collection[str]) -> list[str]:
    """Return the names of more than one class, nested ones included, but for those in `exempt`."""
    places: dict[str, list[str]] = {}
    for module in modules(root):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{module.path.as_posix()}:{node.lineno}")
    return sorted(
        f"{name} is {' and '.join(at)}"
        for name, at in places.items()
        if len(at) > 1 and name not in exempt
    )


def _imported(module: Module, package: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the full dotted name of everything `module` imports."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, module, package)
            for alias in node.names:
                # `from penstock import spark` names the member only here.
                yield node.lineno, f"{base}.{alias.name}"


def _base(node: ast.ImportFrom, module: Module, package: str) -> str:
    if not node.level:
        return node.module or ""
    above = [package, *module.path.parts][: -node.level]
    return ".".join([*above, *([node.module] if node.module else [])])
