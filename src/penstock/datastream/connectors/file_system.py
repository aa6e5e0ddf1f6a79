"""The names of `pyflink.datastream.connectors.file_system`."""

from penstock.connectors.files.file_compaction import FileCompactor, FileCompactStrategy
from penstock.connectors.files.file_formats import FileFormat
from penstock.connectors.files.file_naming import (
    BucketAssigner,
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from penstock.connectors.files.file_sink import FileSink, FileSinkBuilder
from penstock.connectors.files.file_source import (
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    StreamFormat,
)

StreamingFileSink = FileSink
"""The older name; `add_sink` takes it as well."""

__all__ = [
    "BucketAssigner",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileFormat",
    "FileSink",
    "FileSinkBuilder",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
    "StreamingFileSink",
]
