"""`WindowedStream` and `AllWindowedStream`: streams whose records are assigned to windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from penstock.api.windows.assigner import WindowAssigner
from penstock.api.windows.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.api.windows.window_settings import WindowSettings
from penstock.errors import GraphError
from penstock.program.window_operation import Evaluation
from penstock.types.type_parameters import K, T

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream
    from penstock.api.streams.keyed_stream import KeyedStream


class WindowedStream(WindowSettings[T, K], Generic[T, K]):
    """The windows of each key, of type `K`.

    Example:
        >>> keyed = orders.key_by(lambda order: order[0])
        >>> windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(60)))
        >>> sorted(collect(windows.reduce(lambda a, b: (a[0], a[1] + b[1], b[2]))))
        [('ann', 12, 12000), ('bob', 3, 2000)]
        >>> windows.get_input_type(), windows.get_execution_environment() is env
        (Tuple(String, Integer, Long), True)
    """

    _evaluations = (
        (WindowFunction, "apply", Evaluation.APPLY),
        (ProcessWindowFunction, "process", Evaluation.PROCESS),
    )

    def __init__(
        self, keyed_stream: KeyedStream[T, K], window_assigner: WindowAssigner[Any, Any]
    ) -> None:
        """Assign the records of each key to windows.

        Raises:
            ArgumentError: `window_assigner` is no window assigner.
            GraphError: The stream has no key.
        """
        super().__init__(keyed_stream, window_assigner)
        if not keyed_stream.has_key:
            raise GraphError.here(
                "a WindowedStream was made of a stream without a key",
                hint="Call key_by first, or use window_all.",
            )


class AllWindowedStream(WindowSettings[T, None], Generic[T]):
    """The windows of a whole stream, in a single subtask.

    Example:
        >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(10)))
        >>> collect(windows.reduce(lambda a, b: (a[0], a[1] + b[1], b[2])))
        [('ann', 8, 2000), ('ann', 7, 12000)]
        >>> windows.get_input_type(), windows.get_execution_environment() is env
        (Tuple(String, Integer, Long), True)
    """

    _evaluations = (
        (AllWindowFunction, "apply", Evaluation.APPLY_ALL),
        (ProcessAllWindowFunction, "process", Evaluation.PROCESS_ALL),
    )
    _is_of_all = True

    def __init__(
        self, data_stream: DataStream[T], window_assigner: WindowAssigner[Any, Any]
    ) -> None:
        """Assign the records of a whole stream to windows.

        Raises:
            ArgumentError: `window_assigner` is no window assigner.
        """
        super().__init__(data_stream.key_by(_one_key), window_assigner)


def _one_key(_: object) -> int:
    return 0
