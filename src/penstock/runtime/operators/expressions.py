"""The operator of expressions of columns: conditions and selections, a batch of records at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from penstock.expressions.arrow.records import ChainEvaluation
from penstock.expressions.steps import ExpressionChain
from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.operators.base import Operator

WriteColumns = Callable[[Any, list[int] | None], None]
"""Takes an Arrow batch and its timestamps."""


@runtime_checkable
class MakesColumns(Protocol):
    """An operator whose results may be columns."""

    @property
    def makes_columns(self) -> bool:
        """True if its results have a form as columns."""

    def send_columns(self, write: WriteColumns, *, only: bool) -> None:
        """Send results as columns from now on, those too that it has as records if they are the only form."""


class ExpressionOperator(Operator):
    """Evaluates a chain of steps. It calls no function of the user's."""

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        chain = spec.function
        assert isinstance(chain, ExpressionChain), "the API makes no other"
        self._names = chain.records.field_names
        self._chain = ChainEvaluation(chain, spec.name, spec.origin)
        self._write: WriteColumns | None = None
        self._only = False

    @property
    def makes_columns(self) -> bool:
        """True if its results have a form as columns."""
        return self._chain.makes_columns

    def send_columns(self, write: WriteColumns, *, only: bool) -> None:
        """Send results as columns from now on."""
        self._write, self._only = write, only

    def reads(self, schema: Any) -> bool:
        """Return whether Arrow columns of a source have the names of the fields of its records."""
        return tuple(schema.names) == tuple(self._names)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch of records."""
        if self._write is not None and self._only:
            columns, stamps = self._chain.columns_of_records(values, timestamps)
            if columns.num_rows:
                self._write(columns, stamps)
            return
        results, stamps = self._chain.of_records(values, timestamps)
        if results:
            self.output.collect(results, stamps)

    def collect_columns(self, batch: Any, timestamps: list[int] | None = None) -> None:
        """Process a non-empty Arrow batch of a source."""
        self.records_in += batch.num_rows
        if self._write is not None:
            columns, stamps = self._chain.columns_of(batch, timestamps)
            if columns.num_rows:
                self._write(columns, stamps)
            return
        results, stamps = self._chain.of_columns(batch, timestamps)
        if results:
            self.output.collect(results, stamps)
