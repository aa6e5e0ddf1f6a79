"""Files of an object store that stay invisible until their epoch is committed.

A task sends a file as a multipart upload to its final name. The driver completes the upload when it commits the
epoch; then the whole file is there. The sink renames and copies no files. Below the directory of a sink:

    part-1f08b4d9-s3-<uuid>.parquet                      a file; before its commit there is only the upload
    2026-01-31--23/part-1f08b4d9-s3-<uuid>               the same in a bucket, if there are some
    _penstock/<job_id>/<sink_id>/drivers/<number>.json   the driver that has this number has begun
    _penstock/<job_id>/<sink_id>/drivers/<number>.taken  which manifests of earlier drivers count
    _penstock/<job_id>/<sink_id>/commits/<epoch>.<number>.json   manifest of an epoch
    _penstock/<job_id>/<sink_id>/commits/<epoch>.<number>.done   mark: its uploads are completed

`object_commits` describes how the drivers use them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO, cast

from penstock.connectors.files.staged_files import OpenRecords, PartFile, PartFileWriter, SinkLayout
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectStore, Upload, UploadPart
from penstock.filesystem.stored_path import UploadFile, store_of
from penstock.graph.endpoints import SinkContext


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file whose parts the store has: the committable of a task.

    Attributes:
        name: Name below the directory of the sink, with its bucket.
    """

    name: str
    upload_id: str
    parts: tuple[UploadPart, ...]
    record_count: int
    byte_count: int


class ObjectLayout(SinkLayout[ObjectPath]):
    """The names of the objects of one sink of one job."""

    __slots__ = ()

    @property
    def drivers(self) -> ObjectPath:
        """Prefix of the numbers of drivers."""
        return self.private / "drivers"

    def file_name(self, staged_name: str) -> str:
        """Return the name of a file, with its bucket; see `FileNaming.visible_name`."""
        unique = staged_name.rpartition("@")[2].partition(".")[0]
        return self.naming.visible_name(f"{self._begin}{unique}", staged_name)

    def is_ours(self, path: ObjectPath) -> bool:
        """Return whether this sink began the upload of an object."""
        if path.key.startswith(self.private.prefix):
            return True
        pattern = re.escape(f"{self.naming.prefix}-{self._begin}") + "[0-9a-f]{32}"
        return re.match(pattern, path.name) is not None

    def upload_of(self, file: UploadedFile) -> Upload:
        """Return the upload of a file."""
        return Upload(self.directory / file.name, file.upload_id)

    @property
    def _begin(self) -> str:
        return f"{self.job_id[:8]}-{self.sink_id}-"


class _ObjectPartFile(PartFile[UploadedFile]):
    """A file that goes to an object store."""

    def __init__(
        self, name: str, sent: UploadFile, open_records: OpenRecords, context: SinkContext
    ) -> None:
        self._name = name
        self._sent = sent
        super().__init__(cast("BinaryIO", sent), open_records, context)

    def settle(self) -> UploadedFile:
        parts, size = self._sent.finish(), self._sent.tell()
        return UploadedFile(self._name, self._sent.upload.upload_id, parts, self.record_count, size)

    def drop(self) -> None:
        self._sent.abort()


class UploadedFileWriter(PartFileWriter[UploadedFile]):
    """Sends the records of one task to an object store."""

    most_open = 16
    """Each open file has a part of an upload in memory."""

    @cached_property
    def _layout(self) -> ObjectLayout:
        assert isinstance(self._directory, ObjectPath), "its files are objects"
        context = self._context
        return ObjectLayout(self._directory, context.job_id, context.sink_id, self._naming)

    @cached_property
    def _store(self) -> ObjectStore:
        return store_of(self._layout.directory, self._context.object_settings)

    def begin(
        self, staged_name: str, open_records: OpenRecords, context: SinkContext
    ) -> PartFile[UploadedFile]:
        """Begin an upload."""
        name = self._layout.file_name(staged_name)
        upload = self._store.begin_upload(self._layout.directory / name)
        return _ObjectPartFile(name, UploadFile(self._store, upload), open_records, context)

    def make_durable(self) -> None:
        """Do nothing: the store has answered that it has every part."""

    def drop(self, finished: Sequence[UploadedFile]) -> None:
        """Abort uploads."""
        for file in finished:
            self._store.abort_upload(self._layout.upload_of(file))
