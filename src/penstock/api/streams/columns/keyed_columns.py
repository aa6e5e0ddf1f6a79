"""Aggregates of the columns of a keyed stream of rows."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic

from penstock.api.streams.stream_base import StreamBase
from penstock.errors import ArgumentError
from penstock.expressions.aggregates import AggregateExpression
from penstock.expressions.keyed_aggregate import keyed_aggregate
from penstock.expressions.typing import RecordType, record_type
from penstock.program.folding.fold import Promises
from penstock.program.operators import KEY_BY, KEYED_AGGREGATE
from penstock.types.row import Row
from penstock.types.type_parameters import T

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream


class KeyedColumns(StreamBase[T], Generic[T]):
    """Base of `KeyedStream`: operations on columns of records with a key."""

    def aggregate(self, **aggregates: AggregateExpression) -> DataStream[Row]:
        """Aggregate columns of the records of each key, and emit the newest results of a key.

        A micro-batch emits each of its keys once; a batch run emits each key once, in the end. How many results
        came before the last one of a key is not defined; the last one is the same in every mode. For the last ones
        only, write to a sink that keeps one row per key, with `upsert_to`.

        Args:
            aggregates: Names of results with aggregates, such as `n=col.count(), total=col.amount.sum()`.

        Returns:
            Rows of the columns of the key and the results, without a key and without timestamps.

        Raises:
            ArgumentError: The key is not made of columns, an aggregate does not take values of its column,
                or a result has the name of a column of the key.
            UnknownFieldError: There is no such column; it names the near ones.

        Example:
            >>> totals = orders.key_by(col.f0).aggregate(n=col.count(), cents=(col.f1 * 100).sum())
            >>> sorted(collect(totals), key=str)
            [Row(f0='ann', n=2, cents=1200), Row(f0='bob', n=1, cents=300)]
        """
        records = record_type(self.get_type(), "aggregate")
        keys = self._key_columns(records)
        _check(aggregates, keys)
        chain, function = keyed_aggregate(records, keys, aggregates)
        source = self._environment.stream_of(self._unkeyed_id())
        parts = source._evaluate(chain, "parts of aggregates")  # noqa: SLF001 - of the same class
        keyed = parts._add(  # noqa: SLF001
            KEY_BY,
            "key_by",
            (parts.node_id,),
            parts.get_type(),
            key_selector=itemgetter(*range(len(keys))),
        )
        exact = function.exact_because
        return keyed._derive(  # noqa: SLF001
            KEYED_AGGREGATE,
            "aggregate",
            function.results.type_info,
            function=function,
            method=None,
            promises=Promises(associative=exact, commutative=exact),
        )

    def _key_columns(self, records: RecordType) -> tuple[str, ...]:
        """Return the names of the columns of the key.

        Raises:
            ArgumentError: The key is computed by a function.
        """
        selector: Any = self._graph.node(self._node_id).key_selector
        if type(selector) is not itemgetter:
            raise ArgumentError.here(
                "aggregate was called on a stream whose key is no column",
                hint="Write key_by(col.name). Compute a key before, with with_columns.",
            )
        names = records.field_names
        items = selector.__reduce__()[1]
        assert isinstance(items, tuple), "a getter is pickled as its class and its arguments"
        return tuple(item if isinstance(item, str) else names[item] for item in items)


def _check(aggregates: dict[str, Any], keys: tuple[str, ...]) -> None:
    if not aggregates:
        raise ArgumentError.here("aggregate got no aggregates", hint="Write n=col.count().")
    for name, each in aggregates.items():
        if not isinstance(each, AggregateExpression):
            raise ArgumentError.here(
                f"aggregate got {name}={each!r}, which is no aggregate",
                hint="Call count, sum, mean, min or max of a column or an expression.",
            )
        if name in keys:
            raise ArgumentError.here(
                f"aggregate got {name}={each}, and {name!r} is a column of the key",
                hint="Give the result another name; columns of the key are there without being named.",
            )
