"""The names of `pyflink.datastream.connectors.number_seq`."""

from __future__ import annotations

from penstock.connectors.python.number_sequence import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
