"""Operations on the columns of a stream of rows, written as expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, cast

from penstock.api.streams.columns.as_of_join import as_of_joined
from penstock.api.streams.paired_streams import check_pair
from penstock.api.streams.stream_base import StreamBase
from penstock.api.user_code import called_as
from penstock.errors import ArgumentError
from penstock.expressions.column import ColumnExpression, tree_of
from penstock.expressions.kinds import BOOLEAN
from penstock.expressions.steps import ExpressionChain, SelectStep, Step, WhereStep
from penstock.expressions.tree import Call, Expression, Field
from penstock.expressions.typing import RecordType, record_type, typed
from penstock.graph.logical import Chaining, Continued, Node
from penstock.program.operators import EXPRESSIONS
from penstock.types.row import Row
from penstock.types.type_parameters import T

if TYPE_CHECKING:
    from penstock.api.environment.setting_values import Length
    from penstock.api.streams.data_stream import DataStream


class ColumnOperations(StreamBase[T], Generic[T]):
    """Base of `DataStream`: operations on streams whose type is a row or a tuple."""

    @called_as("where(col.name == value)")
    def where(self, *conditions: ColumnExpression) -> DataStream[T]:
        """Keep the records for which all conditions are true. NULL is not true.

        Operations on columns that follow each other are evaluated together, without making records in
        between; directly behind a DataFrame or files of columns, Spark SQL evaluates them in a batch run.

        Args:
            conditions: Expressions of type BOOLEAN, at least one. A later one is not computed for records
                for which one before is false.

        Returns:
            The other records, with their timestamps and without a key.

        Raises:
            ArgumentError: The stream has no columns, or a condition has another type.
            UnknownFieldError: There is no such column; it names the near ones.

        Example:
            >>> collect(orders.where(col.f1 > 3, col.f0 == "ann"))
            [('ann', 5, 1000), ('ann', 7, 12000)]
        """
        records = record_type(self.get_type(), "where")
        if not conditions or any(condition is None for condition in conditions):
            raise ArgumentError.here("where got no condition", hint="Pass an expression.")
        condition = tree_of(conditions[0])
        for other in conditions[1:]:
            condition = Call("and", (condition, tree_of(other)))
        predicate = typed(condition, records, "where")
        if predicate.type_info != BOOLEAN:
            raise ArgumentError.here(
                f"where got {condition}, which is {predicate.type_info!r}",
                hint="Compare it with something: a condition is true or false.",
            )
        return self._then(WhereStep(predicate), "where")

    def select(self, *columns: ColumnExpression, **named: Any) -> DataStream[Row]:
        """Make a row of columns and of expressions.

        Args:
            columns: Columns, which keep their names, and expressions with an `alias`.
            named: Names with expressions or constants, behind `columns`.

        Returns:
            Rows of the declared type that the expressions have, with the timestamps of their records.

        Raises:
            ArgumentError: The stream has no columns, an expression has no name or no type, or two have
                one name.
            UnknownFieldError: There is no such column; it names the near ones.

        Example:
            >>> collect(orders.select(col.f0.alias("customer"), cents=col.f1 * 100))[:2]
            [Row(customer='ann', cents=500), Row(customer='bob', cents=300)]
        """
        records = record_type(self.get_type(), "select")
        outputs = _outputs(records, columns, named, "select")
        if not outputs:
            raise ArgumentError.here(
                "select got no columns", hint="Pass at least one, such as col.name."
            )
        return self._then(SelectStep(tuple(outputs.items())), "select")

    def with_columns(self, *columns: ColumnExpression, **named: Any) -> DataStream[Row]:
        """Make a row of all columns, of which some are replaced or added.

        Args:
            columns: Expressions with an `alias`. One with the name of a column replaces it.
            named: Names with expressions or constants. All of them read the columns as they were before.

        Returns:
            Rows, with the timestamps of their records.

        Raises:
            ArgumentError: As `select`.
            UnknownFieldError: There is no such column; it names the near ones.

        Example:
            >>> collect(orders.with_columns(f1=col.f1 * 2, large=col.f1 > 4))[:1]
            [Row(f0='ann', f1=10, f2=1000, large=True)]
        """
        records = record_type(self.get_type(), "with_columns")
        kept = zip(records.field_names, records.field_types, strict=True)
        outputs: dict[str, Expression] = {name: Field(name, kind) for name, kind in kept}
        outputs |= _outputs(records, columns, named, "with_columns")
        return self._then(SelectStep(tuple(outputs.items())), "with_columns")

    @called_as("as_of_join(other, by=col.name)")
    def as_of_join(
        self,
        other: DataStream[Any],
        *,
        by: ColumnExpression | Sequence[ColumnExpression],
        tolerance: Length | None = None,
        direction: str = "backward",
        allow_exact_matches: bool = True,
    ) -> DataStream[Row]:
        """Join each row with the row of another stream that is nearest in time, such as the price at the time of an order.

        Times are timestamps of records: assign them and watermarks to both streams before. A row is joined when the
        watermark shows that no nearer one can come, so the answer is the same in history and live. Rows behind the
        watermark are late and are dropped, as by an interval join; `numLateRecordsDropped` counts them. State is kept of
        what is ahead of the watermark, and of one row of `other` per key.

        Args:
            other: The other rows.
            by: Columns that must be equal, of the same name and type on both sides; NULL equals NULL.
            tolerance: Greatest difference of times: milliseconds, `timedelta`, `Duration` or `Time`; None is any.
            direction: `backward` joins the last row that is not later, `forward` the first one that is not earlier,
                `nearest` the nearer of both, and the earlier one if both are as near.
            allow_exact_matches: True if a row of the same time is joined. Among several rows of one time `forward` joins
                the first that arrived, the others the last.

        Returns:
            All columns of this stream, then those of `other` without `by`, NULL where there is no such row. A row has the
            time at which its answer was certain: looking backward its own.

        Raises:
            ArgumentError: A stream has no columns, a column is on both sides, or an argument is wrong.
            UnknownFieldError: A side has no such column; it names the near ones.

        Example:
            >>> prices = orders.select(col.f0.alias("who"), price=col.f1)
            >>> amounts = orders.select(col.f0.alias("who"), amount=col.f1 * 10)
            >>> sorted(collect(amounts.as_of_join(prices, by=col.who)), key=str)[:2]
            [Row(who='ann', amount=50, price=5), Row(who='ann', amount=70, price=7)]
        """
        check_pair(self, other, "as_of_join", ColumnOperations, "DataStream")
        return as_of_joined(
            cast("DataStream[Any]", self),
            other,
            by,
            tolerance=tolerance,
            direction=direction,
            allow_exact_matches=allow_exact_matches,
        )

    def _then(self, step: Step, name: str) -> DataStream[Any]:
        return self._evaluate(ExpressionChain(record_type(self.get_type(), name), (step,)), name)

    def _evaluate(self, chain: ExpressionChain, name: str) -> DataStream[Any]:
        """Return the results of a chain of steps that reads this stream.

        It is evaluated with the chain of the operator before, if that has no settings of its own.
        """
        before = self._graph.node(self._node_id)
        if before.kind != EXPRESSIONS or not _has_no_settings(before):
            return self._add(EXPRESSIONS, name, (before.id,), chain.type_info, function=chain)
        return self._add(
            EXPRESSIONS,
            f"{before.name}, {name}",
            before.inputs,
            chain.type_info,
            function=before.function.followed_by(chain),
            continued=Continued(before, chain),
        )


def _has_no_settings(node: Node) -> bool:
    return (
        node.uid is None
        and node.parallelism is None
        and node.is_parallel
        and node.chaining is Chaining.ALWAYS
        and node.description is None
    )


def _outputs(
    records: RecordType,
    columns: tuple[ColumnExpression, ...],
    named: dict[str, Any],
    operation: str,
) -> dict[str, Expression]:
    """Return names with typed expressions.

    Raises:
        ArgumentError: An expression has no name, or two have one name.
    """
    outputs: dict[str, Expression] = {}
    for column in columns:
        if not isinstance(column, ColumnExpression) or column.name is None:
            shown = column.tree if isinstance(column, ColumnExpression) else repr(column)
            raise ArgumentError.here(
                f"{operation} got {shown}, which has no name",
                hint="Write name=expression, or expression.alias(name).",
            )
        if column.name in outputs or column.name in named:
            raise ArgumentError.here(
                f"{operation} got two columns called {column.name!r}", hint="Rename one with alias."
            )
        outputs[column.name] = typed(column.tree, records, operation)
    for name, value in named.items():
        outputs[name] = typed(tree_of(value), records, operation)
    return outputs
