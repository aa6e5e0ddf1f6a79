"""Objects in Google Cloud Storage, through a client library that is imported when a client is made.

An object cannot be sent in parts by several processes, but objects can be composed. So the parts of an upload are objects
of their own, which are hidden: no list of this store has them, and readers skip names that begin with an underscore.

    out/_penstock_parts/<upload>/part-1.json/00000     empty: the upload has begun
    out/_penstock_parts/<upload>/part-1.json/00001     the first part
    out/_penstock_parts/<upload>/part-1.json/1-00002   parts that were composed, since one call takes 32 at most
    out/part-1.json                                    the object, once the parts are composed to it

Parts are composed in the versions that were sent, and an upload is dropped by deleting them: then composing is refused.
Failures of the client library are raised as `OSError`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from importlib import import_module
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from penstock.filesystem.object_path import GOOGLE, ObjectPath
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
from penstock.filesystem.store_settings import GoogleSettings

_FIRST_PAUSE_SECONDS = 0.25
_MOST_PAUSE_SECONDS = 20.0
_CONNECTIONS = 16

SECONDS = (10.0, 60.0)
"""Limits for connecting and for reading."""

_PROJECT = "none"
"""Buckets are in a project, and no call for objects names it."""

_NUMBERS = {
    401: errno.EACCES,
    403: errno.EACCES,
    404: errno.ENOENT,
    412: errno.EEXIST,
}
"""Statuses of answers to numbers of errors; others are EIO."""


def google_client(settings: GoogleSettings) -> Any:
    """Return the client of this process; threads share it."""
    return _client(settings, os.getpid())


def google_retries(settings: GoogleSettings) -> Any:
    """Return how requests are sent again: with pauses that double up to a limit."""
    again = import_module("google.cloud.storage.retry").DEFAULT_RETRY
    pauses = again.with_delay(_FIRST_PAUSE_SECONDS, _MOST_PAUSE_SECONDS, 2.0)
    return pauses.with_timeout(settings.retry_seconds)


@lru_cache(maxsize=8)
def _client(settings: GoogleSettings, _process: int) -> Any:
    """Return a client; a forked process gets one of its own, because connections must not be shared."""
    check_installed(GOOGLE, "a path of Google Cloud Storage")
    storage = import_module("google.cloud.storage")
    options = {} if settings.endpoint is None else {"api_endpoint": settings.endpoint}
    with google_errors(ObjectPath("", scheme=GOOGLE)):
        if settings.keyfile is not None:
            client = storage.Client.from_service_account_json(
                settings.keyfile, project=_PROJECT, client_options=options
            )
        elif (settings.endpoint or os.environ.get("STORAGE_EMULATOR_HOST", "")).startswith("http:"):
            # A server of tests: a login is never sent without TLS.
            anonymous = import_module("google.auth.credentials").AnonymousCredentials()
            client = storage.Client(project=_PROJECT, credentials=anonymous, client_options=options)
        else:
            client = storage.Client(project=_PROJECT, client_options=options)
    adapter = import_module("requests.adapters").HTTPAdapter(pool_maxsize=_CONNECTIONS)
    client._http.mount("https://", adapter)  # noqa: SLF001 - the library has ten connections
    return client


def described(settings: GoogleSettings, path: ObjectPath) -> Any:
    """Return the answer with the description of an object, which the library gives without its headers; None if there is no object."""
    client = google_client(settings)
    name = f"b/{quote(path.bucket)}/o/{quote(path.key, safe='')}"
    address = f"{client.api_endpoint.rstrip('/')}/storage/v1/{name}"

    def get() -> Any:
        answer = client._http.get(address, timeout=SECONDS)  # noqa: SLF001 - it has the login
        if not answer.ok:
            raise import_module("google.api_core.exceptions").from_http_response(answer)
        return answer

    try:
        with google_errors(path):
            return google_retries(settings)(get)()
    except FileNotFoundError:
        return None


@contextmanager
def google_errors(path: ObjectPath) -> Iterator[None]:
    """Turn an error of the library in the block into an `OSError`."""
    check_installed(GOOGLE, "a path of Google Cloud Storage")
    core = import_module("google.api_core.exceptions")
    auth = import_module("google.auth.exceptions")
    requests = import_module("requests.exceptions")
    try:
        yield
    except core.GoogleAPICallError as error:
        status = int(error.code or 0)
        text = f"Google Cloud Storage answered {status}: {_message_of(error)}"
        raise OSError(_NUMBERS.get(status, errno.EIO), text, str(path)) from None
    except auth.GoogleAuthError as error:
        text = f"{type(error).__name__}: {_first_line(error)}"
        raise OSError(errno.EACCES, text, str(path)) from None
    except (core.GoogleAPIError, requests.RequestException, ValueError) as error:
        text = f"{type(error).__name__}: {_first_line(error)}"
        raise OSError(errno.EIO, text, str(path)) from None


def _message_of(error: Any) -> str:
    """Return the message of the store, without the address of the request."""
    reasons = [detail.get("message") for detail in error.errors or () if isinstance(detail, dict)]
    return next(filter(None, reasons), None) or type(error).__name__


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


_PARTS = "_penstock_parts"
_HIDDEN = f"/{_PARTS}/"

_MOST_COMPOSED = 32
_CHUNK_BYTES = 8 << 20
_Source = tuple[str, int]
"""Key and version of an object that is composed."""


@dataclass(frozen=True)
class GoogleStore(ObjectStore):
    """A store of Google; see `ObjectStore`. Picklable, and has a client per process."""

    settings: GoogleSettings = GoogleSettings()  # noqa: RUF009 - a frozen value

    def read(self, path: ObjectPath) -> bytes:
        """Return an object; raises FileNotFoundError if there is none."""
        with google_errors(path):
            data: bytes = self._blob(path).download_as_bytes(**self._call)
        return data

    def chunks(self, path: ObjectPath) -> Iterator[bytes]:
        """Yield the bytes of a large object; raises FileNotFoundError if there is none."""
        with google_errors(path), self._blob(path).open("rb", _CHUNK_BYTES, **self._call) as file:
            while data := file.read(_CHUNK_BYTES):
                yield data

    def read_range(self, path: ObjectPath, offset: int, size: int) -> bytes:
        """Return some bytes of an object; see `ObjectStore.read_range`."""
        with google_errors(path):
            data: bytes = self._blob(path).download_as_bytes(
                start=offset, end=offset + size - 1, checksum=None, **self._call
            )
        return data

    def facts(self, path: ObjectPath) -> ObjectFacts | None:
        """Return the facts of an object, None if there is none."""
        answer = described(self.settings, path)
        if answer is None:
            return None
        metadata = answer.json()
        now = parsedate_to_datetime(answer.headers["Date"])
        age = now - datetime.fromisoformat(metadata["updated"])
        writer = (metadata.get("metadata") or {}).get(WRITER)
        return ObjectFacts(int(metadata["size"]), float(age.total_seconds()), writer)

    def list_below(self, directory: ObjectPath) -> list[ObjectPath]:
        """Return all objects below a path, in order of their keys."""
        keys = self._keys(directory)
        return [directory.at(key) for key in keys if _HIDDEN not in f"/{key}"]

    def names_in(self, directory: ObjectPath) -> Iterator[str]:
        """Yield the names directly below a path; see `ObjectStore.names_in`."""
        length = len(directory.prefix)
        with google_errors(directory):
            pages = self._listed(directory, delimiter="/").pages
            for page in pages:
                keys = (*(blob.name for blob in page), *page.prefixes)
                names = {key[length:].rstrip("/") for key in keys}
                yield from sorted(names - {_PARTS})

    def write(self, path: ObjectPath, data: bytes) -> None:
        """Write an object; one of that name is replaced."""
        with google_errors(path):
            self._put(path, data)

    def create_by(self, writer: str, path: ObjectPath, data: bytes) -> None:
        """Write an object with the name of its writer; see `ObjectStore.create_by`."""
        with google_errors(path):
            self._put(path, data, {WRITER: writer}, if_generation_match=0)

    def delete(self, paths: Iterable[ObjectPath]) -> None:
        """Delete objects, in no order; those that are not there are fine."""
        delete_each(paths, self._delete)

    def begin_upload(self, path: ObjectPath) -> Upload:
        """Begin to send an object, which stays invisible."""
        upload = Upload(path, uuid4().hex)
        with google_errors(path):
            self._put(_part(upload, "00000"), b"")
        return upload

    def upload_part(self, upload: Upload, number: int, data: bytes) -> UploadPart:
        """Send a part; see `ObjectStore.upload_part`."""
        self._check_open(upload)
        with google_errors(upload.path):
            sent = self._put(_part(upload, f"{number:05}"), data)
        return UploadPart(number, f"{sent.generation}/{len(data)}", checksum(data))

    def complete_upload(self, upload: Upload, parts: Sequence[UploadPart]) -> None:
        """Make an object of its parts; see `ObjectStore.complete_upload`."""
        sources = [source for part in parts for source in _sources(upload, part)]
        try:
            self._check_open(upload)
            if sources:
                self._compose_all(upload, sources)
            else:
                self.write(upload.path, b"")
        except (FileNotFoundError, FileExistsError):
            # A part is gone, or has another version: the process that completed or dropped it may have died meanwhile.
            self._remove(upload)
            raise _no_upload(upload) from None
        self._remove(upload)

    def abort_upload(self, upload: Upload) -> None:
        """Drop an upload; one that is not there is fine."""
        self._remove(upload)

    def uploads(self, directory: ObjectPath) -> list[Upload]:
        """Return the uploads below a path that are neither completed nor aborted.

        Google lists all objects for it.
        """
        uploads: dict[Upload, None] = {}
        for key in self._keys(directory):
            above, hidden, rest = f"/{key}".rpartition(_HIDDEN)
            if hidden:
                upload_id, name, _ = rest.split("/")
                path = directory.at(f"{above}/{name}".lstrip("/"))
                uploads[Upload(path, upload_id)] = None
        return list(uploads)

    @property
    def _call(self) -> dict[str, Any]:
        return {"timeout": SECONDS, "retry": google_retries(self.settings)}

    def _blob(self, path: ObjectPath) -> Any:
        return google_client(self.settings).bucket(path.bucket).blob(path.key)

    def _listed(self, directory: ObjectPath, **more: Any) -> Any:
        client = google_client(self.settings)
        return client.list_blobs(
            directory.bucket, prefix=directory.prefix or None, **more, **self._call
        )

    def _keys(self, directory: ObjectPath) -> Iterator[str]:
        with google_errors(directory):
            fields = "items(name),nextPageToken"
            yield from (blob.name for blob in self._listed(directory, fields=fields))

    def _put(
        self, path: ObjectPath, data: bytes, metadata: dict[str, str] | None = None, **more: Any
    ) -> Any:
        blob = self._blob(path)
        blob.metadata = metadata
        blob.upload_from_string(data, "application/octet-stream", **more, **self._call)
        return blob

    def _delete(self, path: ObjectPath) -> None:
        try:
            with google_errors(path):
                self._blob(path).delete(**self._call)
        except FileNotFoundError:
            return

    def _check_open(self, upload: Upload) -> None:
        if self.facts(_part(upload, "00000")) is None:
            raise _no_upload(upload)

    def _compose_all(self, upload: Upload, sources: list[_Source]) -> None:
        """Compose parts to the object, over hidden ones if they are too many for one call."""
        level = 0
        while len(sources) > _MOST_COMPOSED:
            level += 1
            groups = [
                sources[begin : begin + _MOST_COMPOSED]
                for begin in range(0, len(sources), _MOST_COMPOSED)
            ]
            targets = [_part(upload, f"{level}-{index:05}") for index in range(len(groups))]
            with ThreadPoolExecutor(AT_ONCE) as threads:
                sources = list(threads.map(self._compose, targets, groups))
        self._compose(upload.path, sources)

    def _compose(self, target: ObjectPath, sources: Sequence[_Source]) -> _Source:
        with google_errors(target):
            blob = self._blob(target)
            blob.content_type = "application/octet-stream"
            blob.compose(
                [self._blob(target.at(key)) for key, _ in sources],
                if_source_generation_match=[version for _, version in sources],
                **self._call,
            )
        return target.key, int(blob.generation)

    def _remove(self, upload: Upload) -> None:
        """Delete what an upload has, its beginning first."""
        begin = _part(upload, "00000")
        self._delete(begin)
        self.delete([begin.at(key) for key in self._keys(begin.parent)])


def _part(upload: Upload, name: str) -> ObjectPath:
    path = upload.path
    return path.parent / f"{_PARTS}/{upload.upload_id}/{path.name}/{name}"


def _sources(upload: Upload, part: UploadPart) -> list[_Source]:
    """Return the object of a part; none, if it has no bytes: not every server composes those."""
    version, _, size = part.etag.partition("/")
    return [(_part(upload, f"{part.number:05}").key, int(version))] if size != "0" else []


def _no_upload(upload: Upload) -> FileNotFoundError:
    text = "there is no such upload: it was completed or dropped"
    return FileNotFoundError(errno.ENOENT, text, str(upload.path))
