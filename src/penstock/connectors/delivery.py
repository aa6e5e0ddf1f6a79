"""How often a record may reach a sink."""

from __future__ import annotations

from enum import Enum


class DeliveryGuarantee(Enum):
    """What a sink promises about each record after failures."""

    EXACTLY_ONCE = "exactly-once"
    """It is there once: a `Sink` with a committer, such as `FileSink`."""

    AT_LEAST_ONCE = "at-least-once"
    """It may be there more than once: a function passed to `add_sink`."""

    NONE = "none"
    """Nothing."""
