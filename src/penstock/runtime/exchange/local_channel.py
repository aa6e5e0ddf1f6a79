"""A channel between operators of one level that are not chained: it uses frames, but no exchange.

Reader and writer are in the same subtask, so frames contain only records. Watermarks, statuses and
ends are passed by calls, in order between the records. A frame is read as soon as it is written: the
reader gets copies of the records, and the channel buffers nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.metrics.task_clock import DECODE, TaskClock
from penstock.runtime.exchange.channel_writer import ChannelWriter, Emit
from penstock.runtime.flow.output import Output
from penstock.wire.frame import decode_records, read_header


class LocalChannel:
    """Writes records into frames and reads them at once."""

    __slots__ = (
        "_clock",
        "_take",
        "advance_watermark",
        "collect",
        "restore_watermark",
        "separate",
        "set_backlog",
        "set_idle",
    )

    def __init__(
        self, make_writer: Callable[[Emit], ChannelWriter], to: Output, clock: TaskClock
    ) -> None:
        """Connect."""
        self._clock = clock
        self._take = to.collect
        self.collect = make_writer(self._read).collect
        self.advance_watermark = to.advance_watermark
        self.restore_watermark = to.restore_watermark
        self.set_idle = to.set_idle
        self.separate = to.separate
        self.set_backlog = to.set_backlog

    def _read(self, _: int, frame: bytes) -> None:
        before = self._clock.switch(DECODE)
        values, timestamps = decode_records(read_header(frame), frame)
        self._take(values, timestamps)
        self._clock.switch(before)
