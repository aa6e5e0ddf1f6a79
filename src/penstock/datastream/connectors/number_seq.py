"""The names of `pyflink.datastream.connectors.number_seq`."""

from penstock.connectors.python.number_sequence import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
