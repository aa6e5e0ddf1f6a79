"""Which private names tests replace: each of them keeps the code behind it from being changed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

_LIMIT = re.compile(r"_[A-Z][A-Z0-9_]*")
"""Name of a constant, such as a number of bytes that a test makes small."""


def patched_names(root: Path) -> set[str]:
    """Return `path::name` of private names, other than constants, that tests replace by `setattr`."""
    found = set()
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = _patched(node)
            if name.startswith("_") and not name.startswith("__") and not _LIMIT.fullmatch(name):
                found.add(f"{path.relative_to(root)}::{name}")
    return found


def _patched(node: ast.AST) -> str:
    """Return the name that a call of `setattr` or `delattr` of `monkeypatch` replaces, "" for others."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    if node.func.attr not in {"setattr", "delattr"}:
        return ""
    texts = [a.value for a in node.args[:2] if isinstance(a, ast.Constant)]
    named = [text for text in texts if isinstance(text, str)]
    return named[0].rpartition(".")[2] if named else ""
