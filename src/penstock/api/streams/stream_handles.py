"""The class of the handle of a node.

The classes of streams create streams of one another: a `DataStream` creates a `KeyedStream`, which derives from it.
They get a stream from their environment, and the environment calls this module. So no module of a stream has to import
a module that imports it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.api.functions.function_classes import MapFunction
from penstock.api.functions.result_types import result_type
from penstock.api.functions.two_input_functions import JoinFunction, WrappedJoin
from penstock.api.streams.data_stream import DataStream
from penstock.api.streams.keyed_stream import KeyedStream
from penstock.api.streams.operator_settings import NoOperator
from penstock.api.user_code import method_of, name_of
from penstock.connectors.cache import CacheSource, cache_of
from penstock.errors import GraphError, TypeMismatchError
from penstock.program.operator_kind import OperatorKind
from penstock.program.operators import KEY_BY, KEYED_REGULAR_JOIN, MAP
from penstock.types import Row, TypeInformation
from penstock.types.type_parameters import T

if TYPE_CHECKING:
    from penstock.api.environment.environment import StreamExecutionEnvironment


class CachedDataStream(NoOperator, DataStream[T]):
    """A stream whose records the first job that needs them stores in files.

    The first `execute` that reads the stream computes it by a batch run of its own, into files
    of the temporary directory; that job and all later ones of the environment read the files.
    They are removed by `invalidate`, or when the program ends. Timestamps are not stored: assign
    them after `cache()`.

    Example:
        >>> type(numbers.cache()).__name__
        'CachedDataStream'
    """

    def invalidate(self) -> None:
        """Remove the stored records; the next job that needs them computes them again.

        Do not call it while a job reads them.

        Example:
            >>> cached = numbers.cache()
            >>> cached.invalidate()
        """
        source = self._source()
        for file in source.files or ():
            file.path.unlink(missing_ok=True)
        self._graph.change(self._node_id, source=replace(source, files=None))

    def cache(self) -> CachedDataStream[T]:
        """Return this stream: it is cached already.

        Example:
            >>> cached = numbers.cache()
            >>> cached.cache() is cached
            True
        """
        return self

    def _source(self) -> CacheSource:
        source = cache_of(self._graph.node(self._node_id).source)
        assert source is not None, "a handle of this class is made of nothing else"
        return source

    def _refusal(self, call: str) -> GraphError:
        return GraphError.here(
            f"{call} was called on the result of cache(), which is not an operator",
            hint="Call it on the stream before cache() or on what is computed from it.",
        )


class JoinedRows(DataStream[Row]):
    """A joined changelog: rows with the fields `left` and `right`, of kind INSERT or DELETE.

    Applying all changes so far gives the join of both sides at the end of every micro-batch. A
    row without a match has None for the other side; it is deleted when the first match arrives
    and inserted again when the last match is deleted. Changes that cancel out within a
    micro-batch do not appear, and a batch run only inserts. The rows have no timestamps.

    Example:
        >>> pairs = orders.join(numbers).where(lambda o: o[1]).equal_to(lambda n: n)
        >>> [(row.left[0], row.right) for row in collect(pairs.inner())]
        [('bob', 3)]
    """

    def apply(
        self, func: Callable[[Any, Any], Row] | Any, output_type: TypeInformation | None = None
    ) -> DataStream[Row]:
        """Make a row of each pair; it gets the row kind of the pair.

        The function is called for a deletion as it was for the insertion, and has to return an
        equal row. It must not change the records it is given.

        Args:
            func: A callable or `JoinFunction`. Takes the left and the right record, of which one
                may be None in outer joins, and returns a `Row`.
            output_type: Type of the rows; None leaves them as they are.

        Returns:
            The rows, without timestamps.

        Raises:
            ArgumentError: `func` is neither, or `output_type` is no type.

        Example:
            >>> pairs = orders.join(numbers).where(lambda o: o[1]).equal_to(lambda n: n).inner()
            >>> collect(pairs.apply(lambda order, n: Row(order[0], n)))
            [<Row('bob', 3)>]
        """
        method = method_of(func, JoinFunction, "join", "apply")
        return self._derive(
            MAP,
            name_of(func, "apply"),
            result_type(func, method, "map", output_type),
            function=PairFunction(func, method),
            method="map",
        )


class PairFunction(WrappedJoin, MapFunction[Row, Row]):
    """Calls the user's function with both sides of a pair and keeps the kind of the change."""

    def map(self, value: Row) -> Row:
        """Return the user's row for one pair.

        Raises:
            TypeMismatchError: It is no row.
        """
        call = self._function if self._method is None else self._function.join
        row = call(value[0], value[1])
        if not isinstance(row, Row):
            raise TypeMismatchError(
                f"the function applied to a join returned {row!r:.200}, which is not a Row",
                hint="Return a Row, whose kind shows whether it is inserted or deleted.",
            )
        kind = value.get_row_kind()
        if row.get_row_kind() is not kind:
            row = copy(row)  # it may be one of the two records
            row.set_row_kind(kind)
        return row


_CLASSES: dict[OperatorKind, type[DataStream[Any]]] = {
    KEY_BY: KeyedStream,
    KEYED_REGULAR_JOIN: JoinedRows,
}
"""Kind of a node to the class of its stream; of all others it is `DataStream`."""


def handle_of(environment: StreamExecutionEnvironment, node_id: int) -> DataStream[Any]:
    """Return the stream that a node produces."""
    node = environment.graph.node(node_id)
    if cache_of(node.source) is not None:
        return CachedDataStream(environment, node_id)
    return _CLASSES.get(node.kind, DataStream)(environment, node_id)
