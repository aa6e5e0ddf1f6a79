"""Any number of streams that one operator reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.api.functions.function_classes import ToKey
from penstock.api.functions.multiple_inputs import MultipleInputStreamOperator
from penstock.api.functions.stream_operators import StreamOperatorFactory, creating_method
from penstock.api.streams.paired_streams import check_pair
from penstock.api.streams.stream_pairs import StreamPairs
from penstock.api.user_code import checked_label, checked_type
from penstock.errors import CallSite, GraphError, UserFunctionError
from penstock.program.operators import (
    INPUTS_HINT,
    KEYED_MULTIPLE_CUSTOM,
    MULTIPLE_CUSTOM,
    problem_of_inputs,
)
from penstock.types import TypeInformation
from penstock.types.type_parameters import R
from penstock.user_failure import failing_as

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream


class MultipleConnectedStreams:
    """Streams of one environment, of types that may differ, read by one operator of your own.

    Records of different streams have no order. If the streams have keys, state and timers belong to the
    key, whichever stream a record is of.

    Attributes:
        streams: The streams, in order.

    Example:
        >>> class Tagged(AbstractInput):
        ...     def process_element(self, value, ctx):
        ...         self.output.collect((self.input_id, value))
        >>> class Merge(MultipleInputStreamOperator):
        ...     def get_inputs(self):
        ...         return [Tagged(self, 1), Tagged(self, 2), Tagged(self, 3)]
        >>> few = numbers.filter(lambda n: n > 3)
        >>> cities = env.from_collection(["Oslo"])
        >>> merged = MultipleConnectedStreams(few, cities, few).transform("merge", None, Merge())
        >>> sorted(collect(merged))
        [(1, 4), (2, 'Oslo'), (3, 4)]
    """

    def __init__(self, *streams: DataStream[Any]) -> None:
        """Connect streams.

        Args:
            streams: One per input of the operator, in order; a stream may be given twice.

        Raises:
            ArgumentError: One of `streams` is no stream.
            GraphError: There is none, or they belong to different environments.
        """
        if not streams:
            raise GraphError.here(
                "MultipleConnectedStreams got no stream", hint="Pass one per input of the operator."
            )
        for stream in streams:
            check_pair(streams[0], stream, "MultipleConnectedStreams", StreamPairs, "DataStream")
        self.streams = streams

    def key_by(
        self, *key_selectors: ToKey[Any, Any], key_type: TypeInformation | None = None
    ) -> MultipleConnectedStreams:
        """Partition all streams by key; equal keys are processed by the same subtask.

        Args:
            key_selectors: One per stream, in order: a callable or `KeySelector`.
            key_type: As in `DataStream.key_by`, for all.

        Returns:
            The streams with their keys.

        Raises:
            ArgumentError: A selector is neither a callable nor a `KeySelector`.
            GraphError: There are more or fewer selectors than streams.

        Example:
            >>> class Keyed(AbstractInput):
            ...     def process_element(self, value, ctx):
            ...         self.output.collect((ctx.get_current_key(), value))
            >>> class Merge(MultipleInputStreamOperator):
            ...     def get_inputs(self):
            ...         return [Keyed(self, 1), Keyed(self, 2)]
            >>> letters = env.from_collection(["a", "bb"])
            >>> keyed = MultipleConnectedStreams(numbers, letters).key_by(lambda n: n, len)
            >>> sorted(collect(keyed.transform("merge", None, Merge())), key=str)[:4]
            [(1, 'a'), (1, 1), (2, 'bb'), (2, 2)]
        """
        if len(key_selectors) != len(self.streams):
            raise GraphError.here(
                f"key_by got {len(key_selectors)} key selectors for {len(self.streams)} streams",
                hint="Pass one per stream, in the order of the streams.",
            )
        pairs = zip(self.streams, key_selectors, strict=True)
        return MultipleConnectedStreams(*(s.key_by(selector, key_type) for s, selector in pairs))

    def transform(
        self,
        operator_name: str,
        type_info: TypeInformation[R] | None,
        operator: MultipleInputStreamOperator[R] | StreamOperatorFactory[R],
    ) -> DataStream[R]:
        """Process all streams with an operator of your own.

        Args:
            operator_name: Name of the operator in plans and messages.
            type_info: Type the results are converted to; None leaves them as they are.
            operator: An operator with one `Input` per stream, or a factory of such operators. With
                keys it may use keyed state and timers, which all inputs share.

        Returns:
            The output of the operator, without a key.

        Raises:
            ArgumentError: `operator` is neither, or another argument is wrong.
            GraphError: Some of the streams have a key and others have none, or the operator does
                not have one input per stream.
            UserFunctionError: `get_inputs` failed.

        Example:
            >>> class Double(AbstractInput):
            ...     def process_element(self, value, ctx):
            ...         self.output.collect(2 * value)
            >>> class DoubleAll(MultipleInputStreamOperator):
            ...     def get_inputs(self):
            ...         return [Double(self, 1), Double(self, 2)]
            >>> doubled = MultipleConnectedStreams(numbers, numbers)
            >>> sorted(collect(doubled.transform("double", Types.INT(), DoubleAll())))
            [2, 2, 4, 4, 6, 6, 8, 8]
        """
        method = creating_method(operator, MultipleInputStreamOperator, "get_inputs")
        if isinstance(operator, MultipleInputStreamOperator):
            self._check_inputs(operator, operator_name)
        env = self.streams[0].get_execution_environment()
        node_id = env.graph.add(
            KEYED_MULTIPLE_CUSTOM if self._has_key() else MULTIPLE_CUSTOM,
            checked_label(operator_name, "transform"),
            tuple(stream.node_id for stream in self.streams),
            type_info=checked_type(type_info, "transform"),
            origin=CallSite.of_caller(),
            function=operator,
            method=method,
        )
        return env.stream_of(node_id)

    def _check_inputs(self, operator: MultipleInputStreamOperator[Any], name: str) -> None:
        failed, created = f"operator {name!r} failed on get_inputs", CallSite.of_caller()
        with failing_as(UserFunctionError, failed, created, hint="Correct get_inputs."):
            inputs = operator.get_inputs()
        problem = problem_of_inputs(inputs, len(self.streams))
        if problem is not None:
            raise GraphError.here(f"operator {name!r}: {problem}", hint=INPUTS_HINT)

    def _has_key(self) -> bool:
        has_keys = {stream.has_key for stream in self.streams}
        if len(has_keys) > 1:
            raise GraphError.here(
                "some of the connected streams have a key and others have none",
                hint="Call key_by on all, or on none; or on MultipleConnectedStreams.",
            )
        return has_keys.pop()
