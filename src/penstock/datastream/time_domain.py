"""The names of `pyflink.datastream.time_domain`."""

from penstock.types import TimeDomain

__all__ = ["TimeDomain"]
