"""The tree of relations.

Each relation knows its columns, by which sets of columns its rows are unique, and how its rows change. `lowering` makes
operators of it, and EXPLAIN shows it. Expression expressions in it read columns by position.

    Filter #2 > 10 [insert-only]
      Scan orders [insert-only]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.expressions.tree import Expression, Field
from penstock.sql.catalogue import Changelog, SqlColumn, SqlTable
from penstock.sql.functions.correlate import CorrelateSpec

Key = frozenset[int]
"""Positions of columns by which rows are unique."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlRelation:
    """Base of relations.

    Attributes:
        columns: In order.
        keys: Sets of columns by which rows are unique; empty if none are known.
        changelog: How rows change those before.
        tag: Name of the relation in the identity of its state; fixed, whatever the class is called.
    """

    tag: ClassVar[str]

    columns: tuple[SqlColumn, ...]
    keys: frozenset[Key] = frozenset()
    changelog: Changelog = Changelog.INSERT_ONLY

    @property
    def inputs(self) -> tuple[SqlRelation, ...]:
        """The relations it reads."""
        return ()

    @property
    def form(self) -> int:
        """Number of the form of its state. A change of what the operator stores raises it.

        So a savepoint with the earlier form is refused by name.
        """
        return 1

    @property
    def state(self) -> str | None:
        """The kept state, in words; None without state."""
        return None

    @property
    def is_bounded(self) -> bool:
        """True if the watermark says when what it keeps is forgotten."""
        return False

    @property
    def is_forgotten(self) -> bool:
        """True if `table.exec.state.ttl` says when what it keeps is forgotten."""
        return not self.is_bounded

    @property
    def is_insert_only(self) -> bool:
        """True if nothing is taken back."""
        return self.changelog is Changelog.INSERT_ONLY

    def __str__(self) -> str:
        return type(self).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(SqlRelation):
    """The rows of a table.

    Attributes:
        name: Of the table.
        table: The table.
    """

    tag: ClassVar[str] = "Scan"

    name: str
    table: SqlTable = field(compare=False)

    def __str__(self) -> str:
        return f"Scan {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Values(SqlRelation):
    """Constant rows.

    Attributes:
        rows: Values of each row.
    """

    tag: ClassVar[str] = "Values"

    rows: tuple[tuple[Any, ...], ...]

    def __str__(self) -> str:
        return f"Values {len(self.rows)} rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneInput(SqlRelation):
    """Base of relations of the rows of one other.

    Attributes:
        input: The rows.
    """

    input: SqlRelation

    @property
    def inputs(self) -> tuple[SqlRelation, ...]:
        """The relations it reads."""
        return (self.input,)


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoInputs(SqlRelation):
    """Base of joins.

    Attributes:
        left: The left side.
        right: The right side.
        left_keys: Expressions of the left side.
        right_keys: Expressions of the right side that must be equal to them, and not NULL.
        condition: What rows must satisfy in addition, over the columns of both; None is nothing.
    """

    left: SqlRelation
    right: SqlRelation
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    condition: Expression | None

    @property
    def inputs(self) -> tuple[SqlRelation, ...]:
        """The relations it reads."""
        return (self.left, self.right)

    def compared(self) -> str:
        """Return what is compared, as text."""
        pairs = zip(self.left_keys, self.right_keys, strict=True)
        on = " and ".join(f"{left} = {right}" for left, right in pairs) or "all rows"
        return on if self.condition is None else f"{on} where {self.condition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(OneInput):
    """The rows for which a condition is true.

    Attributes:
        condition: Of type BOOLEAN.
    """

    tag: ClassVar[str] = "Filter"

    condition: Expression

    def __str__(self) -> str:
        return f"Filter {self.condition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project(OneInput):
    """Rows of expressions.

    Attributes:
        outputs: An expression per column.
    """

    tag: ClassVar[str] = "Project"

    outputs: tuple[Expression, ...]

    def __str__(self) -> str:
        def shown(column: SqlColumn, made: Expression) -> str:
            is_same = isinstance(made, Field) and str(made) == column.name
            return column.name if is_same else f"{column.name}={made}"

        pairs = zip(self.columns, self.outputs, strict=True)
        return f"Project {', '.join(shown(*pair) for pair in pairs)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlate(OneInput):
    """Rows, each beside the rows that it makes.

    Attributes:
        spec: What makes rows of a row.
        keeps_unmatched: Whether a row of which none is made stays, beside NULL.
    """

    tag: ClassVar[str] = "Correlate"

    spec: CorrelateSpec
    keeps_unmatched: bool

    def __str__(self) -> str:
        return f"{'Left correlate' if self.keeps_unmatched else 'Correlate'} {self.spec}"


def names_at(columns: Sequence[SqlColumn], positions: Sequence[int]) -> str:
    """Return the names of the columns at some positions, as text."""
    return ", ".join(columns[at].name for at in positions)
