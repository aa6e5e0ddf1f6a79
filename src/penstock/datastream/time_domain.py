"""The names of `pyflink.datastream.time_domain`."""

from __future__ import annotations

from penstock.types import TimeDomain

__all__ = ["TimeDomain"]
