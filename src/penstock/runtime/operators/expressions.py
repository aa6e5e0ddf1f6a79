"""The operator of expressions of columns: conditions and selections, a batch of records at a time."""

from __future__ import annotations

from typing import Any

from penstock.expressions.arrow.records import ChainEvaluation
from penstock.expressions.steps import ExpressionChain
from penstock.program.operator_spec import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.operators.base import Operator


class ExpressionOperator(Operator):
    """Evaluates a chain of steps. It calls no function of the user's."""

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        super().__init__(spec, output, context)
        chain = spec.function
        assert isinstance(chain, ExpressionChain), "the API makes no other"
        self._names = chain.records.field_names
        self._chain = ChainEvaluation(chain, spec.name, spec.origin)

    def reads(self, schema: Any) -> bool:
        """Return whether Arrow columns of a source have the names of the fields of its records."""
        return tuple(schema.names) == tuple(self._names)

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch of records."""
        results, stamps = self._chain.of_records(values, timestamps)
        if results:
            self.output.collect(results, stamps)

    def collect_columns(self, batch: Any) -> None:
        """Process a non-empty Arrow batch of a source, whose records have no timestamps."""
        self.records_in += batch.num_rows
        results = self._chain.of_columns(batch)
        if results:
            self.output.collect(results, None)
