"""Sources and sinks."""

from __future__ import annotations

from penstock.connectors.collection import CollectionSource
from penstock.connectors.data_generator import DataGeneratorSource
from penstock.connectors.discard import DiscardingSink
from penstock.connectors.file_sink import FileSink
from penstock.connectors.file_source import FileSource
from penstock.connectors.number_sequence import NumberSequenceSource
from penstock.connectors.print_sink import PrintSink
from penstock.connectors.spark_source import SparkSource
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter, Source, SplitSource
from penstock.graph.hybrid import HybridSource

__all__ = [
    "CollectionSource",
    "Committer",
    "DataGeneratorSource",
    "DiscardingSink",
    "FileSink",
    "FileSource",
    "HybridSource",
    "NumberSequenceSource",
    "PrintSink",
    "Sink",
    "SinkContext",
    "SinkWriter",
    "Source",
    "SparkSource",
    "SplitSource",
]
