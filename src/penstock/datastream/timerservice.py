"""The names of `pyflink.datastream.timerservice`."""

from __future__ import annotations

from penstock.api.functions.context import TimerService

__all__ = ["TimerService"]
