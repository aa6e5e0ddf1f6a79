"""The names of `pyflink.common.time`."""

from __future__ import annotations

from penstock.types import Duration, Instant, Time

__all__ = ["Duration", "Instant", "Time"]
