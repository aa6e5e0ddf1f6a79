"""Groups, windows of table functions, and the rows of a GROUP BY of windows before they have these.

    Group by k, window_start, window_end      ┐ what is between is computed over
    Project k, window_start, window_end, n    │ the rows of the table, because
    Filter n > 0                              │ windows of a size are properties
    Window TUMBLE by ts of a table            ┘ of groups, and not of rows

Rows of other groups of windows come at the ends of these: bounds are columns like others, and a window is one timestamp.
Sessions are those of all rows of their table. So what a condition behind them drops stays in its session, and is left out
of aggregates; a group without any row that satisfies it has no result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from penstock.expressions.tree import Expression, Field, columns_of, with_fields
from penstock.program.windows import RegularWindows
from penstock.relation.parts import AggregateCall, keeping_values
from penstock.relation.tree import (
    Changelog,
    Correlate,
    Filter,
    OneInput,
    Project,
    Relation,
    Scan,
    SqlColumn,
    Union,
    names_at,
)

BOUNDS = ("start", "end", "time")
"""Columns of a table function of windows, behind those of its input: as in `SqlColumn.window`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBy(OneInput):
    """A row per group; the first columns of its input are the group, and the aggregates read the others.

    Attributes:
        ttl_ms: Time after which a group is forgotten, of a hint; None takes that of the job.
    """

    tag: ClassVar[str] = "GroupBy"

    group: int
    calls: tuple[AggregateCall, ...]
    ttl_ms: int | None = None

    @property
    def form(self) -> int:
        """Number of the form of its state: that of parts, or of parts with the number of rows."""
        return 2 if self.input.is_insert_only else 3

    @property
    def state(self) -> str | None:
        """The kept state, in words."""
        of_values = keeping_values(self.calls, is_insert_only=self.input.is_insert_only)
        more = f", all values of {', '.join(map(str, of_values))}" if of_values else ""
        return f"an accumulator per group{more}"

    def __str__(self) -> str:
        by = names_at(self.columns, range(self.group)) or "nothing"
        named = zip(self.columns[self.group :], self.calls, strict=True)
        calls = ", ".join(f"{column.name}={call}" for column, call in named)
        return f"Group by {by}: {calls}" if calls else f"Distinct {by}"


