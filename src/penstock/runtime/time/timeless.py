"""Jobs, and parts of jobs, without time: outputs without timestamps, and errors.

FLIP-330 §1.5: in a job that was planned without timestamps, a watermark is an error whose hint is to
turn watermarks off, and reading the timestamp of a record is an error whose hint is to configure a
watermark strategy.
"""

from __future__ import annotations

from typing import Any

from penstock.errors import CallSite, TimestampUnsupportedError, WatermarkUnsupportedError
from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import ForwardingOutput
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP

_WITHOUT = "the job runs without timestamps and watermarks"


# FLIP-330, rule 6.
class UntimedOutput(ForwardingOutput):
    """Forwards records without their timestamps."""

    __slots__ = ()

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Forward the values of a batch."""
        self._output.collect(values, None)


def check_watermark(watermark: int, subject: str, origin: CallSite | None) -> None:
    """Refuse any watermark except Long.MIN and the end of input."""
    if watermark not in (MIN_TIMESTAMP, MAX_WATERMARK):
        raise no_watermarks(f"the watermark {watermark}", subject, origin)


# FLIP-330, rule 4.
def no_watermarks(what: str, subject: str, origin: CallSite | None) -> WatermarkUnsupportedError:
    """Return the error about an element about time in a job without time."""
    return WatermarkUnsupportedError(
        f"{what} reached {subject}, but {_WITHOUT}",
        hint="Remove watermark strategies, timers and windows of event time, or set "
        "pipeline.force-timestamp-support to true.",
        origin=origin,
    )


# FLIP-330, rule 5.
def no_timestamp(spec: OperatorSpec) -> TimestampUnsupportedError:
    """Return the error about a function that reads the timestamp of a record."""
    return TimestampUnsupportedError(
        f"operator {spec.name!r} requested the timestamp of a record, but {_WITHOUT}",
        hint="Configure a watermark strategy with a timestamp assigner, or set "
        "pipeline.force-timestamp-support to true.",
        origin=spec.origin,
    )
