"""View of an object in a notebook: a title, facts and tables, of plain text.

Classes return the content of their card (`ShownAsCard`). Only this module makes HTML, so one place escapes names of
users. A card uses no styles and no scripts: notebooks remove both, or have colours of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from penstock.errors import encodable

_MOST_CHARS = 2_000
_MOST_ROWS = 500


@dataclass(frozen=True, slots=True)
class CardTable:
    """A table of a card.

    Attributes:
        title: Its title, empty without one.
        rows: Its cells, of any values; `str` shows them.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True)
class Card:
    """View of an object.

    Attributes:
        facts: Name of a fact to its value. None is not shown.
        tables: Its tables; empty ones are not shown.
    """

    title: str
    facts: Mapping[str, object] = field(default_factory=dict)
    problem: str = ""
    tables: Sequence[CardTable] = ()

    def to_html(self) -> str:
        """Return it as HTML.

        Examples:
            >>> Card("<b>", {"a": 1}).to_html()
            '<div class="tex2jax_ignore mathjax_ignore"><p><strong>&lt;b&gt;</strong></p><p>a: 1</p></div>'
        """
        parts = [f"<p><strong>{_text(self.title)}</strong></p>"] if self.title else []
        facts = [f"{_text(name)}: {_text(value)}" for name, value in self._known()]
        if facts:
            parts.append(f"<p>{' · '.join(facts)}</p>")
        if self.problem:
            parts.append(f"<pre>{_text(self.problem)}</pre>")
        parts += [_table(table) for table in self.tables if table.rows]
        # A name such as $n$ is a name, and no formula.
        return f'<div class="tex2jax_ignore mathjax_ignore">{"".join(parts)}</div>'

    def to_text(self) -> str:
        """Return it as text.

        Examples:
            >>> print(Card("job", {"records": 3}, tables=[CardTable("", ["n"], [[1], [20]])]).to_text())
            job
            records: 3
            n
            1
            20
        """
        lines = [self.title] if self.title else []
        lines += [f"{name}: {value}" for name, value in self._known()]
        lines += [self.problem] if self.problem else []
        for table in self.tables:
            lines += _lines(table)
        return "\n".join(lines)

    def _known(self) -> list[tuple[str, object]]:
        return [(name, value) for name, value in self.facts.items() if value is not None]


class ShownAsCard(ABC):
    """Base of what a notebook shows as a card; elsewhere `repr` is as it was."""

    __slots__ = ()

    @abstractmethod
    def _card(self) -> Card:
        """Return the card, without running code of the program or reading from outside."""

    def _repr_html_(self) -> str:
        """Return the card as HTML; notebooks call it."""
        return self._card().to_html()


def _text(value: object) -> str:
    text = encodable(str(value))
    return escape(text if len(text) <= _MOST_CHARS else f"{text[: _MOST_CHARS - 1]}…")


def _table(table: CardTable) -> str:
    title = f"<caption>{_text(table.title)}</caption>" if table.title else ""
    head = "".join(f"<th>{_text(name)}</th>" for name in table.columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{_text(value)}</td>' for value in row)}</tr>"
        for row in table.rows[:_MOST_ROWS]
    )
    left = len(table.rows) - _MOST_ROWS
    more = f"<p>and {left:,} more</p>" if left > 0 else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _lines(table: CardTable) -> Iterable[str]:
    if not table.rows:
        return []
    cells = [list(table.columns), *([str(value) for value in row] for row in table.rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(table.columns))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    return [*([table.title] if table.title else []), *lines]
