"""The names of `pyflink.datastream.checkpointing_mode`."""

from __future__ import annotations

from penstock.api.checkpointing import CheckpointingMode

__all__ = ["CheckpointingMode"]
