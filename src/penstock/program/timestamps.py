"""The settings of an operator that assigns timestamps and makes watermarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.program.watermark_generator import WatermarkGenerator


@dataclass(frozen=True, slots=True)
class TimestampSpec:
    """The settings of an operator that assigns timestamps and makes watermarks.

    Attributes:
        assigner: (value, previous timestamp) to epoch milliseconds; None keeps them.
        out_of_orderness_ms: The watermark is greatest timestamp minus this minus 1; None
            makes no watermarks.
        make_generator: Makes the user's own watermark generators, given the runtime context;
            then there is no out-of-orderness.
        idle_ms: Time without records after which a split is idle; None is never.
    """

    assigner: Callable[[Any, int], int] | None
    out_of_orderness_ms: int | None
    make_generator: Callable[[Any], WatermarkGenerator] | None = None
    idle_ms: int | None = None
