"""The names of `pyflink.datastream.connectors.file_system`."""

from __future__ import annotations

from penstock.connectors.file_sink import FileSink
from penstock.connectors.file_source import FileSource

__all__ = ["FileSink", "FileSource"]
