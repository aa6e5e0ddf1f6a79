"""Kernels of dates and timestamps. Those with a zone are computed in UTC, whatever zone a session has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.expressions.kinds import MICROS_PER_DAY
from penstock.expressions.tree import Call

_MICROS_PER_MILLI = 1_000


def without_zone(value: Any) -> Any:
    """Return timestamps of UTC without the zone; dates stay."""
    return value.cast(pa.timestamp("us")) if pa.types.is_timestamp(value.type) else value


def part(kernel: Callable[[Any], Any]) -> Callable[[Call, Any], Any]:
    """Return the kernel of a part of dates and timestamps, such as the year."""

    def extract(_: Call, value: Any) -> Any:
        return kernel(without_zone(value)).cast(pa.int32())

    return extract


def epoch_millis(_: Call, value: Any) -> Any:
    """Return milliseconds since 1970, rounded down."""
    micros = value.cast(pa.int64())
    millis = pc.divide(micros, _MICROS_PER_MILLI)
    is_above = pc.greater(pc.multiply(millis, _MICROS_PER_MILLI), micros)
    return pc.subtract(millis, is_above.cast(pa.int64()))


def truncate(call: Call, value: Any) -> Any:
    """Return the begin of the unit of timestamps."""
    return pc.floor_temporal(without_zone(value), unit=call.parameters[0]).cast(value.type)


def days_since(_: Call, value: Any, other: Any) -> Any:
    """Return the days from other dates."""
    return pc.subtract(value.cast(pa.int32()), other.cast(pa.int32()))


def shift(call: Call, value: Any) -> Any:
    """Return timestamps some microseconds later, or dates some days."""
    if pa.types.is_date(value.type):
        days = pa.scalar(call.parameters[0] // MICROS_PER_DAY, pa.int32())
        return pc.add_checked(value.cast(pa.int32()), days).cast(value.type)
    moved = pc.add_checked(value.cast(pa.int64()), pa.scalar(call.parameters[0], pa.int64()))
    return moved.cast(value.type)
