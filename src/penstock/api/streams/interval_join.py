"""`a.interval_join(b).between(…).process(…)`; not in PyFlink, as in Flink's Java API."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Self, overload

from penstock.api.environment.setting_values import Length, nanoseconds_of
from penstock.api.functions.function_classes import Emitted
from penstock.api.functions.result_types import result_type
from penstock.api.functions.two_input_functions import JoinContext, ProcessJoinFunction
from penstock.api.streams.paired_streams import check_key_types
from penstock.api.user_code import method_of, name_of
from penstock.errors import ArgumentError, GraphError
from penstock.program.join import IntervalSpec
from penstock.program.operators import KEYED_INTERVAL_JOIN
from penstock.types import TypeInformation
from penstock.types.infer import enforced
from penstock.types.output_tag import OutputTag
from penstock.types.type_parameters import T1, T2, K, R

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream
    from penstock.api.streams.keyed_stream import KeyedStream


class IntervalJoin(Generic[T1, T2, K]):
    """Two keyed streams whose records are to be joined by their timestamps.

    Example:
        >>> keyed = orders.key_by(lambda order: order[0])
        >>> join = keyed.interval_join(keyed).between(Time.seconds(1), Time.seconds(60))
        >>> collect(join.process(lambda left, right, ctx: [(left[1], right[1])]))
        [(5, 7)]
    """

    def __init__(self, left: KeyedStream[T1, K], right: KeyedStream[T2, K]) -> None:
        """For `KeyedStream.interval_join`.

        Raises:
            GraphError: The types declared for the keys differ.
        """
        graph = left.get_execution_environment().graph
        selectors = [graph.node(stream.node_id).key_selector for stream in (left, right)]
        check_key_types(*selectors)
        self._left = left
        self._right = right

    def between(self, lower_bound: Length, upper_bound: Length) -> IntervalJoined[T1, T2, K]:
        """Join records whose timestamps differ by `right - left` within two bounds.

        Both bounds are included, unless excluded by a method of the result, and may be negative.

        Args:
            lower_bound: The least difference: milliseconds, `timedelta`, `Duration` or `Time`.
            upper_bound: The greatest difference.

        Returns:
            The join; `process` calls a function for each pair.

        Raises:
            ArgumentError: A bound is no length of time, or the lower one is the greater.

        Example:
            >>> keyed = orders.key_by(lambda order: order[0])
            >>> join = keyed.interval_join(keyed).between(-20_000, -1)
            >>> collect(join.process(lambda left, right, ctx: [(left[1], right[1])]))
            [(7, 5)]
        """
        return IntervalJoined(self._left, self._right, *bounds_of(lower_bound, upper_bound))


class IntervalJoined(Generic[T1, T2, K]):
    """Two keyed streams and the interval of time differences within which records are joined."""

    def __init__(
        self, left: KeyedStream[T1, K], right: KeyedStream[T2, K], lower: int, upper: int
    ) -> None:
        """For `between`."""
        self._left = left
        self._right = right
        self._bounds = (lower, upper)
        self._excluded = (0, 0)
        self._late_tags: tuple[str | None, str | None] = (None, None)

    def lower_bound_exclusive(self) -> Self:
        """Exclude pairs whose difference is the lower bound.

        Returns:
            This join.

        Example:
            >>> keyed = orders.key_by(lambda order: order[0])
            >>> join = keyed.interval_join(keyed).between(11_000, 20_000).lower_bound_exclusive()
            >>> collect(join.process(lambda left, right, ctx: [(left[1], right[1])]))
            []
        """
        self._excluded = (1, self._excluded[1])
        return self

    def upper_bound_exclusive(self) -> Self:
        """Exclude pairs whose difference is the upper bound.

        Returns:
            This join.

        Example:
            >>> keyed = orders.key_by(lambda order: order[0])
            >>> join = keyed.interval_join(keyed).between(1, 11_000).upper_bound_exclusive()
            >>> collect(join.process(lambda left, right, ctx: [(left[1], right[1])]))
            []
        """
        self._excluded = (self._excluded[0], 1)
        return self

    def side_output_left_late_data(self, output_tag: OutputTag[T1]) -> Self:
        """Send late records of the left stream to a side output instead of dropping them.

        Args:
            output_tag: Tag of the side output; read it with `get_side_output` of the result.

        Returns:
            This join.

        Raises:
            ArgumentError: `output_tag` is no `OutputTag`.

        Example:
            >>> late, keyed = OutputTag("late"), orders.key_by(lambda order: order[0])
            >>> join = keyed.interval_join(keyed).between(0, 0).side_output_left_late_data(late)
            >>> collect(join.process(lambda left, right, ctx: None).get_side_output(late))
            []
        """
        tag = _tag_id(output_tag, "side_output_left_late_data")
        self._late_tags = (tag, self._late_tags[1])
        return self

    def side_output_right_late_data(self, output_tag: OutputTag[T2]) -> Self:
        """Send late records of the right stream to the side output `output_tag`; return this join.

        Example:
            >>> late, keyed = OutputTag("late"), orders.key_by(lambda order: order[0])
            >>> join = keyed.interval_join(keyed).between(0, 0).side_output_right_late_data(late)
            >>> collect(join.process(lambda left, right, ctx: None).get_side_output(late))
            []
        """
        tag = _tag_id(output_tag, "side_output_right_late_data")
        self._late_tags = (self._late_tags[0], tag)
        return self

    @overload
    def process(
        self,
        process_join_function: ProcessJoinFunction[T1, T2, R]
        | Callable[[T1, T2, JoinContext], Iterable[Emitted[R]] | None],
        output_type: None = None,
    ) -> DataStream[R]: ...

    @overload
    def process(
        self,
        process_join_function: ProcessJoinFunction[T1, T2, Any]
        | Callable[[T1, T2, JoinContext], Iterable[Any] | None],
        output_type: TypeInformation[R],
    ) -> DataStream[R]: ...

    def process(
        self, process_join_function: Any, output_type: TypeInformation | None = None
    ) -> DataStream[Any]:
        """Call a function for every pair.

        Records need timestamps; one whose timestamp is before the watermark is late and dropped.

        Args:
            process_join_function: A `ProcessJoinFunction`, or a callable of left record, right
                record and context that returns or yields results; None is none.
            output_type: Type the results are converted to; None leaves them as they are.

        Returns:
            The results, with the greater timestamp of the pair and without a key.

        Raises:
            ArgumentError: The function is neither, or `output_type` is no type.
            GraphError: The interval is empty.

        Example:
            >>> keyed = orders.key_by(lambda order: order[0])
            >>> join = keyed.interval_join(keyed).between(Time.seconds(1), Time.seconds(60))
            >>> collect(join.process(lambda left, right, ctx: [(left[1], ctx.get_timestamp())]))
            [(5, 12000)]
        """
        lower, upper = self._bounds[0] + self._excluded[0], self._bounds[1] - self._excluded[1]
        if lower > upper:
            raise GraphError.here(
                f"an interval join between {self._bounds[0]} and {self._bounds[1]} ms without its "
                "bounds has no pairs",
                hint="Include a bound, or widen the interval.",
            )
        function = process_join_function
        method = method_of(function, ProcessJoinFunction, "process_element", "process")
        types = (enforced(self._left.get_type()), enforced(self._right.get_type()))
        return self._left.join_with(
            self._right,
            KEYED_INTERVAL_JOIN,
            name_of(function, "interval_join"),
            result_type(function, method, "interval_join", output_type),
            function=function,
            method=method,
            interval=IntervalSpec(lower, upper, types, self._late_tags),
        )


def bounds_of(lower_bound: Any, upper_bound: Any) -> tuple[int, int]:
    """Return both bounds in milliseconds."""
    lower, upper = _milliseconds(lower_bound), _milliseconds(upper_bound)
    if lower > upper:
        raise ArgumentError.here(
            f"between got the bounds {lower} and {upper} ms", hint="Pass the lower bound first."
        )
    return lower, upper


def _milliseconds(bound: Any) -> int:
    nanoseconds = nanoseconds_of(bound)
    if nanoseconds is None or nanoseconds % 1_000_000:
        raise ArgumentError.here(
            f"between got {bound!r}",
            hint="Pass whole milliseconds, or a timedelta, Duration or Time.",
        )
    return nanoseconds // 1_000_000


def _tag_id(output_tag: Any, operation: str) -> str:
    if isinstance(output_tag, OutputTag):
        return output_tag.tag_id
    raise ArgumentError.here(
        f"{operation} got {output_tag!r}",
        hint="Pass an OutputTag, and read it with get_side_output of the result.",
    )
