"""Rolling policies of Flink's file sink.

A file ends with its micro-batch (or batch run) at the latest, so that each is committed exactly once. A rolling
policy may end it earlier, by its size.
"""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_PART_BYTES = 128 * 1024 * 1024
"""Flink's default size of a part file."""


@dataclass(frozen=True, slots=True)
class RollingPolicy:
    """Condition for the end of a file: every checkpoint, and by the default policy a size before that.

    Example:
        >>> RollingPolicy.on_checkpoint_rolling_policy()
        OnCheckpointRollingPolicy()
    """

    @staticmethod
    def default_rolling_policy(
        part_size: int = DEFAULT_PART_BYTES,
        rollover_interval: int = 60_000,
        inactivity_interval: int = 60_000,
    ) -> DefaultRollingPolicy:
        """Return Flink's default policy.

        Args:
            part_size: Bytes.
            rollover_interval: Milliseconds; without effect, as no file outlives its micro-batch.
            inactivity_interval: The same.
        """
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Return the policy by which files end with every checkpoint."""
        return OnCheckpointRollingPolicy()


@dataclass(frozen=True, slots=True)
class DefaultRollingPolicy(RollingPolicy):
    """A file ends by its size.

    Attributes:
        part_size: Bytes.
        rollover_interval: Milliseconds; without effect.
        inactivity_interval: Milliseconds; without effect.

    Example:
        >>> RollingPolicy.default_rolling_policy(part_size=1_000_000).part_size
        1000000
    """

    part_size: int
    rollover_interval: int
    inactivity_interval: int


@dataclass(frozen=True, slots=True)
class OnCheckpointRollingPolicy(RollingPolicy):
    """A file ends with every checkpoint.

    Example:
        >>> RollingPolicy.on_checkpoint_rolling_policy()
        OnCheckpointRollingPolicy()
    """
