"""Evaluates a chain of steps for batches of records, or of columns that a source has read.

    records ──▶ columns that conditions and functions read ──▶ kernels ──▶ records

Only fields that an expression computes with become Arrow columns. A `where` passes on the records themselves,
and a field that is only selected is never converted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any

import pyarrow as pa

from penstock.errors import ArgumentError, CallSite, ExpressionError
from penstock.expressions.aggregates import is_name_of_part, part_in_words
from penstock.expressions.arrow.evaluation import WEIGHTS, Batch, Evaluate, evaluation
from penstock.expressions.kinds import LONG
from penstock.expressions.steps import ExpressionChain, SelectStep, WhereStep
from penstock.expressions.tree import Expression, Field
from penstock.types.arrow import (
    arrow_array,
    arrow_schema,
    arrow_type,
    columns_to_lists,
    field_lists,
)
from penstock.types.base import TypeInformation
from penstock.types.records import RowTypeInfo
from penstock.types.row import TAKEN_BACK, Row, RowKind, row_factory
from penstock.user_failure import short

_HINT = (
    "Choose such records out before with where, compute only for others with when(…).otherwise(…), or "
    "cast to a wider type."
)


class _Column:
    """The values of one field, as Python values, as an array, or both."""

    __slots__ = ("array", "name", "type_info", "values")

    def __init__(
        self,
        name: str,
        type_info: TypeInformation,
        values: Sequence[Any] | None = None,
        array: pa.Array | None = None,
    ) -> None:
        self.name = name
        self.type_info = type_info
        self.values = values
        self.array = array

    def as_array(self) -> pa.Array:
        declared = arrow_type(self.type_info)
        if self.array is None:
            assert self.values is not None, "a column has one of them"
            self.array = arrow_array(self.name, self.type_info, self.values)
        elif self.array.type != declared:  # text of another width, a timestamp of another zone
            return self.array.cast(declared)
        return self.array

    def as_values(self) -> Sequence[Any]:
        if self.values is None:
            batch = pa.RecordBatch.from_arrays([self.array], names=[self.name])
            (self.values,) = columns_to_lists(batch)
        return self.values

    def chosen(self, mask: pa.Array, flags: list[bool]) -> _Column:
        values = None if self.values is None else list(compress(self.values, flags))
        array = self.array if self.array is None or values is not None else self.array.filter(mask)
        return _Column(self.name, self.type_info, values, None if values is not None else array)


class _Table:
    """Records between two steps."""

    __slots__ = ("columns", "kinds", "length", "lists", "records", "stamps")

    def __init__(
        self,
        length: int,
        columns: dict[str, _Column],
        records: list[Any] | None = None,
        lists: Sequence[Sequence[Any]] | None = None,
        stamps: list[int] | None = None,
        kinds: list[RowKind] | None = None,
    ) -> None:
        self.length = length
        self.columns = columns
        self.records = records
        self.lists = lists
        self.stamps = stamps
        self.kinds = kinds

    def chosen(self, mask: pa.Array) -> _Table:
        flags = mask.to_pylist()

        def kept(values: Any) -> Any:
            return None if values is None else list(compress(values, flags))

        return _Table(
            sum(flags),
            {name: column.chosen(mask, flags) for name, column in self.columns.items()},
            *map(kept, (self.records, self.lists, self.stamps, self.kinds)),
        )

    def weights(self) -> pa.Array:
        """Return 1 of each record that is added, -1 of each that is taken back."""
        if self.kinds is None:
            return pa.repeat(pa.scalar(1, pa.int64()), self.length)
        return pa.array([-1 if kind in TAKEN_BACK else 1 for kind in self.kinds], pa.int64())


_Apply = Callable[[_Table], _Table]


class ChainEvaluation:
    """A chain of steps, ready to be evaluated."""

    def __init__(
        self,
        chain: ExpressionChain,
        name: str,
        origin: CallSite | None,
        *,
        beside: Sequence[str] = (),
        keys: int = 0,
    ) -> None:
        """Prepare the steps.

        The values of the last fields, `beside`, are given beside records. Messages show the first fields, `keys`, in
        place of a record.
        """
        self._keys = keys
        needed = chain.needed()
        self._name, self._origin = name, origin
        self._records = chain.records if not beside else _without_last(chain.records, len(beside))
        self._takes_changes = chain.takes_changes
        self._reads_weights = chain.reads_weights
        self._makes_rows = any(isinstance(step, SelectStep) for step in chain.steps)
        self._make = row_factory(tuple(chain.type_info.field_names))
        self._fields = dict(zip(chain.records.field_names, chain.records.field_types, strict=True))
        self._positions = {
            name: position for position, name in enumerate(chain.records.field_names)
        }
        self._type = chain.type_info
        self._steps = [self._step(step) for step in needed.steps]

    @property
    def makes_columns(self) -> bool:
        """True if its last step is a selection of values that have a column type."""
        if not self._makes_rows:
            return False
        try:
            arrow_schema(self._type)
        except ArgumentError:
            return False
        return True

    def of_records(
        self,
        values: list[Any],
        timestamps: list[int] | None,
        beside: Mapping[str, list[Any]] | None = None,
    ) -> tuple[list[Any], list[int] | None]:
        """Return the results of a batch of records, with their timestamps; `beside` has fields that the records have not."""
        kinds = self._kinds_of(values)
        table = self._of_records(values, timestamps, kinds, beside or {})
        rows = self._rows(table)
        if table.kinds is not None and not self._reads_weights:
            self._keep_kinds(rows, table.kinds)
        return rows, table.stamps

    def _kinds_of(self, values: list[Any]) -> list[RowKind] | None:
        kinds = _kinds_of(values) if self._makes_rows else None
        if kinds is not None and not self._takes_changes:
            raise self._refused_change(values)
        return kinds

    def _of_records(
        self,
        values: list[Any],
        timestamps: list[int] | None,
        kinds: list[RowKind] | None,
        beside: Mapping[str, list[Any]],
    ) -> _Table:
        def alone(position: int) -> None:
            own = {name: of_all[position : position + 1] for name, of_all in beside.items()}
            self.of_records(values[position : position + 1], None, own)

        lists = field_lists(self._records, values)
        columns = {
            name: _Column(name, self._fields[name], column) for name, column in beside.items()
        }
        return self._run(_Table(len(values), columns, values, lists, timestamps, kinds), alone)

    def of_columns(
        self,
        batch: pa.RecordBatch,
        timestamps: list[int] | None = None,
    ) -> tuple[list[Any], list[int] | None]:
        """Return the results of a batch of columns that have the names of the fields, `beside` too, with their timestamps."""
        table = self._of_columns(batch, timestamps)
        return self._rows(table), table.stamps

    def _of_columns(self, batch: pa.RecordBatch, timestamps: list[int] | None) -> _Table:
        def alone(position: int) -> None:
            self.of_columns(batch.slice(position, 1))

        columns = {
            name: _Column(name, self._fields[name], None, array)
            for name, array in zip(batch.schema.names, batch.columns, strict=True)
        }
        table = _Table(batch.num_rows, columns, stamps=timestamps)
        return self._run(table, alone)

    def columns_of_records(
        self, values: list[Any], timestamps: list[int] | None
    ) -> tuple[pa.RecordBatch, list[int] | None]:
        """Return the results of `of_records` as columns; the last step is a selection."""
        kinds = self._kinds_of(values)
        assert kinds is None or self._reads_weights, "what sends columns emits no changes"
        table = self._of_records(values, timestamps, kinds, {})
        return self._columns(table), table.stamps

    def columns_of(
        self,
        batch: pa.RecordBatch,
        timestamps: list[int] | None = None,
    ) -> tuple[pa.RecordBatch, list[int] | None]:
        """Return the results of `of_columns` as columns; the last step is a selection."""
        table = self._of_columns(batch, timestamps)
        return self._columns(table), table.stamps

    def _columns(self, table: _Table) -> pa.RecordBatch:
        schema = arrow_schema(self._type)
        if table.length == 0:
            return pa.RecordBatch.from_pylist([], schema=schema)
        arrays = [column.as_array() for column in table.columns.values()]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _rows(self, table: _Table) -> list[Any]:
        if table.length == 0:
            return []
        if table.records is not None:
            return table.records
        lists = [column.as_values() for column in table.columns.values()]
        return self._make(map(list, zip(*lists, strict=True)))

    @staticmethod
    def _keep_kinds(rows: list[Any], kinds: list[RowKind]) -> None:
        for row, kind in zip(rows, kinds, strict=True):
            row.set_row_kind(kind)

    def _run(self, table: _Table, alone: Callable[[int], Any]) -> _Table:
        """Apply the steps; if a record has no value, evaluate them `alone` up to that one, which names it."""
        try:
            return self._applied(table)
        except pa.ArrowException as refused:
            if table.length == 1:
                raise self._failure(table, refused) from refused
            for position in range(table.length):
                alone(position)
            raise  # every record alone has a value

    def _applied(self, table: _Table) -> _Table:
        for step in self._steps:
            if table.length:
                table = step(table)
        return table

    def _failure(self, table: _Table, refused: Exception) -> ExpressionError:
        record = (
            {name: column.as_values()[0] for name, column in table.columns.items()}
            if table.records is None
            else table.records[0]
        )
        where = f"record {short(record)}"
        if self._keys:
            values = record.values() if isinstance(record, dict) else record
            where = f"key {short(tuple(values)[: self._keys])}"
        return ExpressionError(
            f"operator {self._name!r} failed on {where}: {refused}",
            hint=_HINT,
            origin=self._origin,
        )

    def _refused_change(self, values: list[Any]) -> ExpressionError:
        change = next(row for row in values if row.get_row_kind() is not RowKind.INSERT)
        return ExpressionError(
            f"operator {self._name!r} got the change {change.get_row_kind()} {short(change)}, but aggregates "
            "only added rows",
            hint="Aggregate the stream before it became a changelog, or keep the last row per key.",
            origin=self._origin,
        )

    def _step(self, step: WhereStep | SelectStep) -> _Apply:
        return self._where(step) if isinstance(step, WhereStep) else self._select(step)

    def _where(self, step: WhereStep) -> _Apply:
        condition = evaluation(step.condition)

        def apply(table: _Table) -> _Table:
            mask = condition(self._batch(table)).fill_null(False)  # noqa: FBT003
            return table if mask.true_count == table.length else table.chosen(mask)

        return apply

    def _select(self, step: SelectStep) -> _Apply:
        outputs = [
            (name, expression, _unless_field(expression)) for name, expression in step.outputs
        ]

        def apply(table: _Table) -> _Table:
            batch = self._batch(table)
            columns = {
                name: self._output(table, batch, name, expression, evaluate)
                for name, expression, evaluate in outputs
            }
            return _Table(table.length, columns, stamps=table.stamps, kinds=table.kinds)

        return apply

    def _output(
        self,
        table: _Table,
        batch: Batch,
        name: str,
        expression: Expression,
        evaluate: Evaluate | None,
    ) -> _Column:
        assert expression.type_info is not None, "the tree has types"
        if evaluate is not None:
            try:
                return _Column(name, expression.type_info, None, evaluate(batch))
            except pa.ArrowException as refused:
                if not is_name_of_part(name):
                    raise
                raise type(refused)(f"{part_in_words(name).rstrip(',')}: {refused}") from refused
        assert isinstance(expression, Field)
        column = self._column(table, expression.name)
        return _Column(name, expression.type_info, column.values, column.array)

    def _batch(self, table: _Table) -> Batch:
        return Batch(
            table.length,
            lambda name: self._column(table, name).as_array(),
            lambda name: self._column(table, name).as_values(),
        )

    def _column(self, table: _Table, name: str) -> _Column:
        if name == WEIGHTS:
            return _Column(name, LONG, None, table.weights())
        column = table.columns.get(name)
        if column is None:
            assert table.lists is not None, "a selection has all columns"
            position = self._positions[name]
            values = [row[position] for row in table.lists]
            column = table.columns[name] = _Column(name, self._fields[name], values)
        return column


def _without_last(records: Any, count: int) -> RowTypeInfo:
    return RowTypeInfo(records.field_types[:-count], records.field_names[:-count])


def _unless_field(expression: Expression) -> Evaluate | None:
    return None if isinstance(expression, Field) else evaluation(expression)


def _kinds_of(records: list[Any]) -> list[RowKind] | None:
    """Return the kinds of rows, None if all are INSERT or the records are tuples."""
    kinds = [record.get_row_kind() for record in records if isinstance(record, Row)]
    return None if kinds.count(RowKind.INSERT) == len(kinds) else kinds
