"""The names of `pyflink.datastream.connectors.hybrid_source`."""

from penstock.graph.hybrid import HybridSource, HybridSourceBuilder

__all__ = ["HybridSource", "HybridSourceBuilder"]
