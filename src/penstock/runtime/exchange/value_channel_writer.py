"""The sending end of a channel of a job without time: it sends values and the end of input.

FLIP-330 §1.4. A frame of such a channel has no timestamps, and the channel sends no watermarks or
statuses. Operators must still react to the end of a bounded input, so `EndOfInput` is sent.
"""

from __future__ import annotations

from penstock.program.channel import ChannelSpec, ChannelTime
from penstock.program.run_settings import RunSettings
from penstock.runtime.exchange.channel_writer import ChannelWriter, Emit, FrameSequence
from penstock.runtime.time.timeless import check_watermark, no_watermarks
from penstock.wire.elements import EndOfInput


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
        """Store the end of input.

        Raises:
            WatermarkUnsupportedError: It is another watermark.
        """
        check_watermark(watermark, self._subject, self._origin)
        super().advance_watermark(watermark)

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001 - a status, not a switch
        """Refuse.

        Raises:
            WatermarkUnsupportedError: Always.
        """
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
