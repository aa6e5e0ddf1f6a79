"""Memory of subtasks that moves to other ones: the watermarks behind the move are those without it.

Splits end, sources go on with their next part, and channels become others; a watermark that stops at the move is found
here, and not in results: the end of the input fires every timer.
"""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.program.channel import WatermarkGroup
from penstock.runtime.task.subtask_memory import SubtaskMemory
from penstock.runtime.time.watermarks import ChannelWatermarks
from penstock.spark.job.state_layout import ChannelOutline
from penstock.wire.elements import ControlElement, EndOfInput, NextPart, Watermark

SOURCES = (WatermarkGroup(7, 2, later=((3, False),)), WatermarkGroup(8, 1))
ELEMENTS: list[ControlElement] = [
    Watermark(7, 0, 10, finished=False),
    Watermark(8, 0, 12, finished=False),
    Watermark(7, 1, 11, finished=True),
    Watermark(7, 0, 20, finished=False),
    Watermark(8, 0, 40, finished=False),
    Watermark(7, 0, 21, finished=True),
    NextPart(7),
    Watermark(7, 0, 30, finished=False),
    Watermark(7, 2, 33, finished=False),
    Watermark(7, 1, 31, finished=True),
    EndOfInput(8),
    Watermark(7, 0, 50, finished=False),
    Watermark(7, 2, 60, finished=False),
]
FROM_SOURCES = ChannelOutline("records", "count", (7, 8))
BETWEEN = ChannelOutline("count", "total", None)


def memory_of(channels: dict[int, Any], ends: dict[int, ChannelOutline]) -> SubtaskMemory:
    remembered = {number: marks.remember() for number, marks in channels.items()}
    memories = [pickle.dumps((remembered, {"count": memory})) for memory in (5, 3)]
    return SubtaskMemory.of([b"", *memories], ends)


def moved_to(
    memory: SubtaskMemory, ends: ChannelOutline, groups: tuple[WatermarkGroup, ...]
) -> ChannelWatermarks:
    """Return channel 4 of another program, with what it begins with."""
    program: Any = SimpleNamespace(inputs=[SimpleNamespace(id=4)], watermark_groups={4: groups})
    channels, operators = pickle.loads(memory.moved(program, {4: ends}))
    assert operators == {"count": 3}
    made = ChannelWatermarks(groups, {})
    made.restore(channels[4])
    return made


@pytest.mark.parametrize("behind", range(len(ELEMENTS)))
@pytest.mark.parametrize("ends", [FROM_SOURCES, ChannelOutline("records", "few", (7, 8))])
def test_progress_of_splits_and_parts_goes_on(behind: int, ends: ChannelOutline) -> None:
    """Also in a channel of the sources that was not there before: to an operator that has an exchange now."""
    whole = ChannelWatermarks(SOURCES, {})
    for element in ELEMENTS[:behind]:
        whole.accept(element)
    moved = moved_to(memory_of({2: whole}, {2: FROM_SOURCES}), ends, SOURCES)
    for element in ELEMENTS[behind:]:
        assert (moved.current, moved.by_group()) == (whole.current, whole.by_group())
        whole.accept(element)
        moved.accept(element)
    assert moved.current == whole.current == 50


def test_new_senders_begin_with_the_watermark_of_all() -> None:
    senders = tuple(WatermarkGroup(subtask, 1) for subtask in range(3))
    before = ChannelWatermarks(senders[:2], {})
    before.accept(Watermark(0, 0, 25, finished=False))
    before.accept(Watermark(1, 0, 20, finished=False))
    after = moved_to(memory_of({1: before}, {1: BETWEEN}), BETWEEN, senders)
    assert after.current == 20
    for subtask in range(3):
        assert after.current == 20
        after.accept(Watermark(subtask, 0, 30 + subtask, finished=False))
    assert after.current == 30


def test_a_channel_between_operators_that_was_from_sources_keeps_its_watermark() -> None:
    whole = ChannelWatermarks(SOURCES, {})
    for element in ELEMENTS[:5]:
        whole.accept(element)
    few = ChannelOutline("records", "count", None)
    after = moved_to(memory_of({2: whole}, {2: FROM_SOURCES}), few, (WatermarkGroup(0, 1),))
    assert after.current == whole.current == 20
