"""One program: its text before and after, and what differs."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from difflib import unified_diff

from penstock.cli.porting.calls import different_calls
from penstock.cli.porting.functions import kept_attributes
from penstock.cli.porting.imports import missing_modules, places, replaced
from penstock.cli.porting.names import missing_names
from penstock.cli.porting.remarks import Remark, Weight
from penstock.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class PortedProgram:
    """A ported program.

    Attributes:
        name: Of its file.
        before: Its text.
        after: Its text with our modules.
        remarks: What to know about it, by line; none if it does not use PyFlink.
    """

    name: str
    before: str
    after: str
    remarks: tuple[Remark, ...]

    @property
    def needs_a_hand(self) -> bool:
        """True if it fails until somebody changes a line."""
        return any(each.weight is Weight.BY_HAND for each in self.remarks)

    def diff(self) -> str:
        """Return the changes as a unified diff; empty without any."""
        before, after = self.before.splitlines(keepends=True), self.after.splitlines(keepends=True)
        return "".join(unified_diff(before, after, self.name, self.name))


def ported(name: str, text: str) -> PortedProgram:
    """Return what becomes of a program.

    Args:
        name: Of its file.
        text: Its source.

    Raises:
        ArgumentError: It is no Python.

    Examples:
        >>> ported("job.py", "from pyflink.common import Types").after
        'from penstock.common import Types'
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as cause:
        raise ArgumentError(
            f"{name}:{cause.lineno} is no Python that this interpreter reads: {cause.msg}",
            hint="Correct the line, or leave the file out.",
        ) from cause
    where = places(tree, text)
    if not where:
        return PortedProgram(name, text, text, ())
    found = {
        *missing_modules(where),
        *missing_names(tree),
        *different_calls(tree),
        *kept_attributes(tree),
    }
    ordered = sorted(found, key=lambda each: (each.line, each.weight.value, each.text))
    return PortedProgram(name, text, replaced(text, where), tuple(ordered))
