"""The enums of the checkpointing settings."""

from __future__ import annotations

from enum import Enum


class CheckpointingMode(Enum):
    """The guarantee that the program asks for."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    """Accepted; the job is exactly once all the same."""


class ExternalizedCheckpointRetention(Enum):
    """Fate of the checkpoints of a cancelled job.

    Accepted: a directory that `execution.checkpointing.dir` names is always kept.
    """

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2
