"""Place in a text of SQL, and errors with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import CallSite, SqlError

if TYPE_CHECKING:
    from penstock.sql.sqlglot_source import exp

_LONGEST = 120


@dataclass(frozen=True, slots=True)
class TextPlace:
    """A position in a text.

    Attributes:
        file: Name of the file; None if the text is not from a file.
    """

    line: int
    column: int
    file: str | None = None

    def __str__(self) -> str:
        where = f"line {self.line}, column {self.column}"
        return where if self.file is None else f"{self.file}, {where}"

    @property
    def script_line(self) -> CallSite | None:
        """The line of the script, None if the text is not from a file."""
        return None if self.file is None else CallSite(self.file, self.line, "SQL")

    def as_line_of_user(self) -> AbstractContextManager[None]:
        """Be the line of the user for what is called meanwhile, if the text is from a file."""
        line = self.script_line
        return nullcontext() if line is None else line.as_line_of_user()

    def behind(self, start: TextPlace) -> TextPlace:
        """Return a place relative to `start` as one of the text that `start` is in."""
        column = self.column + start.column - 1 if self.line == 1 else self.column
        return TextPlace(self.line + start.line - 1, column, start.file)


def place_of(node: exp.Expr) -> TextPlace | None:
    """Return the first place that is known of a node or of what is in it, or else of what it is in."""
    places = list(_known(node))
    if places:
        return min(places, key=lambda place: (place.line, place.column))
    return None if node.parent is None else place_of(node.parent)


def _known(node: exp.Expr) -> Iterator[TextPlace]:
    for part in node.walk():
        meta = part.meta
        if "line" in meta and "start" in meta:
            width = meta["end"] - meta["start"]
            # sqlglot's column is that of the last character of the token
            yield TextPlace(meta["line"], max(1, meta["col"] - width), meta.get("file"))


def wrong(problem: str, node: exp.Expr | None, *, hint: str) -> SqlError:
    """Return the error of a part of a statement."""
    place = None if node is None else place_of(node)
    line = None if place is None else place.script_line
    return SqlError(f"{problem}{_shown(node)}", hint=hint, origin=line or CallSite.of_caller())


def wrong_at(problem: str, place: TextPlace, *, hint: str) -> SqlError:
    """Return the error of a place in a text, with the line of the script if it is from a file."""
    return SqlError(f"{problem} ({place})", hint=hint, origin=place.script_line)


def unsupported(construct: str, node: exp.Expr | None, *, hint: str | None = None) -> SqlError:
    """Return the error of a construct that is not supported."""
    without = "Write it without: docs/sql.md lists the supported SQL."
    return wrong(f"{construct} is not supported", node, hint=hint or without)


def _shown(node: exp.Expr | None) -> str:
    if node is None:
        return ""
    place = place_of(node)
    try:
        text = node.sql()
    # sqlglot has no text for nodes of our own dialect, and fails in many ways; the place is enough.
    except Exception:  # noqa: BLE001
        return f" ({place})" if place is not None else ""
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return f": {text}" + (f" ({place})" if place is not None else "")
