"""`a.co_group(b).where(…).equal_to(…).window(…).apply(…)`; not in PyFlink, as in Flink's Java API."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, overload

from penstock.api.functions.function_classes import ToKey
from penstock.api.functions.result_types import result_type
from penstock.api.functions.two_input_functions import CoGroupFunction
from penstock.api.streams.paired_streams import PairedKeys, PairedStreams, Where
from penstock.api.user_code import method_of, name_of
from penstock.api.windows.assigner import WindowAssigner
from penstock.api.windows.window_rules import WindowRules
from penstock.program.operators import KEYED_CO_GROUP
from penstock.program.window_operation import Evaluation, WindowContents
from penstock.types import TypeInformation
from penstock.types.type_parameters import T1, T2, K, R

if TYPE_CHECKING:
    from penstock.api.environment.environment import StreamExecutionEnvironment
    from penstock.api.streams.data_stream import DataStream


class CoGroupedStreams(PairedStreams[T1, T2]):
    """Two streams whose records are to be grouped by key and window, one list per stream.

    Example:
        >>> by_customer = lambda order: order[0]
        >>> pairs = orders.co_group(orders).where(by_customer).equal_to(by_customer)
        >>> windows = pairs.window(TumblingEventTimeWindows.of(Time.seconds(60)))
        >>> sorted(collect(windows.apply(lambda first, second: [(len(first), len(second))])))
        [(1, 1), (2, 2)]
    """

    def where(
        self, key_selector: ToKey[T1, K], key_type: TypeInformation | None = None
    ) -> Where[CoGroupedKeys[T1, T2], T1, T2, K]:
        """Select the key of the first stream.

        Args:
            key_selector: A callable or `KeySelector`.
            key_type: As in `DataStream.key_by`.

        Returns:
            Both streams; `equal_to` selects the key of the second.

        Raises:
            ArgumentError: `key_selector` is neither, or `key_type` is no type.
            KeyTypeError: Values of `key_type` cannot be keys.

        Example:
            >>> half = numbers.co_group(orders).where(lambda n: n)
            >>> pairs = half.equal_to(lambda order: order[1])
        """
        return self._where(key_selector, key_type, CoGroupedKeys)


class CoGroupedKeys(Generic[T1, T2]):
    """Two streams and their keys, to be grouped by `window`."""

    def __init__(self, keys: PairedKeys[T1, T2]) -> None:
        """For `equal_to`."""
        self._keys = keys

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> CoGroupedWindows[T1, T2]:
        """Assign the records of each key to windows, those of both streams to the same.

        Args:
            window_assigner: Assigns each record to windows, such as `TumblingEventTimeWindows`.

        Returns:
            The windows; `apply` calls a function with both lists of each.

        Raises:
            ArgumentError: `window_assigner` is no window assigner.

        Example:
            >>> amount = lambda order: order[1]
            >>> pairs = orders.co_group(orders).where(amount).equal_to(amount)
            >>> windows = pairs.window(TumblingEventTimeWindows.of(Time.seconds(10)))
            >>> collect(windows.apply(lambda first, second: [first == second]))
            [True, True, True]
        """
        return CoGroupedWindows(self._keys, window_assigner)


class PairedWindows(WindowRules, Generic[T1, T2]):
    """Base of the windows of two streams.

    An assigner, trigger or evictor of your own gets a `TaggedUnion` as a record, which has the
    stream it is of.
    """

    def __init__(self, keys: PairedKeys[T1, T2], window_assigner: WindowAssigner[Any, Any]) -> None:
        """For `window`.

        Raises:
            ArgumentError: `window_assigner` is none.
        """
        super().__init__(window_assigner)
        self._keys = keys

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment the streams belong to."""
        return self._keys.first.get_execution_environment()

    def _co_grouped(
        self, name: str, type_info: TypeInformation, user_function: Any, function: Any
    ) -> DataStream[Any]:
        """Return the results of a function, `user_function` or what calls it, per window."""
        first, second = self._keys.keyed()
        spec = self._spec(
            WindowContents.TWO_LISTS,
            Evaluation.CO_GROUP,
            function,
            first.get_type(),
            first.get_type(),
            second_type=second.get_type(),
        )
        return first.join_with(
            second, KEYED_CO_GROUP, name, type_info, function=user_function, window=spec
        )


class CoGroupedWindows(PairedWindows[T1, T2]):
    """The windows of each key, with the records of two streams."""

    @overload
    def apply(
        self,
        function: CoGroupFunction[T1, T2, R] | Callable[[list[T1], list[T2]], Iterable[R] | None],
        output_type: None = None,
    ) -> DataStream[R]: ...

    @overload
    def apply(
        self,
        function: CoGroupFunction[T1, T2, Any]
        | Callable[[list[T1], list[T2]], Iterable[Any] | None],
        output_type: TypeInformation[R],
    ) -> DataStream[R]: ...

    def apply(self, function: Any, output_type: TypeInformation | None = None) -> DataStream[Any]:
        """Call a function once per key and window that has a record of either stream.

        Args:
            function: A `CoGroupFunction`, or a callable of the records of both streams (two lists)
                that returns or yields results; None is none.
            output_type: Type the results are converted to; None leaves them as they are.

        Returns:
            The results, with the timestamp `window.max_timestamp()` and without a key.

        Raises:
            ArgumentError: `function` is neither, or `output_type` is no type.

        Example:
            >>> by_customer = lambda order: order[0]
            >>> pairs = orders.co_group(orders).where(by_customer).equal_to(by_customer)
            >>> windows = pairs.window(TumblingEventTimeWindows.of(Time.seconds(60)))
            >>> sorted(collect(windows.apply(lambda first, second: [(len(first), len(second))])))
            [(1, 1), (2, 2)]
        """
        method = method_of(function, CoGroupFunction, "co_group", "apply")
        return self._co_grouped(
            name_of(function, "co_group"),
            result_type(function, method, "co_group", output_type),
            function,
            function if method else CallableCoGroup(function),
        )


class CallableCoGroup(CoGroupFunction[Any, Any, Any]):
    """A callable as a `CoGroupFunction`."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        """Let `co_group` be the function."""
        self.co_group = function  # type: ignore[assignment,method-assign]

    def co_group(self, first: Any, second: Any) -> Any:
        """Never called: replaced by the callable."""
        raise AssertionError
