"""Joins in windows, and of everything there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, Self, cast, overload

from penstock.api.functions.function_classes import ToKey
from penstock.api.functions.result_types import result_type
from penstock.api.functions.two_input_functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    WrappedJoin,
)
from penstock.api.streams.co_grouped_streams import PairedWindows
from penstock.api.streams.paired_streams import PairedKeys, PairedStreams, Where
from penstock.api.user_code import method_of, name_of
from penstock.api.windows.assigner import WindowAssigner
from penstock.program.join import JoinKind, JoinSpec
from penstock.program.operators import KEYED_REGULAR_JOIN
from penstock.types import TypeInformation, Types
from penstock.types.infer import enforced
from penstock.types.type_parameters import T1, T2, K, R

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream
    from penstock.api.streams.stream_handles import JoinedRows

FIELDS = ["left", "right"]


class RegularJoinForms:
    """The four joins over all records, of what `a.join(b).where(f).equal_to(g)` returns.

    Both sides are changelogs: a `Row` of kind INSERT or UPDATE_AFTER is added to its side, one of
    kind UPDATE_BEFORE or DELETE removes an equal one; other records are added. A row may be
    there any number of times. All rows stay in state, unless `table.exec.state.ttl` is set.

    A key that is None, or a tuple or row with a None in it, matches nothing.
    """

    def keyed_sides(self) -> tuple[DataStream[Any], DataStream[Any]]:
        """Return both streams, each with its key."""
        raise AssertionError(type(self).__name__)

    def inner(self) -> JoinedRows:
        """Return every pair of rows with the same key, as a changelog.

        Example:
            >>> small = env.from_collection([1, 2]).join(env.from_collection([2, 3]))
            >>> pairs = small.where(lambda n: n).equal_to(lambda n: n).inner()
            >>> [(row.left, row.right) for row in collect(pairs)]
            [(2, 2)]
        """
        return joined(*self.keyed_sides(), JoinKind.INNER)

    def left(self) -> JoinedRows:
        """Return the pairs, and left rows without a match beside None.

        Example:
            >>> small = env.from_collection([1, 2]).join(env.from_collection([2, 3]))
            >>> pairs = small.where(lambda n: n).equal_to(lambda n: n).left()
            >>> sorted((row.left, str(row.right)) for row in collect(pairs))
            [(1, 'None'), (2, '2')]
        """
        return joined(*self.keyed_sides(), JoinKind.LEFT)

    def right(self) -> JoinedRows:
        """Return the pairs, and right rows without a match beside None.

        Example:
            >>> small = env.from_collection([1, 2]).join(env.from_collection([2, 3]))
            >>> pairs = small.where(lambda n: n).equal_to(lambda n: n).right()
            >>> sorted((str(row.left), row.right) for row in collect(pairs))
            [('2', 2), ('None', 3)]
        """
        return joined(*self.keyed_sides(), JoinKind.RIGHT)

    def full(self) -> JoinedRows:
        """Return the pairs, and rows of either side without a match beside None.

        Example:
            >>> small = env.from_collection([1, 2]).join(env.from_collection([2, 3]))
            >>> pairs = small.where(lambda n: n).equal_to(lambda n: n).full()
            >>> sorted((str(row.left), str(row.right)) for row in collect(pairs))
            [('1', 'None'), ('2', '2'), ('None', '3')]
        """
        return joined(*self.keyed_sides(), JoinKind.FULL)


def joined(left: DataStream[Any], right: DataStream[Any], kind: JoinKind) -> JoinedRows:
    """Return the join over all records of two streams with keys."""
    types = (enforced(left.get_type()), enforced(right.get_type()))
    return joined_by(left, right, JoinSpec(kind, types))


def joined_by(left: DataStream[Any], right: DataStream[Any], spec: JoinSpec) -> JoinedRows:
    """Return the rows of a join: the left and the right record."""
    pairs, name = Types.ROW_NAMED(FIELDS, list(spec.record_types)), spec.kind.value.lower()
    return cast("JoinedRows", left.join_with(right, KEYED_REGULAR_JOIN, name, pairs, join=spec))


_FEW = 1_000
"""Pairs of a window that may be joined at once."""


class JoinedStreams(PairedStreams[T1, T2]):
    """Two streams whose records are to be joined by key.

    Example:
        >>> pairs = orders.join(numbers).where(lambda o: o[1]).equal_to(lambda n: n)
        >>> [(row.left[0], row.right) for row in collect(pairs.inner())]
        [('bob', 3)]
    """

    def where(
        self, key_selector: ToKey[T1, K], key_type: TypeInformation | None = None
    ) -> Where[JoinedKeys[T1, T2], T1, T2, K]:
        """Return both streams with the key of the first, by `key_selector` and `key_type`.

        They are as in `DataStream.key_by`; `equal_to` selects the key of the second stream.

        Example:
            >>> half = orders.join(numbers).where(lambda order: order[1], Types.INT())
            >>> pairs = half.equal_to(lambda n: n)
        """
        return self._where(key_selector, key_type, JoinedKeys)


class JoinedKeys(RegularJoinForms, Generic[T1, T2]):
    """Two streams and their keys, to be joined within windows or over all records."""

    def __init__(self, keys: PairedKeys[T1, T2]) -> None:
        """For `equal_to`."""
        self._keys = keys

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> JoinedWindows[T1, T2]:
        """Assign the records of each key to windows, and join those of the same window.

        Args:
            window_assigner: Assigns each record to windows, such as `TumblingEventTimeWindows`.

        Returns:
            The windows; `apply` calls a function for each pair.

        Raises:
            ArgumentError: `window_assigner` is no window assigner.

        Example:
            >>> amount = lambda order: order[1]
            >>> pairs = orders.join(orders).where(amount).equal_to(amount)
            >>> windows = pairs.window(TumblingEventTimeWindows.of(Time.seconds(10)))
            >>> sorted(collect(windows.apply(lambda first, second: first[0] + second[0])))
            ['annann', 'annann', 'bobbob']
        """
        return JoinedWindows(self._keys, window_assigner)

    def keyed_sides(self) -> tuple[DataStream[T1], DataStream[T2]]:
        """Return both streams, each with its key."""
        return self._keys.keyed()


class JoinedWindows(PairedWindows[T1, T2]):
    """The windows of each key, whose records are joined: an inner join by default."""

    _kind = JoinKind.INNER

    def inner(self) -> Self:
        """Pair every record with every record of the other stream; the default.

        Returns:
            These windows.

        Example:
            >>> amount = lambda order: order[1]
            >>> large = orders.filter(lambda order: order[1] > 3)
            >>> pairs = orders.join(large).where(amount).equal_to(amount)
            >>> windows = pairs.window(TumblingEventTimeWindows.of(Time.seconds(10))).inner()
            >>> sorted(collect(windows.apply(lambda first, second: first[1])))
            [5, 7]
        """
        return self._joining(JoinKind.INNER)

    def left(self) -> Self:
        """Also pair records of the first stream with None, in windows without one of the second.

        Returns:
            These windows.

        Example:
            >>> amount = lambda order: order[1]
            >>> large = orders.filter(lambda order: order[1] > 3)
            >>> pairs = orders.join(large).where(amount).equal_to(amount)
            >>> windows = pairs.window(TumblingEventTimeWindows.of(Time.seconds(10))).left()
            >>> sorted(collect(windows.apply(lambda first, second: (first[1], second is None))))
            [(3, True), (5, False), (7, False)]
        """
        return self._joining(JoinKind.LEFT)

    def right(self) -> Self:
        """Also pair records of the second stream with None, in windows without one of the first.

        Returns:
            These windows.

        Example:
            >>> amount = lambda order: order[1]
            >>> large = orders.filter(lambda order: order[1] > 3)
            >>> pairs = large.join(orders).where(amount).equal_to(amount)
            >>> windows = pairs.window(TumblingEventTimeWindows.of(Time.seconds(10))).right()
            >>> sorted(collect(windows.apply(lambda first, second: (second[1], first is None))))
            [(3, True), (5, False), (7, False)]
        """
        return self._joining(JoinKind.RIGHT)

    def full(self) -> Self:
        """Also pair records of either stream with None, in windows without one of the other.

        Returns:
            These windows.

        Example:
            >>> small = orders.filter(lambda order: order[1] < 6)
            >>> large = orders.filter(lambda order: order[1] > 3)
            >>> pairs = small.join(large).where(lambda o: o[1]).equal_to(lambda o: o[1])
            >>> windows = pairs.window(TumblingEventTimeWindows.of(Time.seconds(10))).full()
            >>> sorted(collect(windows.apply(lambda a, b: (a is None, b is None))))
            [(False, False), (False, True), (True, False)]
        """
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

        Args:
            function: A `JoinFunction` or a callable of two records, which give one result per
                pair, or a `FlatJoinFunction`.
            output_type: Type the results are converted to; None leaves them as they are.

        Returns:
            The results, with the timestamp `window.max_timestamp()` and without a key.

        Raises:
            ArgumentError: `function` is none of these, or `output_type` is no type.

        Example:
            >>> by_customer = lambda order: order[0]
            >>> pairs = orders.join(orders).where(by_customer).equal_to(by_customer)
            >>> windows = pairs.window(TumblingEventTimeWindows.of(Time.seconds(60)))
            >>> sorted(collect(windows.apply(lambda first, second: first[1] + second[1])))
            [6, 10, 12, 12, 14]
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


class PairingCoGroup(WrappedJoin, CoGroupFunction[Any, Any, Any]):
    """Calls the function of a join for the pairs of a co-group."""

    def __init__(self, function: Any, method: str | None, kind: JoinKind, *, is_flat: bool) -> None:
        """Wrap a function."""
        super().__init__(function, method)
        self._kind = kind
        self._is_flat = is_flat

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
