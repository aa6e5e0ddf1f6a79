"""The names of `pyflink.datastream.state`."""

from __future__ import annotations

from penstock.api.state import ValueState, ValueStateDescriptor

__all__ = ["ValueState", "ValueStateDescriptor"]
