"""Stages the output for sinks in the stage that makes it, so that it does not travel through later stages.

    stage 0 ─▶ records of level 1 ─▶ stage 1 ─▶ … ─▶ the last stage
         └──▶ a sink's records: staged here; what the driver needs of them goes on, a few bytes

Without that each exchange between a level and the last one would write and read these records once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from penstock.metrics.task_clock import OTHER, START, WAIT, TaskClock
from penstock.program.channel import SINK_LEVEL, StreamPartitioner
from penstock.program.level import LevelProgram
from penstock.spark.live.epochs.log_frames import staged_frame
from penstock.spark.worker.sink_task import SinkMessage, SinkStaging, SinkTask
from penstock.wire.frame import FrameKind, read_header

Row = tuple[int, bytes]
"""(route, frame)."""


@dataclass(frozen=True, slots=True)
class EarlySinks:
    """Stages what one stage makes for some sinks.

    Attributes:
        sink: The sinks.
        channels: The channels of its level that lead to them.
    """

    sink: SinkTask
    channels: frozenset[int]

    def staged(self, rows: Iterable[Row], task: int) -> Iterator[Row]:
        """Yield what later stages need of the output of a task.

        Raises:
            PenstockError: A sink failed, or whatever makes the rows.
        """
        message, route = SinkMessage(), 0
        staging: SinkStaging | None = None
        clock = TaskClock(START)
        with ExitStack() as opened:
            for row in rows:
                route = row[0]
                if not self._is_own(row[1]):
                    yield row
                    continue
                clock.switch(OTHER)
                if staging is None:
                    clock.switch(START)
                    made = SinkStaging(self.sink, message, task, clock)
                    staging = opened.enter_context(made)
                staging.take(row[1])
                clock.switch(WAIT)
            if staging is None:
                return
            staging.finish()
        yield route, staged_frame(task, message)

    def _is_own(self, frame: bytes) -> bool:
        header = read_header(frame)
        is_record = header.kind is FrameKind.RECORDS and header.target_level == SINK_LEVEL
        return is_record and header.channel in self.channels


def early_channels(programs: Sequence[LevelProgram]) -> dict[int, frozenset[int]]:
    """Return level to the channels whose records are staged there.

    They are those of sinks that only this level feeds. A sink that several levels feed is written in the
    last stage, as is one that gets every record in every subtask: then its writers are as many as before.
    """
    specs = [
        spec for program in programs for spec in program.outputs if spec.target_level == SINK_LEVEL
    ]
    last = programs[-1].level
    found: dict[int, set[int]] = {}
    for spec in specs:
        of_sink = [each for each in specs if each.target_operator == spec.target_operator]
        levels = {each.source_level for each in of_sink}
        copies = any(each.partitioner is StreamPartitioner.BROADCAST for each in of_sink)
        if len(levels) == 1 and spec.source_level < last and not copies:
            found.setdefault(spec.source_level, set()).add(spec.id)
    return {level: frozenset(channels) for level, channels in found.items()}
