"""The names of `pyflink.common.time`."""

from penstock.types import Duration, Instant, Time

__all__ = ["Duration", "Instant", "Time"]
