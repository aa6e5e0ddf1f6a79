"""The names of `pyflink.datastream.window`, and Flink's evictors."""

from penstock.api.windows.assigner import MergingWindowAssigner, WindowAssigner
from penstock.api.windows.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)
from penstock.api.windows.count import CountSlidingWindowAssigner, CountTumblingWindowAssigner
from penstock.api.windows.count_trigger import CountTrigger
from penstock.api.windows.evictors import CountEvictor, DeltaEvictor, Evictor, TimeEvictor
from penstock.api.windows.global_triggers import EndOfStreamTrigger, NeverTrigger
from penstock.api.windows.global_windows import EndOfStreamWindows, GlobalWindows
from penstock.api.windows.purging_trigger import PurgingTrigger
from penstock.api.windows.serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
    TimeWindowSerializer,
)
from penstock.api.windows.session import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from penstock.api.windows.sliding import SlidingEventTimeWindows, SlidingProcessingTimeWindows
from penstock.api.windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.api.windows.trigger import Trigger
from penstock.api.windows.tumbling import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from penstock.program.windows import CountWindow, GlobalWindow, TimeWindow, TriggerResult, Window

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountEvictor",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "CountWindowSerializer",
    "DeltaEvictor",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EndOfStreamTrigger",
    "EndOfStreamWindows",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "Evictor",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "GlobalWindows",
    "MergingWindowAssigner",
    "NeverTrigger",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "PurgingTrigger",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeEvictor",
    "TimeWindow",
    "TimeWindowSerializer",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "Window",
    "WindowAssigner",
]
