"""The names of `pyflink.datastream.checkpoint_storage`."""

from penstock.api.environment.checkpointing import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)

__all__ = ["CheckpointStorage", "FileSystemCheckpointStorage", "JobManagerCheckpointStorage"]
