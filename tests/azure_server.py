"""A server for tests that has the calls for block blobs of Azure that we use, as its reference describes them.

Beside it the tests run against Azurite, which Azure publishes, where somebody has installed it (`npm install azurite`, a third
of a gigabyte) and `azurite-blob` is on the `PATH`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import pytest

from penstock.filesystem.store_settings import AzureLogin, AzureSettings
from tests.http_server import Answer, Asked, serving

ACCOUNT = "devstoreaccount1"
# The key of Azurite, which its documentation prints.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_SIGNED = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
]
_PAGE = 5000


def settings_of(url: str, *, key: str = KEY, attempts: int = 4) -> AzureSettings:
    """Return how to reach a server of the tests."""
    login = AzureLogin(key, endpoint=f"{url}/{ACCOUNT}")
    return AzureSettings(((ACCOUNT, login),), attempts)


def connection_string(url: str) -> str:
    """Return the same as the environment has it."""
    return (
        f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
        f"BlobEndpoint={url}/{ACCOUNT};"
    )


@contextmanager
def azure_server() -> Iterator[str]:
    """Yield the address of a server of its own."""
    with serving(_Blobs().answer) as url:
        yield url


@contextmanager
def azurite(directory: Path) -> Iterator[str]:
    """Yield the address of Azurite, which is ended by its process id."""
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("azurite-blob is not on the PATH")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "--silent", "--skipApiVersionCheck", "--location", str(directory)]
    process = subprocess.Popen(
        [*command, "--blobHost", "127.0.0.1", "--blobPort", str(port)], stdout=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@dataclass(slots=True)
class _Blob:
    """A blob; `data` is None while there are only blocks."""

    data: bytes | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    modified: float = 0.0
    version: int = 0
    waiting: dict[str, bytes] = field(default_factory=dict)
    listed: dict[str, bytes] = field(default_factory=dict)


class _Refused(Exception):  # noqa: N818 - an answer
    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status, self.code = status, code


class _Blobs:
    """Containers of one account."""

    def __init__(self) -> None:
        self._containers: dict[str, dict[str, _Blob]] = {}
        self._lock = threading.Lock()
        self._versions = 0

    def answer(self, asked: Asked) -> Answer:
        """Answer a request."""
        with self._lock:
            try:
                self._check_login(asked)
                return self._answer(asked)
            except _Refused as refused:
                text = f"<?xml version='1.0'?><Error><Code>{refused.code}</Code><Message>{refused.code}</Message></Error>"
                headers = {"x-ms-error-code": refused.code, "Content-Type": "application/xml"}
                return Answer(refused.status, text.encode(), headers)

    def _answer(self, asked: Asked) -> Answer:
        _, container, *rest = asked.names
        name = "/".join(rest)
        if not name and asked.method == "PUT":
            self._containers[container] = {}
            return Answer(201)
        if container not in self._containers:
            raise _Refused(404, "ContainerNotFound")
        blobs = self._containers[container]
        if not name:
            return Answer(200, _list(blobs, asked.query), {"Content-Type": "application/xml"})
        return self._of_blob(asked, blobs, name)

    def _of_blob(self, asked: Asked, blobs: dict[str, _Blob], name: str) -> Answer:
        comp = asked.query.get("comp", "")
        if asked.method == "PUT":
            md5 = asked.headers.get("content-md5")
            if md5 is not None and md5 != _md5(asked.body):
                raise _Refused(400, "Md5Mismatch")
            blob = blobs.setdefault(name, _Blob())
            put = {"block": self._put_block, "blocklist": self._put_list, "": self._put_blob}[comp]
            put(asked, blob)
            return Answer(201, b"", _described(blob))
        found = blobs.get(name)
        if comp == "blocklist":
            if found is None:
                raise _Refused(404, "BlobNotFound")
            return Answer(200, _blocks(found), {"Content-Type": "application/xml"})
        if found is None or found.data is None:
            raise _Refused(404, "BlobNotFound")
        if asked.method == "DELETE":
            del blobs[name]
            return Answer(202)
        return _content(asked, found, found.data)

    def _put_blob(self, asked: Asked, blob: _Blob) -> None:
        if asked.headers.get("if-none-match") == "*" and blob.data is not None:
            raise _Refused(409, "BlobAlreadyExists")
        self._write(asked, blob, asked.body, {})

    def _put_block(self, asked: Asked, blob: _Blob) -> None:
        if not asked.body:
            raise _Refused(400, "InvalidHeaderValue")
        name = asked.query["blockid"]
        if any(len(other) != len(name) for other in blob.waiting):
            raise _Refused(400, "InvalidBlobOrBlock")
        blob.waiting[name] = asked.body

    def _put_list(self, asked: Asked, blob: _Blob) -> None:
        made: dict[str, bytes] = {}
        of_kind = {
            "Uncommitted": blob.waiting,
            "Committed": blob.listed,
            "Latest": {**blob.listed, **blob.waiting},
        }
        for block in ET.fromstring(asked.body):  # noqa: S314 - of our client
            found = of_kind[block.tag].get(block.text or "")
            if found is None:
                raise _Refused(400, "InvalidBlockList")
            made[block.text or ""] = found
        self._write(asked, blob, b"".join(made.values()), made)

    def _write(self, asked: Asked, blob: _Blob, data: bytes, listed: dict[str, bytes]) -> None:
        self._versions += 1
        blob.data, blob.version, blob.modified = data, self._versions, time.time()
        blob.waiting, blob.listed = {}, listed
        blob.metadata = {
            header.removeprefix("x-ms-meta-"): value
            for header, value in asked.headers.items()
            if header.startswith("x-ms-meta-")
        }

    def _check_login(self, asked: Asked) -> None:
        """Compare the signature of a request with ours (`Authorize with Shared Key`)."""
        headers = dict(asked.headers)
        if headers.get("content-length") == "0":
            headers["content-length"] = ""
        own = sorted((name, value) for name, value in headers.items() if name.startswith("x-ms-"))
        query = sorted((name.lower(), value) for name, value in asked.query.items())
        signed = [
            asked.method,
            *(headers.get(name, "") for name in _SIGNED),
            *(f"{name}:{value}" for name, value in own),
            f"/{ACCOUNT}{asked.path}",
            *(f"{name}:{value}" for name, value in query),
        ]
        digest = hmac.digest(base64.b64decode(KEY), "\n".join(signed).encode(), "sha256")
        expected = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
        if asked.headers.get("authorization") != expected:
            raise _Refused(403, "AuthenticationFailed")


def _list(blobs: dict[str, _Blob], query: dict[str, str] | object) -> bytes:
    """Return a page of names, which are in order; names below a delimiter are one prefix."""
    assert isinstance(query, dict)
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    include = query.get("include", "").split(",")
    shown: dict[str, str] = {}
    for name in sorted(blobs):
        blob = blobs[name]
        if not name.startswith(prefix):
            continue
        end = name.find(delimiter, len(prefix)) if delimiter else -1
        if end >= 0:
            top = name[: end + 1]
            if any(b.data is not None for n, b in blobs.items() if n.startswith(top)):
                shown[top] = f"<BlobPrefix><Name>{escape(top)}</Name></BlobPrefix>"
        elif blob.data is not None or "uncommittedblobs" in include:
            shown[name] = _listed(name, blob, has_metadata="metadata" in include)
    begin = query.get("marker", "")
    page = [name for name in shown if name >= begin]
    size = int(query.get("maxresults", _PAGE))
    rest = page[size] if len(page) > size else ""
    body = "".join(shown[name] for name in page[:size])
    text = f"<EnumerationResults><Blobs>{body}</Blobs><NextMarker>{escape(rest)}</NextMarker></EnumerationResults>"
    return f"<?xml version='1.0' encoding='utf-8'?>{text}".encode()


def _listed(name: str, blob: _Blob, *, has_metadata: bool) -> str:
    said = "".join(f"<{key}>{escape(text)}</{key}>" for key, text in blob.metadata.items())
    metadata = f"<Metadata>{said}</Metadata>" if has_metadata else ""
    size = len(blob.data or b"")
    properties = f"<Content-Length>{size}</Content-Length><BlobType>BlockBlob</BlobType>"
    return (
        f"<Blob><Name>{escape(name)}</Name><Properties>{properties}</Properties>{metadata}</Blob>"
    )


def _blocks(blob: _Blob) -> bytes:
    each = "".join(
        f"<Block><Name>{name}</Name><Size>{len(data)}</Size></Block>"
        for name, data in blob.waiting.items()
    )
    text = f"<BlockList><UncommittedBlocks>{each}</UncommittedBlocks></BlockList>"
    return f"<?xml version='1.0' encoding='utf-8'?>{text}".encode()


def _content(asked: Asked, blob: _Blob, data: bytes) -> Answer:
    headers = _described(blob)
    wanted = asked.headers.get("x-ms-range") or asked.headers.get("range")
    if asked.method == "HEAD":
        return Answer(200, b"", {**headers, "Content-Length": str(len(data))})
    if wanted is None:
        return Answer(200, data, headers)
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    begin, end = int(first), min(int(last or len(data)), len(data) - 1)
    if begin >= len(data):
        raise _Refused(416, "InvalidRange")
    headers["Content-Range"] = f"bytes {begin}-{end}/{len(data)}"
    return Answer(206, data[begin : end + 1], headers)


def _described(blob: _Blob) -> dict[str, str]:
    described = {
        "ETag": f'"0x{blob.version:X}"',
        "Last-Modified": formatdate(blob.modified, usegmt=True),
        "x-ms-blob-type": "BlockBlob",
        "Content-Type": "application/octet-stream",
    }
    return described | {f"x-ms-meta-{name}": value for name, value in blob.metadata.items()}


def _md5(data: bytes) -> str:
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
