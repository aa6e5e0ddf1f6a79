"""`a.join(b).where(…).equal_to(…).window(…).apply(…)`; not in PyFlink, as in Flink's Java API."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, Self, overload

from penstock.api.functions.callables import ToKey
from penstock.api.functions.join_functions import CoGroupFunction, FlatJoinFunction, JoinFunction
from penstock.api.functions.result_types import result_type
from penstock.api.streams.co_grouped_streams import PairedWindows
from penstock.api.streams.paired_streams import PairedKeys, Where, key_of
from penstock.api.streams.regular_join import RegularJoinForms
from penstock.api.user_code import method_of, name_of
from penstock.api.windows.assigner import WindowAssigner
from penstock.program.join import JoinKind
from penstock.types import TypeInformation
from penstock.types.type_parameters import T1, T2, K, R

if TYPE_CHECKING:
    from penstock.api.functions.context import RuntimeContext
    from penstock.api.streams.data_stream import DataStream

_FEW = 1_000
"""Pairs of a window that may be joined at once."""


class JoinedStreams(Generic[T1, T2]):
    """Two streams whose records are to be paired by key."""

    def __init__(self, stream1: DataStream[T1], stream2: DataStream[T2]) -> None:
        """For `DataStream.join`."""
        self._first = stream1
        self._second = stream2

    def where(
        self, key_selector: ToKey[T1, K], key_type: TypeInformation | None = None
    ) -> Where[JoinedKeys[T1, T2], T1, T2, K]:
        """Say what the key of the first stream is.

        Args:
            key_selector: A callable or `KeySelector`.
            key_type: As in `DataStream.key_by`.

        Raises:
            ArgumentError: `key_selector` is neither, or `key_type` is no type.
            KeyTypeError: Values of `key_type` cannot be keys.
        """
        selector = key_of(key_selector, key_type, "where")
        return Where(self._first, self._second, selector, JoinedKeys)


class JoinedKeys(RegularJoinForms, Generic[T1, T2]):
    """Two streams and their keys: to be joined in windows, or over all records."""

    def __init__(self, keys: PairedKeys[T1, T2]) -> None:
        """For `equal_to`."""
        self._keys = keys

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> JoinedWindows[T1, T2]:
        """Cut the records of each key into windows, and pair those within one.

        Raises:
            ArgumentError: `window_assigner` is none.
        """
        return JoinedWindows(self._keys, window_assigner)

    def keyed_sides(self) -> tuple[DataStream[T1], DataStream[T2]]:
        """Return both streams, each with its key."""
        return self._keys.keyed()


class JoinedWindows(PairedWindows[T1, T2]):
    """The windows of each key, whose records are paired: an inner join unless told otherwise."""

    _kind = JoinKind.INNER

    def inner(self) -> Self:
        """Pair every record with every record of the other stream; the default."""
        return self._joining(JoinKind.INNER)

    def left(self) -> Self:
        """Pair records of the first stream with None in windows without one of the second."""
        return self._joining(JoinKind.LEFT)

    def right(self) -> Self:
        """Pair records of the second stream with None in windows without one of the first."""
        return self._joining(JoinKind.RIGHT)

    def full(self) -> Self:
        """Pair records of either stream with None in windows without one of the other."""
        return self._joining(JoinKind.FULL)

    @overload
    def apply(
        self, function: FlatJoinFunction[T1, T2, R], output_type: None = None
    ) -> DataStream[R]: ...

    @overload
    def apply(
        self,
        function: JoinFunction[T1, T2, R] | Callable[[T1, T2], R],
        output_type: None = None,
    ) -> DataStream[R]: ...

    @overload
    def apply(
        self,
        function: JoinFunction[T1, T2, Any]
        | FlatJoinFunction[T1, T2, Any]
        | Callable[[T1, T2], Any],
        output_type: TypeInformation[R],
    ) -> DataStream[R]: ...

    def apply(self, function: Any, output_type: TypeInformation | None = None) -> DataStream[Any]:
        """Call a function for every pair of records of a key and window.

        Results have the time of the window, `window.max_timestamp()`.

        Args:
            function: A `JoinFunction` or a callable, which give one result per pair, or a
                `FlatJoinFunction`.
            output_type: Type the results are brought to; None leaves them as they are.

        Raises:
            ArgumentError: `function` is none of these, or `output_type` is no type.
        """
        cls = function if isinstance(function, type) else type(function)
        is_flat = issubclass(cls, FlatJoinFunction)
        base = FlatJoinFunction if is_flat else JoinFunction
        method = method_of(function, base, "join", "apply")
        return self._co_grouped(
            name_of(function, "join"),
            result_type(function, method, "join", output_type),
            function,
            PairingCoGroup(function, method, self._kind, is_flat=is_flat),
        )

    def _joining(self, kind: JoinKind) -> Self:
        self._kind = kind
        return self


class PairingCoGroup(CoGroupFunction[Any, Any, Any]):
    """Calls the function of a join for the pairs of a co-group."""

    def __init__(self, function: Any, method: str | None, kind: JoinKind, *, is_flat: bool) -> None:
        """Wrap a function.

        Args:
            function: The user's function or object.
            method: Its method; None calls it directly.
            kind: What becomes of records that have no partner.
            is_flat: It gives any number of results per pair.
        """
        self._function = function
        self._method = method
        self._kind = kind
        self._is_flat = is_flat

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the function, if it is an object."""
        if self._method is not None:
            self._function.open(runtime_context)

    def close(self) -> None:
        """Close the function, if it is an object."""
        if self._method is not None:
            self._function.close()

    def co_group(self, first: Any, second: Any) -> Iterable[Any] | None:
        """Return the results of all pairs; one by one if there are many."""
        join = self._function if self._method is None else self._function.join
        pads = self._kind.pads
        results: Iterable[Any]
        if first and second:
            if len(first) * len(second) <= _FEW and not self._is_flat:
                return [join(left, right) for left in first for right in second]
            results = (join(left, right) for left in first for right in second)
        elif first and pads(0):
            results = (join(left, None) for left in first)
        elif second and pads(1):
            results = (join(None, right) for right in second)
        else:
            return None
        if not self._is_flat:
            return results
        return chain.from_iterable(several for several in results if several is not None)