@dataclass(frozen=True, slots=True)
class TableWindows:
    """The windows of a table function.

    Attributes:
        function: `TUMBLE`, `HOP`, `CUMULATE` or `SESSION`.
        time: Position of the column with the time of a row.
        is_instant: Whether that is a TIMESTAMP_LTZ.
        size_ms: Length of a window, of a session the gap.
        step_ms: Distance of starts (HOP) or of ends (CUMULATE).
        offset_ms: By which all windows are later.
        zone: Zone of the days and hours of windows of a TIMESTAMP_LTZ.
    """

    function: str
    time: int
    is_instant: bool
    size_ms: int
    step_ms: int
    offset_ms: int = 0
    zone: str = "UTC"

    @property
    def regular(self) -> RegularWindows:
        """The windows, of a function other than `SESSION`."""
        grows = self.function == "CUMULATE" and self.step_ms < self.size_ms
        return RegularWindows(self.size_ms, self.step_ms, self.offset_ms, grows=grows)

    def __str__(self) -> str:
        step = "" if self.step_ms == self.size_ms else f" every {self.step_ms} ms"
        return f"{self.function} of {self.size_ms} ms{step}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTable(OneInput):
    """Rows with the windows that they are in.

    Attributes:
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
        """True if the watermark bounds its state."""
        return True

    def __str__(self) -> str:
        by = names_at(self.columns, self.partition)
        return f"Window {self.spec}{f' by {by}' if by else ''}"


@dataclass(frozen=True, slots=True)
class WindowRows:
    """Rows of a GROUP BY of windows.

    Attributes:
        spec: The windows; None if the rows are those of groups of windows.
        conditions: Conditions on the rows of `input`; for sessions, on the rows that are aggregated.
        outputs: Columns of the rows, over those of `input`; of a table function the `BOUNDS` are behind these.
    """

    input: Relation
    spec: TableWindows | None
    conditions: tuple[Expression, ...]
    outputs: tuple[Expression, ...]

    @property
    def has_sessions(self) -> bool:
        """True if the windows are sessions."""
        return self.spec is not None and self.spec.function == "SESSION"

    def bound(self, position: int) -> str | None:
        """Return the bound of the window that an output is; None if it is another column."""
        output, width = self.outputs[position], len(self.input.columns)
        if isinstance(output, Field) and output.position >= width:
            return BOUNDS[output.position - width]
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowGroupBy(GroupBy):
    """A row per group of a window, when the window is over."""

    tag: ClassVar[str] = "WindowGroupBy"

    @property
    def rows(self) -> WindowRows | str:
        """The rows before they have windows, or why each row gets its windows in Python."""
        window = window_rows(self.input, self.group)
        spec = None if isinstance(window, str) else window.spec
        has_one = spec is None or spec.function == "TUMBLE"
        if not has_one and any(call.user is not None for call in self.calls):
            return "a function of the user takes the rows of a window in order of arrival"
        return window

    @property
    def state(self) -> str | None:
        """The kept state, in words."""
        return "an accumulator per group of the windows that are not over"

    @property
    def is_bounded(self) -> bool:
        """True if the watermark bounds its state."""
        return True

    def __str__(self) -> str:
        because = f" (rows in Python: {self.rows})" if isinstance(self.rows, str) else ""
        return f"Window {GroupBy.__str__(self).lower()}{because}"


def window_rows(relation: Relation, group: int) -> WindowRows | str:
    """Return the rows of a GROUP BY, or why they cannot be had before they have windows."""
    outputs: list[Expression] = [
        Field("", c.type, position) for position, c in enumerate(relation.columns)
    ]
    conditions: list[Expression] = []
    while isinstance(relation, Filter | Project):
        if isinstance(relation, Filter):
            conditions.append(relation.condition)
        else:
            outputs = [read_through(output, relation.outputs) for output in outputs]
            conditions = [read_through(condition, relation.outputs) for condition in conditions]
        relation = relation.input
    conditions.reverse()
    if isinstance(relation, WindowGroupBy):
        return WindowRows(relation, None, tuple(conditions), tuple(outputs))
    if not isinstance(relation, WindowTable):
        return f"its windows are columns of {relation.tag}"
    window = WindowRows(relation.input, relation.spec, tuple(conditions), tuple(outputs))
    return _refused(window, relation, group) or window


def _refused(window_rows: WindowRows, table: WindowTable, group: int) -> str | None:
    """Return why rows cannot be had before they have the windows of a table function."""
    spec, width = table.spec, len(window_rows.input.columns)
    keys = [
        output
        for position, output in enumerate(window_rows.outputs[:group])
        if window_rows.bound(position) is None
    ]
    parts = {key.position if isinstance(key, Field) else None for key in keys}
    if window_rows.has_sessions and parts != set(table.partition):
        return "its group is not the partition of its sessions"
    if spec.is_instant and spec.zone != "UTC":
        return f"its windows begin by the clock of {spec.zone}"
    outputs = enumerate(window_rows.outputs)
    computed = [
        output
        for position, output in outputs
        if position >= group or window_rows.bound(position) is None
    ]
    if any(
        position >= width
        for expression in (*computed, *window_rows.conditions)
        for position in columns_of(expression)
    ):
        return "it computes with the bounds of windows"
    if scanned(window_rows.input, spec.time) is None:
        return f"{window_rows.input.columns[spec.time].name} is not the timestamp of its rows"
    return None


def read_through(scalar: Expression, outputs: tuple[Expression, ...]) -> Expression:
    """Return an expression over what a selection reads, of one over what it makes."""
    return with_fields(scalar, lambda column: outputs[column.position])


def scanned(relation: Relation, position: int) -> list[tuple[Scan, int]] | None:
    """Return the event times of tables that a column of timestamps is read from, None if it is no such column.

    Joins and OVER emit rows at other times.
    """
    if isinstance(relation, Scan):
        return [(relation, position)] if relation.columns[position].is_time else None
    if isinstance(relation, Project):
        output = relation.outputs[position]
        return scanned(relation.input, output.position) if isinstance(output, Field) else None
    if isinstance(relation, Filter | Correlate):
        return scanned(relation.input, position) if position < len(relation.input.columns) else None
    if isinstance(relation, Union):
        parts = [scanned(source, position) for source in relation.inputs]
        return None if None in parts else [scan for part in parts for scan in part or ()]
    is_time = isinstance(relation, WindowGroupBy) and relation.columns[position].window == "time"
    return [] if is_time else None


def aggregated(
    relation: Relation, group: int, calls: tuple[AggregateCall, ...], names: tuple[str, ...]
) -> Relation:
    """Return a row per group."""
    results = (SqlColumn(name, call.result) for name, call in zip(names, calls, strict=True))
    key_columns = relation.columns[:group]
    keys = frozenset({frozenset(range(group))})
    if relation.is_insert_only and {"start", "end"} <= {column.window for column in key_columns}:
        key_columns = tuple(
            replace(column, is_time=column.window == "time") for column in key_columns
        )
        return WindowGroupBy(
            input=relation, group=group, calls=calls, columns=(*key_columns, *results), keys=keys
        )
    key_columns = tuple(SqlColumn(column.name, column.type) for column in key_columns)
    return GroupBy(
        input=relation,
        group=group,
        calls=calls,
        columns=(*key_columns, *results),
        keys=keys,
        changelog=Changelog.INSERT_ONLY
        if not calls and relation.is_insert_only
        else Changelog.RETRACT,
    )
