"""An object store in memory, with a hook before each call: the model that tests of commits run against."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectFacts, ObjectStore, Upload, UploadPart, checksum


class MemoryStore(ObjectStore):
    """Objects and uploads in dicts.

    Attributes:
        objects: The objects.
        open: Upload to its parts.
        written: When the objects were put.
        writers: Who created them.
        before: Called before each change or question, with its name.
        after: Called after it.
    """

    def __init__(self) -> None:
        self.objects: dict[ObjectPath, bytes] = {}
        self.open: dict[Upload, dict[int, bytes]] = {}
        self.written: dict[ObjectPath, float] = {}
        self.writers: dict[ObjectPath, str | None] = {}
        self.before: Callable[[str], None] = lambda _: None
        self.after: Callable[[str], None] = lambda _: None
        self._count = 0

    def read(self, path: ObjectPath) -> bytes:
        self.before("read")
        if path not in self.objects:
            raise FileNotFoundError(2, "no such object", str(path))
        data = self.objects[path]
        self.after("read")
        return data

    def chunks(self, path: ObjectPath) -> Iterator[bytes]:
        data = self.read(path)
        yield data[: len(data) // 2]
        yield data[len(data) // 2 :]

    def read_range(self, path: ObjectPath, offset: int, size: int) -> bytes:
        return self.read(path)[offset : offset + size]

    def facts(self, path: ObjectPath) -> ObjectFacts | None:
        self.before("facts")
        found = self.objects.get(path)
        self.after("facts")
        if found is None:
            return None
        age = time.monotonic() - self.written.get(path, time.monotonic())
        return ObjectFacts(len(found), age, self.writers.get(path))

    def names_in(self, directory: ObjectPath) -> Iterator[str]:
        below = [path.key.removeprefix(directory.prefix) for path in self.list_below(directory)]
        return iter(sorted({name.partition("/")[0] for name in below}))

    def list_below(self, directory: ObjectPath) -> list[ObjectPath]:
        self.before("list")
        found = [path for path in self.objects if path.key.startswith(directory.prefix)]
        self.after("list")
        return sorted(found, key=lambda path: path.key)

    def write(self, path: ObjectPath, data: bytes) -> None:
        self.before("write")
        self._put(path, data)
        self.after("write")

    def create_by(self, writer: str, path: ObjectPath, data: bytes) -> None:
        self.before("create")
        if path in self.objects:
            raise FileExistsError(17, "there is one", str(path))
        self._put(path, data, writer)
        self.after("create")

    def _put(self, path: ObjectPath, data: bytes, writer: str | None = None) -> None:
        self.objects[path], self.writers[path] = data, writer
        self.written[path] = time.monotonic()

    def delete(self, paths: Iterable[ObjectPath]) -> None:
        for path in paths:
            self.before("delete")
            self.objects.pop(path, None)
            self.after("delete")

    def begin_upload(self, path: ObjectPath) -> Upload:
        self.before("begin_upload")
        self._count += 1
        upload = Upload(path, f"upload-{self._count}")
        self.open[upload] = {}
        self.after("begin_upload")
        return upload

    def upload_part(self, upload: Upload, number: int, data: bytes) -> UploadPart:
        self.before("upload_part")
        if upload not in self.open:
            raise FileNotFoundError(2, "no such upload", str(upload.path))
        self.open[upload][number] = data
        self.after("upload_part")
        return UploadPart(number, f'"{checksum(data)}"', checksum(data))

    def complete_upload(self, upload: Upload, parts: Sequence[UploadPart]) -> None:
        self.before("complete_upload")
        if upload not in self.open:
            raise FileNotFoundError(2, "no such upload", str(upload.path))
        sent = self.open.pop(upload)
        self._put(upload.path, b"".join(sent[part.number] for part in parts))
        self.after("complete_upload")

    def abort_upload(self, upload: Upload) -> None:
        self.before("abort_upload")
        self.open.pop(upload, None)
        self.after("abort_upload")

    def uploads(self, directory: ObjectPath) -> list[Upload]:
        self.before("uploads")
        found = [upload for upload in self.open if upload.path.key.startswith(directory.prefix)]
        self.after("uploads")
        return found
