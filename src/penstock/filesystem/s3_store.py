"""Objects in S3, and in stores that speak its protocol and know conditional writes."""

from __future__ import annotations

import base64
import errno
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any
from uuid import uuid4

from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectStore, Upload, UploadPart
from penstock.filesystem.s3_client import s3_client, s3_errors
from penstock.filesystem.s3_settings import S3Settings

_WRITER = "penstock-writer"
_CONFLICT = "ConditionalRequestConflict"
_MOST_CONFLICTS = 10
_UNCLEAR = frozenset({errno.EEXIST, errno.EIO})
"""Errors after which the object may be there, and be ours."""

_CHUNK_BYTES = 1 << 20
_MOST_DELETED = 1_000


@dataclass(frozen=True)
class S3Store(ObjectStore):
    """A store of S3; see `ObjectStore`. Picklable, and has a client per process.

    Attributes:
        settings: Address and login.
    """

    settings: S3Settings = S3Settings()  # noqa: RUF009 - a frozen value

    @property
    def _client(self) -> Any:
        return s3_client(self.settings)

    def read(self, path: ObjectPath) -> bytes:
        """Return an object; raises FileNotFoundError if there is none."""
        with s3_errors(self.settings, path):
            answer = self._client.get_object(Bucket=path.bucket, Key=path.key)
            with closing(answer["Body"]) as body:
                data: bytes = body.read()
        return data

    def chunks(self, path: ObjectPath) -> Iterator[bytes]:
        """Yield the bytes of a large object; raises FileNotFoundError if there is none."""
        with s3_errors(self.settings, path):
            answer = self._client.get_object(Bucket=path.bucket, Key=path.key)
            with closing(answer["Body"]) as body:
                yield from body.iter_chunks(_CHUNK_BYTES)

    def read_range(self, path: ObjectPath, offset: int, size: int) -> bytes:
        """Return some bytes of an object; see `ObjectStore.read_range`."""
        wanted = f"bytes={offset}-{offset + size - 1}"
        with s3_errors(self.settings, path):
            answer = self._client.get_object(Bucket=path.bucket, Key=path.key, Range=wanted)
            with closing(answer["Body"]) as body:
                data: bytes = body.read()
        return data

    def age_seconds(self, path: ObjectPath) -> float | None:
        """Return the time since an object was written: both times are the server's."""
        try:
            answer = self._head(path)
        except FileNotFoundError:
            return None
        now = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
        if now is None:
            raise OSError(errno.EIO, "S3 does not say what time it is", str(path))
        age = parsedate_to_datetime(now) - answer["LastModified"]
        return float(age.total_seconds())

    def size_of(self, path: ObjectPath) -> int | None:
        """Return the size of an object in bytes, None if there is none."""
        try:
            return int(self._head(path)["ContentLength"])
        except FileNotFoundError:
            return None

    def list_below(self, directory: ObjectPath) -> list[ObjectPath]:
        """Return all objects below a path, in order of their keys."""
        pages = self._pages("list_objects_v2", directory, "Contents")
        return [directory.at(each["Key"]) for each in pages]

    def names_in(self, directory: ObjectPath) -> Iterator[str]:
        """Yield the names directly below a path; see `ObjectStore.names_in`."""
        length = len(directory.prefix)
        with s3_errors(self.settings, directory):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=directory.bucket, Prefix=directory.prefix, Delimiter="/"
            )
            for page in pages:
                objects = [each["Key"] for each in page.get("Contents", ())]
                folders = [each["Prefix"] for each in page.get("CommonPrefixes", ())]
                yield from sorted({key[length:].rstrip("/") for key in (*objects, *folders)})

    def write(self, path: ObjectPath, data: bytes) -> None:
        """Write an object; one of that name is replaced."""
        with s3_errors(self.settings, path):
            self._put(path, data)

    def create(self, path: ObjectPath, data: bytes) -> None:
        """Write an object unless there is one of that name; see `ObjectStore.create`.

        The library sends a request again if its answer is lost, and so may meet its own object. The object says
        in its metadata who wrote it.
        """
        writer = uuid4().hex
        for conflicts in range(_MOST_CONFLICTS + 1):
            try:
                with s3_errors(self.settings, path):
                    self._put(path, data, IfNoneMatch="*", Metadata={_WRITER: writer})
            except OSError as error:
                if error.errno in _UNCLEAR and self._is_by(path, writer):
                    return
                # Another conditional write was under way, and nobody knows yet how it ends.
                if _CONFLICT not in str(error) or conflicts == _MOST_CONFLICTS:
                    raise
                time.sleep(0.05 * (conflicts + 1))
            else:
                return

    def delete(self, paths: Iterable[ObjectPath]) -> None:
        """Delete objects, in no order; those that are not there are fine."""
        left = iter(paths)
        while some := list(islice(left, _MOST_DELETED)):
            keys = [{"Key": path.key} for path in some]
            with s3_errors(self.settings, some[0]):
                answer = self._client.delete_objects(
                    Bucket=some[0].bucket, Delete={"Objects": keys, "Quiet": True}
                )
            for refused in answer.get("Errors", ()):
                path = some[0].at(refused["Key"])
                raise OSError(f"{path} cannot be deleted: {refused['Code']}: {refused['Message']}")

    def begin_upload(self, path: ObjectPath) -> Upload:
        """Begin to send an object, of which nothing is to be seen."""
        with s3_errors(self.settings, path):
            answer = self._client.create_multipart_upload(
                Bucket=path.bucket, Key=path.key, ChecksumAlgorithm="CRC32"
            )
        return Upload(path, answer["UploadId"])

    def upload_part(self, upload: Upload, number: int, data: bytes) -> UploadPart:
        """Send a part; see `ObjectStore.upload_part`."""
        crc32 = _checksum(data)
        with s3_errors(self.settings, upload.path):
            answer = self._client.upload_part(
                **_names(upload), PartNumber=number, Body=data, ChecksumCRC32=crc32
            )
        return UploadPart(number, answer["ETag"], crc32)

    def complete_upload(self, upload: Upload, parts: Sequence[UploadPart]) -> None:
        """Make an object of its parts; see `ObjectStore.complete_upload`."""
        listed = [
            {"PartNumber": part.number, "ETag": part.etag, "ChecksumCRC32": part.crc32}
            for part in parts
        ]
        with s3_errors(self.settings, upload.path):
            self._client.complete_multipart_upload(
                **_names(upload), MultipartUpload={"Parts": listed}
            )

    def abort_upload(self, upload: Upload) -> None:
        """Drop an upload; one that is not there is fine."""
        try:
            with s3_errors(self.settings, upload.path):
                self._client.abort_multipart_upload(**_names(upload))
        except FileNotFoundError:
            return

    def uploads(self, directory: ObjectPath) -> list[Upload]:
        """Return the uploads below a path that are neither completed nor aborted."""
        return [
            Upload(directory.at(each["Key"]), each["UploadId"])
            for each in self._pages("list_multipart_uploads", directory, "Uploads")
        ]

    def _put(self, path: ObjectPath, data: bytes, **more: Any) -> None:
        self._client.put_object(
            Bucket=path.bucket, Key=path.key, Body=data, ChecksumCRC32=_checksum(data), **more
        )

    def _head(self, path: ObjectPath) -> Any:
        with s3_errors(self.settings, path):
            return self._client.head_object(Bucket=path.bucket, Key=path.key)

    def _is_by(self, path: ObjectPath, writer: str) -> bool:
        """Return whether there is an object, and a call with this token wrote it."""
        try:
            return bool(self._head(path).get("Metadata", {}).get(_WRITER) == writer)
        except FileNotFoundError:
            return False

    def _pages(self, operation: str, directory: ObjectPath, what: str) -> Iterable[Any]:
        with s3_errors(self.settings, directory):
            pages = self._client.get_paginator(operation)
            for page in pages.paginate(Bucket=directory.bucket, Prefix=directory.prefix):
                yield from page.get(what, ())


def _names(upload: Upload) -> dict[str, str]:
    return {"Bucket": upload.path.bucket, "Key": upload.path.key, "UploadId": upload.upload_id}


def _checksum(data: bytes) -> str:
    """Return the CRC32 as S3 has it: the store refuses bytes that were changed on their way."""
    return base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()
