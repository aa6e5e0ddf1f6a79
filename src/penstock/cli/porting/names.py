"""Imported names that are not here."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.cli.porting.imports import imported_names, value_of
from penstock.cli.porting.remarks import Remark, Weight
from penstock.errors import PenstockError


def missing_names(tree: ast.Module) -> Iterator[Remark]:
    """Yield the names that a program imports and that are not here, or raise when they are used."""
    for node, alias in imported_names(tree):
        try:
            value_of(str(node.module), alias.name)
        except PenstockError as error:
            yield Remark(alias.lineno, Weight.BY_HAND, f"{error.problem}. {error.hint}")
        except AttributeError:
            text = (
                f"{node.module} has no {alias.name} here. See docs/api-support.md for what exists."
            )
            yield Remark(alias.lineno, Weight.BY_HAND, text)
