"""The names of `pyflink.datastream.connectors.hybrid_source`."""

from __future__ import annotations

from penstock.graph.hybrid import HybridSource, HybridSourceBuilder

__all__ = ["HybridSource", "HybridSourceBuilder"]
