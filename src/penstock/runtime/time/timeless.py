"""Jobs, and parts of jobs, without time: what leaves without timestamps, and what is refused.

FLIP-330 §1.5: in a job that was planned without timestamps, a watermark is an error that tells to
turn watermarks off, and asking for the timestamp of a record is one that tells to configure a
watermark strategy.
"""

from __future__ import annotations

from typing import Any

from penstock.errors import CallSite, TimestampUnsupportedError, WatermarkUnsupportedError
from penstock.program.operator_spec import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP

_WITHOUT = "the job runs without timestamps and watermarks"


class UntimedOutput:
    """Passes records on without their timestamps."""

    __slots__ = (
        "_collect",
        "advance_watermark",
        "restore_watermark",
        "separate",
        "set_backlog",
        "set_idle",
    )

    def __init__(self, output: Output) -> None:
        self._collect = output.collect
        self.advance_watermark = output.advance_watermark
        self.restore_watermark = output.restore_watermark
        self.set_idle = output.set_idle
        self.separate = output.separate
        self.set_backlog = output.set_backlog

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Pass a batch on, values only."""
        self._collect(values, None)


def check_watermark(watermark: int, subject: str, origin: CallSite | None) -> None:
    """Let pass what says that nothing was said yet, and the end of input.

    Args:
        watermark: Reaches a job without time.
        subject: Whom it reaches, e.g. `operator 'totals'`.
        origin: The user's line that created it.

    Raises:
        WatermarkUnsupportedError: It is another one.
    """
    if watermark not in (MIN_TIMESTAMP, MAX_WATERMARK):
        raise no_watermarks(f"the watermark {watermark}", subject, origin)


def no_watermarks(what: str, subject: str, origin: CallSite | None) -> WatermarkUnsupportedError:
    """Return the error for an element about time in a job without."""
    return WatermarkUnsupportedError(
        f"{what} reached {subject}, but {_WITHOUT}",
        hint="Turn off what makes watermarks to run without them, or set "
        "pipeline.force-timestamp-support to true.",
        origin=origin,
    )


def no_timestamp(spec: OperatorSpec) -> TimestampUnsupportedError:
    """Return the error for a function that asks for the timestamp of a record."""
    return TimestampUnsupportedError(
        f"operator {spec.name!r} asked for the timestamp of a record, but {_WITHOUT}",
        hint="Configure a watermark strategy with a timestamp assigner, or set "
        "pipeline.force-timestamp-support to true.",
        origin=spec.origin,
    )
