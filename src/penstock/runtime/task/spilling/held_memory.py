"""Limit of the memory that the frames of a key group would take as objects.

Nothing is done per record. Frames are counted in bytes; only where that is a considerable part of
the limit are records looked at, a few of one frame per input, and again when a key group holds
twice as much.
"""

from __future__ import annotations

from penstock.runtime.exchange.level_input import InputTarget, LevelInput
from penstock.runtime.spill.record_size import bytes_per_record, record_overhead
from penstock.wire.frame import FrameHeader, decode_records

_LARGEST_GROWTH = 512  # bytes in memory per byte of a frame: beyond what any records need


class HeldMemory:
    """Compares what a level holds with a limit."""

    def __init__(self, limit_bytes: int) -> None:
        """Know no sizes yet."""
        self._limit = limit_bytes
        self._look_at = 0
        self._sizes: dict[InputTarget, int] = {}
        self._measured_at: dict[InputTarget, int] = {}
        self.start_group()

    def start_group(self) -> None:
        """Begin with the next key group; the sizes of records stay known."""
        self._look_at = self._limit // _LARGEST_GROWTH

    def is_exceeded_by(self, arrived: LevelInput) -> bool:
        """Return whether the frames held of a key group are too many; call after each."""
        held = arrived.held_bytes
        if held <= self._look_at:
            return False
        estimated = 0
        for target, frames in arrived.held().items():
            stamped = any(header.has_timestamps for header, _ in frames)
            each = self._size(target, frames, held) + record_overhead(stamped=stamped)
            estimated += sum(len(frame) + header.count * each for header, frame in frames)
        if estimated > self._limit:
            return True
        until_limit = held * (self._limit - estimated) // max(1, estimated)
        self._look_at = held + max(held // 8, until_limit // 2)
        return False

    def _size(self, target: InputTarget, frames: list[tuple[FrameHeader, bytes]], held: int) -> int:
        known = self._sizes.get(target)
        if known is None or held >= 2 * self._measured_at[target]:
            values, _ = decode_records(*frames[-1])
            known = self._sizes[target] = max(known or 0, bytes_per_record(values))
            self._measured_at[target] = held
        return known
