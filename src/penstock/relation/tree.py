"""The tree of relations: a query as frozen values with types, keys and changelog modes.

Each relation has its columns, the sets of columns by which its rows are unique, and its changelog mode. SQL binds its statements to
relations, its lowering makes operators of them, Spark SQL computes those that have the same rows there, and EXPLAIN shows them.
Expressions in them read columns by position.

    Filter #2 > 10 [insert-only]
      Scan orders [insert-only]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, ClassVar

from penstock.expressions.tree import Call, Expression, Field, shifted
from penstock.types import TypeInformation
from penstock.types.sql_types import BOOLEAN, SqlType


class Changelog(Enum):
    """Effect of the rows of a stream on earlier ones: Flink's changelog modes."""

    INSERT_ONLY = "insert-only"
    """Every row is `+I`: no row is taken back."""

    UPSERT = "upsert"
    """A row of a key replaces the one before; `-D` removes it, and may have no more than the key."""

    RETRACT = "retract"
    """A row that changes is first taken back as it was, by `-U` or `-D`."""


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A column of a table or of a relation.

    Attributes:
        name: As statements write it.
        is_time: Whether it is the event time of the rows: their timestamps are its values, and watermarks
            are about it.
        window: Which bound of the window of the row it is, `start` or `end`; empty if none.
        lag_ms: How many milliseconds behind the watermark the event time may be: a join keeps rows back.
    """

    name: str
    type: SqlType
    is_time: bool = False
    window: str = ""
    lag_ms: int = 0


Key = frozenset[int]
"""Positions of columns by which rows are unique."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
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
    def inputs(self) -> tuple[Relation, ...]:
        """The relations it reads."""
        return ()

    @property
    def form(self) -> int:
        """Number of the form of its state. A change of the stored form of the operator raises it.

        So a savepoint with the earlier form is refused by name.
        """
        return 1

    @property
    def state(self) -> str | None:
        """The kept state, in words; None without state."""
        return None

    @property
    def is_bounded(self) -> bool:
        """True if the watermark bounds its state."""
        return False

    @property
    def is_forgotten(self) -> bool:
        """True if `table.exec.state.ttl` limits its state."""
        return not self.is_bounded

    @property
    def is_insert_only(self) -> bool:
        """True if no row is taken back."""
        return self.changelog is Changelog.INSERT_ONLY

    def __str__(self) -> str:
        return type(self).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(Relation):
    """The rows of a table.

    Attributes:
        table: The table, which makes its stream; of columns the stream.
    """

    tag: ClassVar[str] = "Scan"

    name: str
    table: Any = field(compare=False)

    def __str__(self) -> str:
        return f"Scan {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Values(Relation):
    """Constant rows."""

    tag: ClassVar[str] = "Values"

    rows: tuple[tuple[Any, ...], ...]

    def __str__(self) -> str:
        return f"Values {len(self.rows)} rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneInput(Relation):
    """Base of relations of the rows of one other."""

    input: Relation

    @property
    def inputs(self) -> tuple[Relation, ...]:
        """The relations it reads."""
        return (self.input,)


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoInputs(Relation):
    """Base of joins.

    Attributes:
        left_keys: Expressions of the left side.
        right_keys: Expressions of the right side that must be equal to them, and not NULL.
        condition: Further condition on a pair, over the columns of both; None if there is none.
    """

    left: Relation
    right: Relation
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    condition: Expression | None

    @property
    def inputs(self) -> tuple[Relation, ...]:
        """The relations it reads."""
        return (self.left, self.right)

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """All that pairs must satisfy, over the columns of both sides."""
        width = len(self.left.columns)
        equal = (
            Call("equal", (left, shifted(right, width)), kind=BOOLEAN)
            for left, right in zip(self.left_keys, self.right_keys, strict=True)
        )
        return (*equal, *(() if self.condition is None else (self.condition,)))

    def compared(self) -> str:
        """Return what is compared, as text."""
        pairs = zip(self.left_keys, self.right_keys, strict=True)
        on = " and ".join(f"{left} = {right}" for left, right in pairs) or "all rows"
        return on if self.condition is None else f"{on} where {self.condition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(OneInput):
    """The rows for which a condition is true."""

    tag: ClassVar[str] = "Filter"

    condition: Expression

    def __str__(self) -> str:
        return f"Filter {self.condition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project(OneInput):
    """Rows of expressions."""

    tag: ClassVar[str] = "Project"

    outputs: tuple[Expression, ...]

    def __str__(self) -> str:
        def shown(column: SqlColumn, expression: Expression) -> str:
            is_same = isinstance(expression, Field) and str(expression) == column.name
            return column.name if is_same else f"{column.name}={expression}"

        pairs = zip(self.columns, self.outputs, strict=True)
        return f"Project {', '.join(shown(*pair) for pair in pairs)}"


