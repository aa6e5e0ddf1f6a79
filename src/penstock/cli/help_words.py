"""Help of commands without the types of Python, and the groups of commands in it."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

WRITE, OPERATE, MACHINE = "Write and run a program", "Operate a job", "This machine"
"""Groups of commands, in the order of the help."""


class _Plain:
    """Command whose help has the names of values, and no `<bool>` or `<list[Path]>`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; each shows the name of its value, and a flag nothing."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            is_option = param.param_type_name == "option"
            name = (param.metavar or "") if is_option else ""
            # The library has no setting for this column; a version without the method shows its own words.
            param.display_type_rich = lambda *, ctx, name=name: name  # noqa: ARG005 - of the library
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line; names that are required stand without braces."""
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [piece.replace("{", "").replace("}", "") for piece in pieces]


class PlainCommand(_Plain, TyperCommand):
    """Command of the command line."""


class PlainGroup(_Plain, TyperGroup):
    """Group of commands."""
