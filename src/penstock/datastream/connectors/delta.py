"""Source and sink of Delta tables, which PyFlink does not have."""

from penstock.connectors.delta.delta_sink import DeltaSink
from penstock.connectors.delta.delta_source import DeltaSource

__all__ = ["DeltaSink", "DeltaSource"]
