"""`DataStream`: records without a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, cast, overload

from penstock.api.functions.function_classes import KeySelector, ToKey
from penstock.api.functions.key_selectors import column_keys, typed_selector
from penstock.api.functions.watermark import WatermarkStrategy, checked_strategy
from penstock.api.streams.batch_operations import BatchOperations
from penstock.api.streams.collecting import add_cache
from penstock.api.streams.columns.column_operations import ColumnOperations
from penstock.api.streams.stream_ends import StreamEnds
from penstock.api.streams.stream_operations import Repartitioning, StreamOperations
from penstock.api.streams.stream_pairs import StreamPairs
from penstock.api.user_code import bound_method, called_as
from penstock.api.windows.assigner import WindowAssigner
from penstock.api.windows.windowed_stream import AllWindowedStream
from penstock.errors import CallSite
from penstock.expressions.column import ColumnExpression
from penstock.graph.endpoints import Source
from penstock.program.operators import KEY_BY, KEYED_WINDOW, SOURCE
from penstock.program.window_operation import WindowSpec
from penstock.types import TypeInformation
from penstock.types.type_parameters import K, T

if TYPE_CHECKING:
    from penstock.api.environment.environment import StreamExecutionEnvironment
    from penstock.api.streams.keyed_stream import KeyedStream
    from penstock.api.streams.stream_handles import CachedDataStream


class DataStream(
    StreamOperations[T],
    ColumnOperations[T],
    BatchOperations[T],
    StreamPairs[T],
    Repartitioning[T],
    StreamEnds[T],
    Generic[T],
):
    """A stream of records of type `T` without a key: a handle to one operator of the program.

    Methods add operators; nothing runs before `env.execute()`, `execute_and_collect()` or
    `penstock.testing.run_in_process(env)`.

    Example:
        >>> collect(numbers.filter(lambda n: n > 1).map(lambda n: n * n))
        [4, 9, 16]
        >>> numbers.name("numbers").get_name(), numbers.get_type()
        ('numbers', Integer)
        >>> numbers.get_execution_config().get_parallelism()
        1
        >>> numbers.get_execution_environment() is env
        True
    """

    @classmethod
    def of_source(
        cls,
        environment: StreamExecutionEnvironment,
        source: Source,
        strategy: WatermarkStrategy,
        name: str,
        type_info: TypeInformation,
        origin: CallSite | None,
    ) -> DataStream:
        """Return the stream of a source; for the environment."""
        node_id = environment.graph.add(
            SOURCE, name, (), type_info=type_info, origin=origin, source=source
        )
        stream = environment.stream_of(node_id)
        if checked_strategy(strategy).watermarking() is None:
            return stream
        return stream.assign_timestamps_and_watermarks(strategy)

    @overload
    def key_by(self, key_selector: ToKey[T, K], key_type: None = None) -> KeyedStream[T, K]: ...

    @overload
    def key_by(
        self, key_selector: ToKey[T, Any], key_type: TypeInformation[K]
    ) -> KeyedStream[T, K]: ...

    @overload
    def key_by(
        self, key_selector: ColumnExpression, *key_type: ColumnExpression
    ) -> KeyedStream[T, Any]: ...

    @called_as("key_by(col.name)")
    def key_by(
        self, key_selector: Any, key_type: Any = None, *columns: ColumnExpression
    ) -> KeyedStream[T, Any]:
        """Partition the stream by key: one subtask processes all records of a key, in order.

        Keys are compared as Python compares them: 1, 1.0 and True are one key. Records of different
        keys have no order.

        Args:
            key_selector: A callable or `KeySelector`, which must be deterministic; or a column, of a
                stream of rows: `col.carrier`.
            key_type: Type the keys are converted to; a record whose key does not fit is an error.
                None leaves keys as they are. Behind a column, a second one.
            columns: Further columns. The key of several columns is a tuple of their values.

        Returns:
            The same records, for operations that use keyed state.

        Raises:
            ArgumentError: `key_selector` is none of these, or `key_type` is no type.
            KeyTypeError: Values of `key_type` cannot be keys.
            UnknownFieldError: There is no such column; it names the near ones.

        Example:
            >>> sorted(collect(numbers.key_by(lambda n: n % 2, Types.INT()).sum()))
            [1, 2, 4, 6]
            >>> sorted(collect(orders.key_by(col.f0).sum(1)))
            [('ann', 5, 1000), ('ann', 12, 1000), ('bob', 3, 2000)]
        """
        if isinstance(key_selector, ColumnExpression):
            given = [key_type, *columns] if key_type is not None else list(columns)
            key_selector, key_type = column_keys([key_selector, *given], self.get_type()), None
        select = bound_method(key_selector, KeySelector, "get_key", "key_by")
        selector = typed_selector(select, key_type, "key_by")
        keyed = self._add(
            KEY_BY, "key_by", (self._unkeyed_id(),), self.get_type(), key_selector=selector
        )
        return cast("KeyedStream[T, Any]", keyed)

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream[T]:
        """Assign all records of the stream to windows, in a single subtask.

        Args:
            window_assigner: Assigns each record to windows, such as `TumblingEventTimeWindows`.

        Returns:
            The windows, for an operation such as `reduce` or `process`.

        Raises:
            ArgumentError: `window_assigner` is no window assigner.

        Example:
            >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(10)))
            >>> collect(windows.reduce(lambda a, b: (a[0], a[1] + b[1], b[2])))
            [('ann', 8, 2000), ('ann', 7, 12000)]
        """
        return AllWindowedStream(self, window_assigner)

    def cache(self) -> CachedDataStream[T]:
        """Store the records in files, so that this job and later ones compute them only once.

        Returns:
            The same records without timestamps. The first job that reads them computes them by a
            batch run of its own.

        Raises:
            GraphError: The stream never ends, or has a key.

        Example:
            >>> squares = numbers.map(lambda n: n * n).cache()
            >>> squares.invalidate()  # the next job computes them again
        """
        return cast("CachedDataStream[T]", self._environment.stream_of(add_cache(self)))

    def window_operator(
        self, name: str, type_info: TypeInformation, window: WindowSpec, **fields: Any
    ) -> DataStream[Any]:
        """Return the stream of a window operation on this stream, which has a key."""
        return self._derive(KEYED_WINDOW, name, type_info, window=window, **fields)
