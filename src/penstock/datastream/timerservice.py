"""The names of `pyflink.datastream.timerservice`."""

from __future__ import annotations

from penstock.api.context import TimerService

__all__ = ["TimerService"]
