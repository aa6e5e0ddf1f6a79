"""The names of `pyflink.datastream.checkpoint_config`."""

from __future__ import annotations

from penstock.api.environment.checkpointing import CheckpointConfig

__all__ = ["CheckpointConfig"]
