"""Objects in Google Cloud Storage.

An object cannot be sent in parts by several processes, but objects can be composed. So the parts of an upload are objects
of their own, which are hidden: no list of this store has them, and readers skip names that begin with an underscore.

    out/_penstock_parts/<upload>/part-1.json/00000     empty: the upload has begun
    out/_penstock_parts/<upload>/part-1.json/00001     the first part
    out/_penstock_parts/<upload>/part-1.json/1-00002   parts that were composed, since one call takes 32 at most
    out/part-1.json                                    the object, once the parts are composed to it

Parts are composed in the versions that were sent, and an upload is dropped by deleting them: then composing is refused.
"""

from __future__ import annotations

import base64
import errno
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from uuid import uuid4

from penstock.filesystem.google_client import (
    SECONDS,
    described,
    google_client,
    google_errors,
    google_retries,
)
from penstock.filesystem.google_settings import GoogleSettings
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectStore, Upload, UploadPart
from penstock.filesystem.single_requests import AT_ONCE, WRITER, create_once, delete_each

_PARTS = "_penstock_parts"
_HIDDEN = f"/{_PARTS}/"

_MOST_COMPOSED = 32
_CHUNK_BYTES = 8 << 20
_Source = tuple[str, int]
"""Key and version of an object that is composed."""


@dataclass(frozen=True)
class GoogleStore(ObjectStore):
    """A store of Google; see `ObjectStore`. Picklable, and has a client per process.

    Attributes:
        settings: Address and login.
    """

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

    def age_seconds(self, path: ObjectPath) -> float | None:
        """Return the time since an object was written: both times are the server's."""
        answer = described(self.settings, path)
        if answer is None:
            return None
        now = parsedate_to_datetime(answer.headers["Date"])
        age = now - datetime.fromisoformat(answer.json()["updated"])
        return float(age.total_seconds())

    def size_of(self, path: ObjectPath) -> int | None:
        """Return the size of an object in bytes, None if there is none."""
        found = self._found(path)
        return None if found is None else int(found.size)

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

    def create(self, path: ObjectPath, data: bytes) -> None:
        """Write an object unless there is one of that name; see `ObjectStore.create`."""

        def create(writer: str) -> None:
            with google_errors(path):
                self._put(path, data, {WRITER: writer}, if_generation_match=0)

        create_once(create, lambda writer: self._is_by(path, writer))

    def delete(self, paths: Iterable[ObjectPath]) -> None:
        """Delete objects, in no order; those that are not there are fine."""
        delete_each(paths, self._delete)

    def begin_upload(self, path: ObjectPath) -> Upload:
        """Begin to send an object, of which nothing is to be seen."""
        upload = Upload(path, uuid4().hex)
        with google_errors(path):
            self._put(_part(upload, "00000"), b"")
        return upload

    def upload_part(self, upload: Upload, number: int, data: bytes) -> UploadPart:
        """Send a part; see `ObjectStore.upload_part`."""
        self._check_open(upload)
        with google_errors(upload.path):
            sent = self._put(_part(upload, f"{number:05}"), data)
        crc32 = base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()
        return UploadPart(number, f"{sent.generation}/{len(data)}", crc32)

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
            # A part is gone, or there in another version: whoever completed or dropped it may have died over that.
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
        found: dict[Upload, None] = {}
        for key in self._keys(directory):
            above, hidden, rest = f"/{key}".rpartition(_HIDDEN)
            if hidden:
                upload_id, name, _ = rest.split("/")
                path = directory.at(f"{above}/{name}".lstrip("/"))
                found[Upload(path, upload_id)] = None
        return list(found)

    @property
    def _call(self) -> dict[str, Any]:
        return {"timeout": SECONDS, "retry": google_retries(self.settings)}

    def _blob(self, path: ObjectPath) -> Any:
        return google_client(self.settings).bucket(path.bucket).blob(path.key)

    def _found(self, path: ObjectPath) -> Any:
        with google_errors(path):
            return google_client(self.settings).bucket(path.bucket).get_blob(path.key, **self._call)

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

    def _is_by(self, path: ObjectPath, writer: str) -> bool:
        """Return whether there is an object, and a call with this token wrote it."""
        found = self._found(path)
        return found is not None and (found.metadata or {}).get(WRITER) == writer

    def _check_open(self, upload: Upload) -> None:
        if self._found(_part(upload, "00000")) is None:
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
            made = self._blob(target)
            made.content_type = "application/octet-stream"
            made.compose(
                [self._blob(target.at(key)) for key, _ in sources],
                if_source_generation_match=[version for _, version in sources],
                **self._call,
            )
        return target.key, int(made.generation)

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
