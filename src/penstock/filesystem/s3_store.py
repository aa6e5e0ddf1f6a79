"""Objects in S3, and in stores that speak its protocol and have conditional writes.

The client library is imported when a client is made, and its failures are raised as `OSError`.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from importlib import import_module
from itertools import islice
from typing import Any

from penstock.filesystem.object_path import S3, ObjectPath
from penstock.filesystem.object_store import (
    ObjectFacts,
    ObjectStore,
    Upload,
    UploadPart,
    check_installed,
    checksum,
)
from penstock.filesystem.store_settings import S3Settings

_ATTEMPTS = 10
_CONNECT_SECONDS = 10.0
_READ_SECONDS = 60.0
_CONNECTIONS = 16

_NUMBERS = {
    "404": errno.ENOENT,
    "NoSuchBucket": errno.ENOENT,
    "NoSuchKey": errno.ENOENT,
    "NoSuchUpload": errno.ENOENT,
    "PreconditionFailed": errno.EEXIST,
    "403": errno.EACCES,
    "AccessDenied": errno.EACCES,
    "ExpiredToken": errno.EACCES,
    "InvalidAccessKeyId": errno.EACCES,
    "InvalidToken": errno.EACCES,
    "SignatureDoesNotMatch": errno.EACCES,
}
"""Codes of S3 to numbers of errors; other codes are EIO."""

_NO_LOGIN = frozenset({"NoCredentialsError", "PartialCredentialsError", "TokenRetrievalError"})


def s3_client(settings: S3Settings) -> Any:
    """Return the client of this process; threads share it."""
    return _client(settings, os.getpid())


@lru_cache(maxsize=8)
def _client(settings: S3Settings, _process: int) -> Any:
    """Return a client; a forked process gets one of its own, because connections must not be shared."""
    check_installed(S3, "a path of S3")
    session = import_module("botocore.session").get_session()
    config = import_module("botocore.config").Config(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        max_pool_connections=_CONNECTIONS,
        # Waits longer from one attempt to the next, and sends less often when many requests fail.
        retries={
            "mode": session.get_config_variable("retry_mode") or "standard",
            "total_max_attempts": session.get_config_variable("max_attempts") or _ATTEMPTS,
        },
        **({"s3": {"addressing_style": "path"}} if settings.is_path_style else {}),
    )
    with s3_errors(settings, ObjectPath("")):
        return session.create_client(
            "s3",
            region_name=settings.region,
            endpoint_url=settings.endpoint,
            aws_access_key_id=settings.access_key,
            aws_secret_access_key=settings.secret_key,
            aws_session_token=settings.session_token,
            config=config,
        )


def code_of(error: BaseException) -> str | None:
    """Return the code of an answer of S3, None if there was no answer."""
    response = getattr(error, "response", None)
    return None if response is None else str(response.get("Error", {}).get("Code", ""))


@contextmanager
def s3_errors(settings: S3Settings, path: ObjectPath) -> Iterator[None]:
    """Turn an error of the library in the block into an `OSError`, without secrets."""
    check_installed(S3, "a path of S3")
    exceptions = import_module("botocore.exceptions")
    try:
        yield
    except exceptions.ClientError as error:
        code = code_of(error) or ""
        reason = error.response.get("Error", {}).get("Message") or "no reason was given"
        text = settings.masked(f"S3 answered {code}: {reason}")
        raise OSError(_NUMBERS.get(code, errno.EIO), text, str(path)) from None
    except (exceptions.BotoCoreError, ValueError) as error:  # ValueError: an address that is none
        name = type(error).__name__
        number = errno.EACCES if name in _NO_LOGIN else errno.EIO
        raise OSError(number, settings.masked(f"{name}: {error}"), str(path)) from None


_WRITER = "penstock-writer"
_CONFLICT = "ConditionalRequestConflict"
_MOST_CONFLICTS = 10
_CHUNK_BYTES = 1 << 20
_MOST_DELETED = 1_000


@dataclass(frozen=True)
class S3Store(ObjectStore):
    """A store of S3; see `ObjectStore`. Picklable, and has a client per process."""

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
        byte_range = f"bytes={offset}-{offset + size - 1}"
        with s3_errors(self.settings, path):
            answer = self._client.get_object(Bucket=path.bucket, Key=path.key, Range=byte_range)
            with closing(answer["Body"]) as body:
                data: bytes = body.read()
        return data

    def facts(self, path: ObjectPath) -> ObjectFacts | None:
        """Return the facts of an object, None if there is none."""
        try:
            with s3_errors(self.settings, path):
                answer = self._client.head_object(Bucket=path.bucket, Key=path.key)
        except FileNotFoundError:
            return None
        now = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
        if now is None:
            raise OSError(errno.EIO, "the answer of S3 has no date", str(path))
        age = parsedate_to_datetime(now) - answer["LastModified"]
        writer = answer.get("Metadata", {}).get(_WRITER)
        return ObjectFacts(int(answer["ContentLength"]), float(age.total_seconds()), writer)

    def list_below(self, directory: ObjectPath) -> list[ObjectPath]:
        """Return all objects below a path, in order of their keys."""
        pages = self._pages("list_objects_v2", directory, "Contents")
        return [directory.at(entry["Key"]) for entry in pages]

    def names_in(self, directory: ObjectPath) -> Iterator[str]:
        """Yield the names directly below a path; see `ObjectStore.names_in`."""
        length = len(directory.prefix)
        with s3_errors(self.settings, directory):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=directory.bucket, Prefix=directory.prefix, Delimiter="/"
            )
            for page in pages:
                objects = [entry["Key"] for entry in page.get("Contents", ())]
                folders = [entry["Prefix"] for entry in page.get("CommonPrefixes", ())]
                yield from sorted({key[length:].rstrip("/") for key in (*objects, *folders)})

    def write(self, path: ObjectPath, data: bytes) -> None:
        """Write an object; one of that name is replaced."""
        with s3_errors(self.settings, path):
            self._put(path, data)

    def create_by(self, writer: str, path: ObjectPath, data: bytes) -> None:
        """Write an object with the name of its writer; see `ObjectStore.create_by`."""
        for conflicts in range(_MOST_CONFLICTS + 1):
            try:
                with s3_errors(self.settings, path):
                    self._put(path, data, IfNoneMatch="*", Metadata={_WRITER: writer})
            except OSError as error:
                # Another conditional write was under way, and its end is unknown yet.
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
        """Begin to send an object, which stays invisible."""
        with s3_errors(self.settings, path):
            answer = self._client.create_multipart_upload(
                Bucket=path.bucket, Key=path.key, ChecksumAlgorithm="CRC32"
            )
        return Upload(path, answer["UploadId"])

    def upload_part(self, upload: Upload, number: int, data: bytes) -> UploadPart:
        """Send a part; see `ObjectStore.upload_part`."""
        crc32 = checksum(data)
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
            Upload(directory.at(entry["Key"]), entry["UploadId"])
            for entry in self._pages("list_multipart_uploads", directory, "Uploads")
        ]

    def _put(self, path: ObjectPath, data: bytes, **more: Any) -> None:
        self._client.put_object(
            Bucket=path.bucket, Key=path.key, Body=data, ChecksumCRC32=checksum(data), **more
        )

    def _pages(self, operation: str, directory: ObjectPath, what: str) -> Iterable[Any]:
        with s3_errors(self.settings, directory):
            pages = self._client.get_paginator(operation)
            for page in pages.paginate(Bucket=directory.bucket, Prefix=directory.prefix):
                yield from page.get(what, ())


def _names(upload: Upload) -> dict[str, str]:
    return {"Bucket": upload.path.bucket, "Key": upload.path.key, "UploadId": upload.upload_id}
