"""The names of `pyflink.datastream.connectors.number_seq`."""

from penstock.connectors.python.data_generator import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
