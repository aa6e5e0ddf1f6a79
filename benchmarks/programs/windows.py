"""The windows of bounded programs: all records of a key, in each mode."""

from __future__ import annotations

from typing import Any

from benchmarks.model.shape import STREAMING, Shape
from penstock.datastream.window import EndOfStreamWindows, EventTimeTrigger, GlobalWindows

STREAMING_NOTE = (
    "A global window with an event-time trigger, which the general window operator keeps in state; "
    "an end-of-stream window would make the bounded input a batch run in this mode, too."
)


def over_everything(windowable: Any, shape: Shape) -> Any:
    """Return a stream with one window per key that answers at the end.

    Args:
        windowable: What has a `window` method: a keyed stream or the keys of a coGroup.
        shape: Whose mode decides: STREAMING is what a program does without FLIP-331, as in the
            baseline of the proposal's own benchmark.
    """
    if shape.mode == STREAMING:
        return windowable.window(GlobalWindows.create()).trigger(EventTimeTrigger.create())
    return windowable.window(EndOfStreamWindows.get())
