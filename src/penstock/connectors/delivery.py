"""How often a record may reach a sink."""

from __future__ import annotations

from enum import Enum


class DeliveryGuarantee(Enum):
    """How often a record may reach a sink when tasks fail and are repeated."""

    EXACTLY_ONCE = "exactly-once"
    """It is there once: a `Sink` with a committer, such as `FileSink`."""

    AT_LEAST_ONCE = "at-least-once"
    """It may be there more than once: a function passed to `add_sink`."""

    NONE = "none"
    """Nothing."""
