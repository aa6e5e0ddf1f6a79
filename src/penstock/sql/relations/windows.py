"""Windows of table functions, and the rows of a GROUP BY of windows before they have these.

    Group by k, window_start, window_end      ┐ what is between is computed over
    Project k, window_start, window_end, n    │ the rows of the table, because
    Filter n > 0                              │ windows of a size are properties
    Window TUMBLE by ts of a table            ┘ of groups, and not of rows

Rows of other groups of windows come at the ends of these: bounds are columns like others, and a window is one timestamp.
Sessions are those of all rows of their table. So what a condition behind them drops stays in its session, and is left out
of aggregates; a group without any row that satisfies it has no result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.expressions.tree import Expression, Field, columns_of, with_fields
from penstock.sql.functions.windows import TableWindows
from penstock.sql.relations.tree import (
    Correlate,
    Filter,
    OneInput,
    Project,
    Scan,
    SqlRelation,
    names_at,
)

BOUNDS = ("start", "end", "time")
"""Columns of a table function of windows, behind those of its input: as in `SqlColumn.window`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTable(OneInput):
    """Rows with the windows that they are in.

    Attributes:
        spec: The windows.
        partition: Positions of the columns that sessions are about.
    """

    tag: ClassVar[str] = "WindowTable"

    spec: TableWindows
    partition: tuple[int, ...] = ()

    @property
    def state(self) -> str | None:
        """The kept state, in words."""
        return "the rows of sessions that are not over" if self.spec.function == "SESSION" else None

    @property
    def is_bounded(self) -> bool:
        """True if the watermark says when what it keeps is forgotten."""
        return True

    def __str__(self) -> str:
        by = names_at(self.columns, self.partition)
        return f"Window {self.spec}{f' by {by}' if by else ''}"


@dataclass(frozen=True, slots=True)
class WindowRows:
    """Rows of a GROUP BY of windows.

    Attributes:
        input: What the table function reads.
        spec: The windows; None if the rows are those of groups of windows.
        conditions: What `input` must satisfy; rows of sessions must to be aggregated.
        outputs: Columns of the rows, over those of `input`; of a table function the `BOUNDS` are behind these.
    """

    input: SqlRelation
    spec: TableWindows | None
    conditions: tuple[Expression, ...]
    outputs: tuple[Expression, ...]

    @property
    def has_sessions(self) -> bool:
        """True if the windows are sessions."""
        return self.spec is not None and self.spec.function == "SESSION"

    def bound(self, at: int) -> str | None:
        """Return the bound of the window that an output is; None if it is another column."""
        made, width = self.outputs[at], len(self.input.columns)
        if isinstance(made, Field) and made.position >= width:
            return BOUNDS[made.position - width]
        return None


def window_rows(relation: SqlRelation, group: int) -> WindowRows | str:
    """Return the rows of a GROUP BY, or why they cannot be had before they have windows."""
    outputs: list[Expression] = [Field("", c.type, at) for at, c in enumerate(relation.columns)]
    conditions: list[Expression] = []
    while isinstance(relation, Filter | Project):
        if isinstance(relation, Filter):
            conditions.append(relation.condition)
        else:
            outputs = [_read_through(each, relation.outputs) for each in outputs]
            conditions = [_read_through(each, relation.outputs) for each in conditions]
        relation = relation.input
    conditions.reverse()
    if relation.tag == "WindowGroupBy":
        return WindowRows(relation, None, tuple(conditions), tuple(outputs))
    if not isinstance(relation, WindowTable):
        return f"its windows are columns of {relation.tag}"
    found = WindowRows(relation.input, relation.spec, tuple(conditions), tuple(outputs))
    return _refused(found, relation, group) or found


def _refused(found: WindowRows, table: WindowTable, group: int) -> str | None:
    """Return why rows cannot be had before they have the windows of a table function."""
    spec, width = table.spec, len(found.input.columns)
    keys = [each for at, each in enumerate(found.outputs[:group]) if found.bound(at) is None]
    parts = {each.position if isinstance(each, Field) else None for each in keys}
    if found.has_sessions and parts != set(table.partition):
        return "its group is not the partition of its sessions"
    if spec.is_instant and spec.zone != "UTC":
        return f"its windows begin by the clock of {spec.zone}"
    outputs = enumerate(found.outputs)
    computed = [each for at, each in outputs if at >= group or found.bound(at) is None]
    if any(at >= width for each in (*computed, *found.conditions) for at in columns_of(each)):
        return "it computes with the bounds of windows"
    if not _is_timestamp(found.input, spec.time):
        return f"{found.input.columns[spec.time].name} is not the timestamp of its rows"
    return None


def _read_through(scalar: Expression, made: tuple[Expression, ...]) -> Expression:
    """Return an expression over what a selection reads, of one over what it makes."""
    return with_fields(scalar, lambda column: made[column.position])


def _is_timestamp(relation: SqlRelation, at: int) -> bool:
    """Return whether the values of a column are the timestamps of rows; joins and OVER emit rows at other times."""
    if isinstance(relation, Scan):
        return relation.columns[at].is_time
    if isinstance(relation, Project):
        made = relation.outputs[at]
        return isinstance(made, Field) and _is_timestamp(relation.input, made.position)
    if isinstance(relation, Filter | Correlate):
        return at < len(relation.input.columns) and _is_timestamp(relation.input, at)
    if relation.tag == "Union":
        return all(_is_timestamp(each, at) for each in relation.inputs)
    return relation.tag == "WindowGroupBy" and relation.columns[at].window == "time"


def scanned(relation: SqlRelation, at: int) -> list[tuple[Scan, int]]:
    """Return the columns of tables that a column of timestamps is read from; see `window_rows`."""
    if isinstance(relation, Scan):
        return [(relation, at)]
    if isinstance(relation, Project):
        made = relation.outputs[at]
        assert isinstance(made, Field), "timestamps are not computed"
        return scanned(relation.input, made.position)
    if isinstance(relation, Filter | Correlate):
        return scanned(relation.input, at)
    parts = relation.inputs if relation.tag == "Union" else ()
    return [each for part in parts for each in scanned(part, at)]
