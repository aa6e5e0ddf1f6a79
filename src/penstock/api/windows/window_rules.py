"""Trigger, evictor and allowed lateness of windows: settings, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from penstock.api.windows.assigner import MergingWindowAssigner, WindowAssigner
from penstock.api.windows.evictors import Evictor
from penstock.api.windows.global_windows import END_OF_STREAM, EndOfStreamWindows, GlobalWindows
from penstock.api.windows.time_assigners import (
    CumulatingEventTimeWindows,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.api.windows.trigger import Trigger
from penstock.api.windows.triggers import (
    EndOfStreamTrigger,
    EventTimeTrigger,
    ProcessingTimeTrigger,
)
from penstock.errors import ArgumentError, GraphError
from penstock.program.window_operation import Evaluation, WindowContents, WindowSpec
from penstock.program.windows import GlobalWindow, RegularWindows, Window
from penstock.types import TypeInformation

if TYPE_CHECKING:
    from penstock.api.environment.environment import StreamExecutionEnvironment

_REGULAR: dict[type, type] = {
    TumblingEventTimeWindows: EventTimeTrigger,
    SlidingEventTimeWindows: EventTimeTrigger,
    CumulatingEventTimeWindows: EventTimeTrigger,
    TumblingProcessingTimeWindows: ProcessingTimeTrigger,
    SlidingProcessingTimeWindows: ProcessingTimeTrigger,
}
"""Assigners of windows at regular distances to the trigger with which they may be stored in panes."""

_BY_TIME = frozenset(
    {
        TumblingEventTimeWindows,
        SlidingEventTimeWindows,
        CumulatingEventTimeWindows,
        EventTimeSessionWindows,
        DynamicEventTimeSessionWindows,
    }
)
"""Assigners of windows that begin before a record or with it, and end after it."""

_LISTS = frozenset({WindowContents.LIST, WindowContents.TWO_LISTS})


class WindowRules:
    """Base of every class of windowed streams."""

    def __init__(self, window_assigner: WindowAssigner[Any, Any]) -> None:
        """Set the assigner.

        Raises:
            ArgumentError: `window_assigner` is no window assigner.
        """
        if not isinstance(window_assigner, WindowAssigner):
            raise ArgumentError.here(
                f"{window_assigner!r} is not a window assigner",
                hint="Pass for example TumblingEventTimeWindows.of(Time.minutes(1)).",
            )
        self._assigner = window_assigner
        self._trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor | None = None
        self._lateness = 0

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment the windows belong to."""
        raise AssertionError(type(self).__name__)  # defined by every class that derives from this

    # FLIP-331, rule 9.
    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Set the trigger, in place of the assigner's default one.

        Args:
            trigger: Decides when a window is evaluated, such as `CountTrigger.of(10)`.

        Returns:
            These windows.

        Raises:
            ArgumentError: `trigger` is no trigger.
            GraphError: The windows merge and the trigger cannot, or they are
                `EndOfStreamWindows`.

        Example:
            >>> windows = numbers.key_by(lambda n: "all").window(GlobalWindows.create())
            >>> collect(windows.trigger(CountTrigger.of(2)).reduce(lambda a, b: a + b))
            [3, 10]
        """
        if not isinstance(trigger, Trigger):
            raise ArgumentError.here(
                f"{trigger!r} is not a trigger", hint="Pass for example CountTrigger.of(10)."
            )
        if isinstance(self._assigner, EndOfStreamWindows):
            raise GraphError.here(
                f"EndOfStreamWindows got the trigger {trigger!r}, but they fire only at the end",
                hint="Use GlobalWindows.create() with a trigger.",
            )
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise GraphError.here(
                f"{self._assigner!r} merges windows, which the trigger {trigger!r} cannot",
                hint="Use a trigger whose can_merge returns True.",
            )
        self._trigger = trigger
        return self

    def evictor(self, evictor: Evictor) -> Self:
        """Set the evictor, which removes records from a window when it fires.

        State then holds all records of a window, even with `reduce` and `aggregate`.

        Args:
            evictor: Such as `CountEvictor.of(10)`.

        Returns:
            These windows.

        Raises:
            ArgumentError: `evictor` is no evictor.
            GraphError: The windows are `EndOfStreamWindows`.

        Example:
            >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(60)))
            >>> last = windows.evictor(CountEvictor.of(1))
            >>> collect(last.reduce(lambda a, b: (a[0], a[1] + b[1], b[2])))
            [('ann', 7, 12000)]
        """
        if not isinstance(evictor, Evictor):
            raise ArgumentError.here(
                f"{evictor!r} is not an evictor", hint="Pass for example CountEvictor.of(10)."
            )
        if isinstance(self._assigner, EndOfStreamWindows):
            raise GraphError.here(
                "EndOfStreamWindows got an evictor",
                hint="Use GlobalWindows.create_with_end_of_stream_trigger().",
            )
        self._evictor = evictor
        return self

    def allowed_lateness(self, time_ms: int) -> Self:
        """Keep the state of windows for a time after their end; a late record fires them again.

        Args:
            time_ms: Milliseconds of event time, 0 or more; the default is 0.

        Returns:
            These windows.

        Raises:
            ArgumentError: It is no such number.

        Example:
            >>> windows = orders.window_all(TumblingEventTimeWindows.of(Time.seconds(60)))
            >>> collect(windows.allowed_lateness(5_000).reduce(max))
            [('bob', 3, 2000)]
        """
        if type(time_ms) is not int or time_ms < 0:
            raise ArgumentError.here(
                f"allowed_lateness got {time_ms!r}", hint="Pass milliseconds as an int, 0 or more."
            )
        self._lateness = time_ms
        return self

    def _spec(
        self,
        contents: WindowContents,
        evaluation: Evaluation,
        function: Any,
        element_type: TypeInformation,
        kept_type: TypeInformation,
        **fields: Any,
    ) -> WindowSpec:
        """Return the window operation; `fields` are further ones of `WindowSpec`."""
        assigner, evictor = self._assigner, self._evictor
        trigger = self._trigger or assigner.get_default_trigger(self.get_execution_environment())
        at_end = _end_of_stream(assigner, trigger)
        return WindowSpec(
            assigner=assigner,
            trigger=trigger,
            contents=contents,
            evaluation=evaluation,
            function=function,
            evictor=evictor,
            allowed_lateness=self._lateness,
            element_type=element_type,
            kept_type=kept_type,
            panes=None if evictor else _panes(assigner, trigger, contents),
            session_gap_ms=None if evictor else _session_gap(assigner, trigger),
            end_of_stream=None if evictor else at_end,
            fires_only_at_end=at_end is not None,
            merges_neighbours=getattr(assigner, "merges_neighbours", False),
            is_merging=isinstance(assigner, MergingWindowAssigner),
            ends_behind_records=type(assigner) in _BY_TIME and type(trigger) is EventTimeTrigger,
            **({"fold_function": None, "late_tag": None} | fields),
        )


def _panes(assigner: Any, trigger: Any, contents: WindowContents) -> RegularWindows | None:
    """Return the shape of windows that may be stored in panes.

    Lists are stored in panes for tumbling windows only, so that elements stay in order of arrival.
    """
    if _REGULAR.get(type(assigner)) is not type(trigger):
        return None
    windows: RegularWindows = assigner.regular
    return None if contents in _LISTS and not windows.is_tumbling else windows


def _session_gap(assigner: Any, trigger: Any) -> int | None:
    if type(assigner) is not EventTimeSessionWindows or type(trigger) is not EventTimeTrigger:
        return None
    return assigner.session_gap


def _end_of_stream(assigner: Any, trigger: Any) -> Window | None:
    if type(trigger) is not EndOfStreamTrigger:
        return None
    windows: dict[type, Window] = {
        EndOfStreamWindows: END_OF_STREAM,
        GlobalWindows: GlobalWindow.get(),
    }
    return windows.get(type(assigner))
