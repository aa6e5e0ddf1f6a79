"""Channels between operators of one level that are not chained, and channels of jobs without time."""

from __future__ import annotations

from collections.abc import Callable

from penstock.metrics.task_clock import DECODE, TaskClock
from penstock.program.channel import ChannelSpec, ChannelTime
from penstock.program.run_settings import RunSettings
from penstock.runtime.exchange.channel_writer import ChannelWriter, Emit, FrameSequence
from penstock.runtime.flow.output import ForwardingOutput, Output
from penstock.runtime.time.timeless import check_watermark, no_watermarks
from penstock.wire.elements import EndOfInput
from penstock.wire.frame import decode_records, read_header


# FLIP-330, rule 2.
class ValueChannelWriter(ChannelWriter):
    """Writes values only; refuses elements about time."""

    def __init__(
        self, spec: ChannelSpec, settings: RunSettings, sequence: FrameSequence, emit: Emit
    ) -> None:
        super().__init__(spec, settings, sequence, emit)
        self._subject = f"channel {spec.id} to operator {spec.target_name!r}"
        self._origin = spec.origin

    def advance_watermark(self, watermark: int) -> None:
        """Store the end of input; refuse any other watermark."""
        check_watermark(watermark, self._subject, self._origin)
        super().advance_watermark(watermark)

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001 - a status, not a switch
        """Refuse."""
        raise no_watermarks(
            f"the watermark status {'idle' if idle else 'active'}", self._subject, self._origin
        )

    def separate(self) -> None:
        """Do nothing: there is no watermark that could take effect between records."""

    def send_watermark(self, group: int, split: int, *, finished: bool) -> None:
        """Send the end of input after it has arrived."""
        if not self.is_to_sink and self.timeline.take_end(finished=finished):
            self.send_control((EndOfInput(group),))


def make_channel_writer(
    spec: ChannelSpec, settings: RunSettings, sequence: FrameSequence, emit: Emit
) -> ChannelWriter:
    """Return the writer of a channel."""
    make = ValueChannelWriter if spec.time is ChannelTime.NONE else ChannelWriter
    return make(spec, settings, sequence, emit)


class LocalChannel(ForwardingOutput):
    """Writes records into frames and reads them at once."""

    __slots__ = ("_clock", "_take", "collect")

    def __init__(
        self, make_writer: Callable[[Emit], ChannelWriter], to: Output, clock: TaskClock
    ) -> None:
        """Connect."""
        super().__init__(to)
        self._clock = clock
        self._take = to.collect
        self.collect = make_writer(self._read).collect

    def _read(self, _: int, frame: bytes) -> None:
        before = self._clock.switch(DECODE)
        values, timestamps = decode_records(read_header(frame), frame)
        self._take(values, timestamps)
        self._clock.switch(before)
