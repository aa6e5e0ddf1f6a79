"""A watermark that stays behind, so that rows which a join has kept back are not late."""

from __future__ import annotations

from typing import Any

from penstock.api.functions.stream_operators import OneInputStreamOperator
from penstock.types.row import Row


class LateWatermark(OneInputStreamOperator[Row, Row]):
    """Emits rows as they are, and watermarks of some milliseconds before; the last one stays the last one."""

    def __init__(self, lag_ms: int) -> None:
        """Make the operator."""
        self._lag_ms = lag_ms

    def process_element(self, value: Row, ctx: Any) -> None:
        """Emit a row."""
        self.output.collect(value)

    def process_watermark(self, watermark: int) -> None:
        """Emit an earlier watermark."""
        self.output.emit_watermark(watermark - self._lag_ms)
