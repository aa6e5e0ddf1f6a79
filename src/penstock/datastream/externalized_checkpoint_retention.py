"""The names of `pyflink.datastream.externalized_checkpoint_retention`."""

from penstock.config.accepted_options import ExternalizedCheckpointRetention

__all__ = ["ExternalizedCheckpointRetention"]
