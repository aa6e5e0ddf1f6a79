"""The names of `pyflink.datastream.checkpointing_mode`."""

from __future__ import annotations

from penstock.api.environment.checkpointing import CheckpointingMode

__all__ = ["CheckpointingMode"]
