"""The names of `pyflink.common.watermark_strategy`."""

from __future__ import annotations

from penstock.api.watermark import TimestampAssigner, WatermarkStrategy

__all__ = ["TimestampAssigner", "WatermarkStrategy"]
