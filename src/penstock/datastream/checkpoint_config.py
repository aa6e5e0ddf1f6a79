"""The names of `pyflink.datastream.checkpoint_config`."""

from penstock.api.environment.checkpointing import CheckpointConfig

__all__ = ["CheckpointConfig"]
