"""The names of `pyflink.datastream.externalized_checkpoint_retention`."""

from penstock.config.checkpoint_modes import ExternalizedCheckpointRetention

__all__ = ["ExternalizedCheckpointRetention"]
