"""The elements about time that a channel has sent, and those that are due."""

from __future__ import annotations

from penstock.wire.elements import (
    MAX_WATERMARK,
    MIN_TIMESTAMP,
    ControlElement,
    Watermark,
    WatermarkStatus,
)


class ChannelTimeline:
    """Watermark and idleness of one channel in one task.

    Attributes:
        greatest: Greatest watermark over all splits so far.
        sender: (group, split) of the current records, None if it is unknown.
    """

    def __init__(self) -> None:
        """Begin without a watermark; nothing is sent."""
        self.greatest = MIN_TIMESTAMP
        self.sender: tuple[int, int] | None = None
        self._watermark = self._sent_watermark = MIN_TIMESTAMP
        self._idle: bool | None = None
        self._sent_idle: bool | None = None

    @property
    def watermark(self) -> int:
        """The watermark of the current split."""
        return self._watermark

    def start_split(self, sender: tuple[int, int] | None) -> None:
        """Reset the watermark: another split begins."""
        self._watermark = self._sent_watermark = MIN_TIMESTAMP
        self._idle = self._sent_idle = None
        self.sender = sender

    def advance(self, watermark: int) -> None:
        """Store a watermark."""
        self._watermark = max(watermark, self._watermark)
        self.greatest = max(watermark, self.greatest)

    def restore(self, watermark: int) -> None:
        """Set the watermark that was already sent."""
        self._watermark = self._sent_watermark = watermark

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001 - a status, not a switch
        """Store whether the sender is idle."""
        self._idle = idle

    def take_update(self, group: int, split: int, *, finished: bool) -> list[ControlElement]:
        """Return the elements to send for a split, and record them as sent."""
        updates: list[ControlElement] = []
        if self._watermark != self._sent_watermark or finished:
            updates.append(Watermark(group, split, self._watermark, finished))
            self._sent_watermark = self._watermark
        if self._idle is not None and self._idle != self._sent_idle and not finished:
            updates.append(WatermarkStatus(group, split, self._idle))
            self._sent_idle = self._idle
        return updates

    def take_end(self, *, finished: bool) -> bool:
        """Return whether to send the end of input in a job without time, and record it as sent."""
        if self._watermark != MAX_WATERMARK:
            return False
        is_news = finished or self._sent_watermark != MAX_WATERMARK
        self._sent_watermark = MAX_WATERMARK
        return is_news
