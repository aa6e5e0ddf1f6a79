"""Programs that evaluate their annotations, as those without `from __future__` do."""

from __future__ import annotations

from tests.conformance.porting import ported, run_program

PROGRAM = """
from typing import Iterable, Tuple

from pyflink.common import Row, WatermarkStrategy
from pyflink.common.constants import MAX_LONG_VALUE, MIN_LONG_VALUE
from pyflink.common.serializer import TypeSerializer
from pyflink.common.typeinfo import TypeInformation, Types
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    BroadcastProcessFunction, CoProcessFunction, DataStream, KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction, KeyedStream, OutputTag, ProcessFunction, ProcessWindowFunction,
    StreamExecutionEnvironment, TimerService, WindowFunction,
)
from pyflink.datastream.functions import (
    AggregateFunction, AllWindowFunction, AsyncFunction, BaseBroadcastProcessFunction,
    KeyedProcessFunction, KeyedStateStore, ProcessAllWindowFunction, RuntimeContext,
)
from pyflink.datastream.state import BroadcastState, ListState, MapState, ValueState
from pyflink.datastream.window import (
    CountWindow, MergingWindowAssigner, TimeWindow, TimeWindowSerializer, Trigger, TriggerResult,
    WindowAssigner,
)


class Plain(ProcessFunction):
    def process_element(self, value: Row, ctx: ProcessFunction.Context) -> Iterable[Row]:
        service: TimerService = ctx.timer_service()
        yield value


class Keyed(KeyedProcessFunction):
    state: ValueState

    def process_element(self, value, ctx: KeyedProcessFunction.Context): ...
    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext): ...


class Co(CoProcessFunction):
    def process_element1(self, value, ctx: CoProcessFunction.Context): ...
    def process_element2(self, value, ctx: CoProcessFunction.Context): ...


class KeyedCo(KeyedCoProcessFunction):
    def process_element1(self, value, ctx: KeyedCoProcessFunction.Context): ...
    def process_element2(self, value, ctx: KeyedCoProcessFunction.Context): ...
    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext): ...


class Broadcast(BroadcastProcessFunction[int, str, str]):
    def process_element(self, value, ctx: BroadcastProcessFunction.ReadOnlyContext): ...
    def process_broadcast_element(self, value, ctx: BroadcastProcessFunction.Context): ...
    def both(self, ctx: BaseBroadcastProcessFunction.BaseContext): ...


class KeyedBroadcast(KeyedBroadcastProcessFunction[str, int, str, str]):
    def process_element(self, value, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext): ...
    def process_broadcast_element(self, value, ctx: KeyedBroadcastProcessFunction.Context): ...
    def on_timer(self, timestamp, ctx: KeyedBroadcastProcessFunction.OnTimerContext): ...


class OfWindow(ProcessWindowFunction[tuple, tuple, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[tuple]
    ) -> Iterable[Tuple[str, int]]: ...
    def clear(self, context: ProcessWindowFunction.Context) -> None: ...


class OfAll(ProcessAllWindowFunction[tuple, tuple, TimeWindow]):
    def process(self, context: ProcessAllWindowFunction.Context[TimeWindow], elements): ...
    def clear(self, context: ProcessAllWindowFunction.Context) -> None: ...


class Apply(WindowFunction[tuple, tuple, str, CountWindow]):
    def apply(self, key: str, window: CountWindow, inputs: Iterable[tuple]): ...


class ApplyAll(AllWindowFunction[tuple, tuple, TimeWindow]):
    def apply(self, window: TimeWindow, inputs: Iterable[tuple]): ...


class Calls(AsyncFunction[int, str]):
    async def async_invoke(self, value: int): ...


class Assigner(WindowAssigner[tuple, TimeWindow]):
    def assign_windows(
        self, element: tuple, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ): ...
    def get_default_trigger(self, env) -> Trigger[tuple, TimeWindow]: ...
    def get_window_serializer(self) -> TypeSerializer[TimeWindow]: ...
    def is_event_time(self) -> bool: ...


class Merging(MergingWindowAssigner[tuple, TimeWindow]):
    def merge_windows(
        self, windows: Iterable[TimeWindow],
        callback: MergingWindowAssigner.MergeCallback[TimeWindow],
    ) -> None: ...


class Own(Trigger[tuple, CountWindow]):
    def on_element(
        self, element: tuple, timestamp: int, window: CountWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult: ...
    def on_processing_time(self, time: int, window: CountWindow, ctx: Trigger.TriggerContext): ...
    def on_event_time(self, time: int, window: CountWindow, ctx: Trigger.TriggerContext): ...
    def on_merge(self, window: CountWindow, ctx: Trigger.OnMergeContext) -> None: ...
    def clear(self, window: CountWindow, ctx: Trigger.TriggerContext) -> None: ...


def build(env: StreamExecutionEnvironment, stream: DataStream, keyed: KeyedStream) -> TypeInformation:
    return Types.STRING()


print("evaluated")
"""


def test_annotations_are_evaluated(capsys):
    run_program(ported(PROGRAM), "annotations.py")
    assert capsys.readouterr().out == "evaluated\n"
