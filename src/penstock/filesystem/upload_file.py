"""A file for writers of formats whose bytes go to an upload, a part after the other."""

from __future__ import annotations

import io
from typing import Any

from penstock.filesystem.object_store import ObjectStore, Upload, UploadPart

PART_BYTES = 8 << 20
"""Size of a part; parts of large objects are larger, since an object has at most 10,000 of them."""

_PARTS_OF_ONE_SIZE = 1_000


class UploadFile(io.RawIOBase):
    """Sends what is written to it. At most one part is in memory.

    Attributes:
        upload: The upload.
        parts: The parts that the store has.
    """

    def __init__(self, store: ObjectStore, upload: Upload) -> None:
        super().__init__()
        self.upload = upload
        self.parts: list[UploadPart] = []
        self._store = store
        self._buffer = bytearray()
        self._sent = 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes that were written."""
        return self._sent + len(self._buffer)

    def write(self, data: Any) -> int:
        """Append bytes.

        Raises:
            OSError: A part could not be sent.
        """
        before = len(self._buffer)
        self._buffer += data
        written = len(self._buffer) - before
        size = max(PART_BYTES, self._sent // _PARTS_OF_ONE_SIZE)
        if len(self._buffer) >= size:
            self._send()
        return written

    def finish(self) -> tuple[UploadPart, ...]:
        """Send the last part, and return all.

        Raises:
            OSError: It could not be sent.
        """
        if self._buffer or not self.parts:
            self._send()
        return tuple(self.parts)

    def abort(self) -> None:
        """Drop the upload.

        Raises:
            OSError: The store did not.
        """
        self._buffer.clear()
        self._store.abort_upload(self.upload)

    def _send(self) -> None:
        data = bytes(self._buffer)
        self.parts.append(self._store.upload_part(self.upload, len(self.parts) + 1, data))
        self._sent += len(data)
        self._buffer.clear()