@dataclass(frozen=True, slots=True)
class CorrelateSpec:
    """The function that makes rows of a row.

    Attributes:
        kind: `array`, `rows` (an array of them), `map`, `call`, or `copies` (a number of rows without columns).
        arguments: The array or map, or the arguments of the function.
        with_number: Whether the number of the row, from 1, is the last column.
        width: Number of columns that it makes.
    """

    kind: str
    arguments: tuple[Expression, ...]
    with_number: bool = False
    width: int = 0
    function: Any = field(default=None, compare=False)
    name: str = ""
    result: TypeInformation | None = None

    def __str__(self) -> str:
        name = self.name if self.kind in {"call", "copies"} else "UNNEST"
        return f"{name}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlate(OneInput):
    """Rows, each beside the rows that it makes.

    Attributes:
        keeps_unmatched: Whether a row without results stays, beside NULL.
    """

    tag: ClassVar[str] = "Correlate"

    spec: CorrelateSpec
    keeps_unmatched: bool

    def __str__(self) -> str:
        return f"{'Left correlate' if self.keeps_unmatched else 'Correlate'} {self.spec}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Relation):
    """All rows of some relations of the same types."""

    tag: ClassVar[str] = "Union"

    parts: tuple[Relation, ...]

    @property
    def inputs(self) -> tuple[Relation, ...]:
        """The relations it reads."""
        return self.parts

    def __str__(self) -> str:
        return "Union all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalize(OneInput):
    """An upsert changelog with the rows that it replaces: what a join or an aggregation needs."""

    tag: ClassVar[str] = "Normalize"

    key: tuple[int, ...]

    @property
    def state(self) -> str | None:
        """The kept state, in words."""
        return "the last row of each key"

    def __str__(self) -> str:
        return f"Normalize by {names_at(self.columns, self.key)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delayed(OneInput):
    """The same rows, with watermarks that stay behind until no row is late.

    Attributes:
        lag_ms: How far they stay behind.
    """

    tag: ClassVar[str] = "Delayed"

    lag_ms: int

    def __str__(self) -> str:
        return f"Watermark {self.lag_ms} ms behind"


def relations_of(relation: Relation) -> Iterator[Relation]:
    """Yield the relations below one, each behind those that it reads and once, and then itself."""
    todo, known = [relation], set[int]()
    while todo:
        current = todo[-1]
        waiting = [source for source in current.inputs if id(source) not in known]
        if waiting:
            todo += reversed(waiting)
            continue
        todo.pop()
        if id(current) not in known:
            known.add(id(current))
            yield current


def names_at(columns: Sequence[SqlColumn], positions: Sequence[int]) -> str:
    """Return the names of the columns at some positions, as text."""
    return ", ".join(columns[position].name for position in positions)


def distinct_names(columns: Sequence[SqlColumn]) -> tuple[SqlColumn, ...]:
    """Return columns, of which those of equal names get a number, as in Flink: `a`, `a0`, `a1`."""
    distinct: list[SqlColumn] = []
    taken = set()
    for column in columns:
        name, number = column.name, 0
        while name in taken:
            name, number = f"{column.name}{number}", number + 1
        taken.add(name)
        distinct.append(replace(column, name=name))
    return tuple(distinct)


def union(parts: tuple[Relation, ...]) -> Union:
    """Return all rows of some relations, with the columns of the first."""
    is_insert_only = all(part.is_insert_only for part in parts)
    columns = tuple(
        SqlColumn(
            of_first.name,
            of_first.type,
            is_time=all(part.columns[position].is_time for part in parts),
            window=of_first.window
            if all(part.columns[position].window == of_first.window for part in parts)
            else "",
            lag_ms=max(part.columns[position].lag_ms for part in parts),
        )
        for position, of_first in enumerate(parts[0].columns)
    )
    return Union(
        parts=parts,
        columns=columns,
        changelog=Changelog.INSERT_ONLY if is_insert_only else Changelog.RETRACT,
    )


def in_time(relation: Relation, position: int) -> Relation:
    """Return rows whose event times are never behind the watermark, if one of them is to be used."""
    if not relation.columns[position].lag_ms:
        return relation
    lag_ms = max(column.lag_ms for column in relation.columns)
    columns = tuple(replace(column, lag_ms=0) for column in relation.columns)
    return Delayed(
        input=relation,
        lag_ms=lag_ms,
        columns=columns,
        keys=relation.keys,
        changelog=relation.changelog,
    )
