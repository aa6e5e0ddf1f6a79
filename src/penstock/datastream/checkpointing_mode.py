"""The names of `pyflink.datastream.checkpointing_mode`."""

from penstock.api.environment.checkpointing import CheckpointingMode

__all__ = ["CheckpointingMode"]
