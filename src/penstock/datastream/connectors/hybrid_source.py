"""The names of `pyflink.datastream.connectors.hybrid_source`."""

from penstock.graph.hybrid import HybridSource, HybridSourceBuilder
from penstock.graph.source_switch import SourceSwitch

__all__ = ["HybridSource", "HybridSourceBuilder", "SourceSwitch"]
