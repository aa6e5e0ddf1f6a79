"""The delivery guarantee of sinks."""

from __future__ import annotations

from enum import Enum


class DeliveryGuarantee(Enum):
    """The guarantee of a sink whose tasks fail and are repeated."""

    EXACTLY_ONCE = "exactly-once"
    """Each record is visible once: a `Sink` with a committer, such as `FileSink`."""

    AT_LEAST_ONCE = "at-least-once"
    """Each record is written once or more: a function passed to `add_sink`."""

    NONE = "none"
    """No guarantee."""
