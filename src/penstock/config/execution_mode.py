"""The execution mode of a job."""

from __future__ import annotations

from enum import Enum


class RuntimeExecutionMode(Enum):
    """Decides when results become visible, never what the final results are."""

    STREAMING = 0
    """Records are processed as they arrive; bounded and unbounded sources are allowed."""

    BATCH = 1
    """Every source must end; only final results are emitted."""

    AUTOMATIC = 2
    """BATCH if every source is bounded, otherwise STREAMING."""
