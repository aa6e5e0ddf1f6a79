"""Objects in Azure: block blobs, through a client library that is imported when a client is made.

An upload is blocks that are not yet in a list, with names that begin with the upload. Azure keeps them for a week, and has no
call that drops them; so the upload has one more block, which is in no list:

    <upload>-00000    one byte: the upload has begun; two bytes: it was dropped
    <upload>-00001    the first part

Putting a block again replaces it, so dropping an upload is one call. The list that makes the object of its parts names blocks
that are in no list, so a second one is refused: after the first there are none.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from penstock.filesystem.object_path import AZURE, ObjectPath
from penstock.filesystem.object_store import (
    AT_ONCE,
    WRITER,
    ObjectFacts,
    ObjectStore,
    Upload,
    UploadPart,
    check_installed,
    checksum,
    delete_each,
)
from penstock.filesystem.store_settings import AzureLogin, AzureSettings

_CONNECT_SECONDS = 10
_READ_SECONDS = 60
_FIRST_PAUSE_SECONDS = 0.25
_MOST_PAUSE_SECONDS = 20

_NUMBERS = {
    "BlobNotFound": errno.ENOENT,
    "ContainerNotFound": errno.ENOENT,
    "ResourceNotFound": errno.ENOENT,
    "InvalidBlockList": errno.ENOENT,
    "BlobAlreadyExists": errno.EEXIST,
    "ConditionNotMet": errno.EEXIST,
    404: errno.ENOENT,
    412: errno.EEXIST,
    401: errno.EACCES,
    403: errno.EACCES,
}
"""Codes of Azure, and else statuses of answers, to numbers of errors; others are EIO."""


def container_client(settings: AzureSettings, bucket: str) -> Any:
    """Return the client of a container in this process; threads share it."""
    container, _, host = bucket.partition("@")
    account = host.partition(".")[0]
    service = _service(settings.login_of(account), host, settings.attempts, os.getpid())
    return service.get_container_client(container)


@lru_cache(maxsize=8)
def _service(login: AzureLogin, host: str, attempts: int, _process: int) -> Any:
    """Return a client; a forked process gets one of its own, because connections must not be shared."""
    check_installed(AZURE, "a path of Azure")
    blob = import_module("azure.storage.blob")
    address = login.endpoint or f"https://{host.replace('.dfs.', '.blob.', 1)}"
    return blob.BlobServiceClient(
        address,
        credential=_credential(login, host),
        connection_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        retry_policy=_retries(blob, attempts),
        # Parts come from here; what is less than one is put at once.
        max_single_put_size=64 << 20,
    )


def _credential(login: AzureLogin, host: str) -> Any:
    """Return what the library takes for a login: a key, a signature, or who the machine or the user is."""
    if login.key is not None:
        return {"account_name": host.partition(".")[0], "account_key": login.key}
    if login.sas is not None:
        return login.sas
    return import_module("azure.identity").DefaultAzureCredential()


def _retries(blob: Any, attempts: int) -> Any:
    """Return pauses that double up to a limit; those of the library begin with 15 seconds."""

    class Doubling(blob.ExponentialRetry):  # type: ignore[misc]
        def get_backoff_time(self, settings: dict[str, Any]) -> float:
            """Return how long to wait before the next attempt."""
            pause: float = _FIRST_PAUSE_SECONDS * 2 ** settings["count"]
            return min(pause, _MOST_PAUSE_SECONDS)

    again = attempts - 1
    return Doubling(retry_total=again, retry_connect=again, retry_read=again, retry_status=again)


@contextmanager
def azure_errors(settings: AzureSettings, path: ObjectPath) -> Iterator[None]:
    """Turn an error of the library in the block into an `OSError`, without secrets."""
    check_installed(AZURE, "a path of Azure")
    exceptions = import_module("azure.core.exceptions")
    try:
        yield
    except exceptions.HttpResponseError as error:
        status = error.status_code
        named = getattr(error, "error_code", None)  # an enumeration, if the library has the code
        code = str(getattr(named, "value", named) or status)
        text = str(error.reason or error.message).partition("\n")[0]
        number = _NUMBERS.get(code, _NUMBERS.get(status, errno.EIO))
        raise OSError(
            number, settings.masked(f"Azure answered {code}: {text}"), str(path)
        ) from None
    except (
        exceptions.AzureError,
        ValueError,
    ) as error:  # ValueError: a key or an address that is none
        name = type(error).__name__
        number = errno.EACCES if name == "ClientAuthenticationError" else errno.EIO
        text = str(error).partition("\n")[0]
        raise OSError(number, settings.masked(f"{name}: {text}"), str(path)) from None


_BEGUN = b"+"
_DROPPED = b"--"
_FOLDER = "hdi_isfolder"
"""Marker of a directory in an account with directories."""


@dataclass(frozen=True)
class AzureStore(ObjectStore):
    """A store of Azure; see `ObjectStore`. Picklable, and has a client per process."""

    settings: AzureSettings = AzureSettings()  # noqa: RUF009 - a frozen value

    def read(self, path: ObjectPath) -> bytes:
        """Return an object; raises FileNotFoundError if there is none."""
        with azure_errors(self.settings, path):
            data: bytes = self._blob(path).download_blob().readall()
        return data

    def chunks(self, path: ObjectPath) -> Iterator[bytes]:
        """Yield the bytes of a large object; raises FileNotFoundError if there is none."""
        with azure_errors(self.settings, path):
            yield from self._blob(path).download_blob().chunks()

    def read_range(self, path: ObjectPath, offset: int, size: int) -> bytes:
        """Return some bytes of an object; see `ObjectStore.read_range`."""
        with azure_errors(self.settings, path):
            data: bytes = self._blob(path).download_blob(offset=offset, length=size).readall()
        return data

    def facts(self, path: ObjectPath) -> ObjectFacts | None:
        """Return the facts of an object, None if there is none."""
        try:
            with azure_errors(self.settings, path):
                headers = self._blob(path).get_blob_properties(cls=_with_headers).headers
        except FileNotFoundError:
            return None
        age = parsedate_to_datetime(headers["Date"]) - parsedate_to_datetime(
            headers["Last-Modified"]
        )
        writer = headers.get(f"x-ms-meta-{WRITER}")
        return ObjectFacts(int(headers["Content-Length"]), float(age.total_seconds()), writer)

    def list_below(self, directory: ObjectPath) -> list[ObjectPath]:
        """Return all objects below a path, in order of their keys."""
        return [directory.at(blob.name) for blob in self._blobs(directory, "metadata")]

    def names_in(self, directory: ObjectPath) -> Iterator[str]:
        """Yield the names directly below a path; see `ObjectStore.names_in`."""
        length = len(directory.prefix)
        with azure_errors(self.settings, directory):
            blobs = self._container(directory).walk_blobs(
                name_starts_with=directory.prefix or None, delimiter="/"
            )
            for page in blobs.by_page():
                yield from sorted({blob.name[length:].rstrip("/") for blob in page})

    def write(self, path: ObjectPath, data: bytes) -> None:
        """Write an object; one of that name is replaced."""
        with azure_errors(self.settings, path):
            self._put(path, data, overwrite=True)

    def create_by(self, writer: str, path: ObjectPath, data: bytes) -> None:
        """Write an object with the name of its writer; see `ObjectStore.create_by`."""
        with azure_errors(self.settings, path):
            self._put(path, data, overwrite=False, metadata={WRITER: writer})

    def delete(self, paths: Iterable[ObjectPath]) -> None:
        """Delete objects, in no order; those that are not there are fine."""
        delete_each(paths, self._delete)

    def begin_upload(self, path: ObjectPath) -> Upload:
        """Begin to send an object, which stays invisible."""
        upload = Upload(path, uuid4().hex)
        self._mark(upload, _BEGUN)
        return upload

    def upload_part(self, upload: Upload, number: int, data: bytes) -> UploadPart:
        """Send a part; see `ObjectStore.upload_part`."""
        self._check_open(upload)
        if not data:  # Azure has no blocks without bytes
            return UploadPart(number, "", checksum(data))
        name = _block(upload, number)
        with azure_errors(self.settings, upload.path):
            # An MD5 goes with it: the store refuses bytes that were changed on their way.
            self._blob(upload.path).stage_block(name, data, len(data), validate_content=True)
        return UploadPart(number, name, checksum(data))

    def complete_upload(self, upload: Upload, parts: Sequence[UploadPart]) -> None:
        """Make an object of its parts; see `ObjectStore.complete_upload`."""
        self._check_open(upload)
        with azure_errors(self.settings, upload.path):
            blob = import_module("azure.storage.blob")
            waiting = blob.BlockState.UNCOMMITTED
            listed = [blob.BlobBlock(part.etag, waiting) for part in parts if part.etag]
            self._blob(upload.path).commit_block_list(listed)

    def abort_upload(self, upload: Upload) -> None:
        """Drop an upload; one that is not there is fine."""
        if self._is_open(upload):
            self._mark(upload, _DROPPED)

    def uploads(self, directory: ObjectPath) -> list[Upload]:
        """Return the uploads below a path that are neither completed nor aborted.

        Azure lists all objects for it. For each object without bytes, its blocks are listed too.
        """
        empty = [
            directory.at(blob.name)
            for blob in self._blobs(directory, "uncommittedblobs")
            if not blob.size
        ]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            results = threads.map(self._open_uploads, empty)
            return [upload for uploads in results for upload in uploads]

    def _container(self, path: ObjectPath) -> Any:
        return container_client(self.settings, path.bucket)

    def _blob(self, path: ObjectPath) -> Any:
        return self._container(path).get_blob_client(path.key)

    def _blobs(self, directory: ObjectPath, what: str) -> Iterator[Any]:
        with azure_errors(self.settings, directory):
            blobs = self._container(directory).list_blobs(
                name_starts_with=directory.prefix or None, include=[what]
            )
            yield from (blob for blob in blobs if _FOLDER not in (blob.metadata or ()))

    def _put(self, path: ObjectPath, data: bytes, **more: Any) -> None:
        self._blob(path).upload_blob(data, length=len(data), validate_content=True, **more)

    def _delete(self, path: ObjectPath) -> None:
        try:
            with azure_errors(self.settings, path):
                self._blob(path).delete_blob()
        except FileNotFoundError:
            return

    def _mark(self, upload: Upload, content: bytes) -> None:
        with azure_errors(self.settings, upload.path):
            self._blob(upload.path).stage_block(_block(upload, 0), content, len(content))

    def _check_open(self, upload: Upload) -> None:
        if not self._is_open(upload):
            text = "there is no such upload: it was completed, dropped, or is older than a week"
            raise FileNotFoundError(errno.ENOENT, text, str(upload.path))

    def _is_open(self, upload: Upload) -> bool:
        return upload in self._open_uploads(upload.path)

    def _open_uploads(self, path: ObjectPath) -> list[Upload]:
        """Return the uploads of an object that were begun and not dropped."""
        try:
            with azure_errors(self.settings, path):
                _, waiting = self._blob(path).get_block_list("uncommitted")
        except FileNotFoundError:
            return []
        begun = [
            block.id.rpartition("-")[0]
            for block in waiting
            if block.id.endswith("-00000") and block.size == len(_BEGUN)
        ]
        return [Upload(path, upload_id) for upload_id in begun]


def _with_headers(response: Any, *_: Any) -> SimpleNamespace:
    """Return the headers of an answer; the library has no date, and loses a hook for answers when it sends a request again."""
    return SimpleNamespace(headers=response.headers)


def _block(upload: Upload, number: int) -> str:
    """Return the name of a block; all of a blob have names of one length."""
    return f"{upload.upload_id}-{number:05}"
