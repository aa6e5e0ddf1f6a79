"""The names of `pyflink.datastream.timerservice`."""

from penstock.api.functions.context import TimerService

__all__ = ["TimerService"]
