"""Functions that keep in attributes what belongs into state."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.cli.porting.remarks import Remark, Weight

_OUTSIDE_OF_RECORDS = frozenset({"__init__", "open", "close", "__getstate__", "__setstate__"})
"""Methods that may set attributes: what they set is made anew with the object."""


def kept_attributes(tree: ast.Module) -> Iterator[Remark]:
    """Yield the attributes that a function class sets while it is called for records.

    They are lost with the worker, and in PyFlink with the job.
    """
    for cls in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        if not any(_name(base).endswith(("Function", "Operator")) for base in cls.bases):
            continue
        for method in cls.body:
            if isinstance(method, ast.FunctionDef) and method.name not in _OUTSIDE_OF_RECORDS:
                yield from _kept(cls.name, method)


def _kept(owner: str, method: ast.FunctionDef) -> Iterator[Remark]:
    own = method.args.args[0].arg if method.args.args else ""
    for node in ast.walk(method):
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, (ast.AnnAssign, ast.AugAssign))
            else []
        )
        for target in targets:
            if (
                isinstance(target, ast.Attribute)
                and isinstance(target.value, ast.Name)
                and target.value.id == own
            ):
                text = (
                    f"{owner}.{method.name} sets {own}.{target.attr}: an object lives as long as its worker process, and may be "
                    "another one in the next micro-batch. What must last belongs into keyed state."
                )
                yield Remark(target.lineno, Weight.DIFFERS, text)


def _name(base: ast.expr) -> str:
    while isinstance(base, ast.Subscript):
        base = base.value
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
