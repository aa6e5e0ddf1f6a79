"""How a job treats the records of its sources."""

from __future__ import annotations

from enum import Enum


class RuntimeExecutionMode(Enum):
    """When results become visible. Never what they finally are."""

    STREAMING = 0
    """Records are processed as they arrive; bounded and unbounded sources are allowed."""

    BATCH = 1
    """Every source must end; only final results are emitted."""

    AUTOMATIC = 2
    """BATCH if every source is bounded, otherwise STREAMING."""
