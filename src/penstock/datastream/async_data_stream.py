"""The names of `pyflink.datastream.async_data_stream`."""

from penstock.api.streams.async_data_stream import AsyncDataStream

__all__ = ["AsyncDataStream"]
