"""A server for tests that has the calls of Google's JSON API that we use, as its reference describes them.

fake-gcs-server 1.5x, which others use, does not look at the conditions of `compose`, of its sources and of resumable uploads, and answers
500 where a source is gone (tried); those are what commits need.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.parser import BytesParser
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import google_crc32c

from penstock.filesystem.store_settings import GoogleSettings
from tests.http_server import Answer, Asked, serving

_PAGE = 1000
_MOST_COMPOSED = 32


def settings_of(url: str, *, retry_seconds: float = 3.0) -> GoogleSettings:
    """Return how to reach a server of the tests."""
    return GoogleSettings(endpoint=url, retry_seconds=retry_seconds)


@contextmanager
def google_server() -> Iterator[str]:
    """Yield the address of a server of its own."""
    with serving(_Objects().answer) as url:
        yield url


@dataclass(frozen=True, slots=True)
class _Object:
    data: bytes
    version: int
    metadata: dict[str, str] = field(default_factory=dict)
    updated: str = ""


class _Refused(Exception):  # noqa: N818 - an answer
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


class _Objects:
    """Buckets."""

    def __init__(self) -> None:
        self._buckets: dict[str, dict[str, _Object]] = {}
        self._sending: dict[str, tuple[Asked, dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._versions = 10**15

    def answer(self, asked: Asked) -> Answer:
        """Answer a request."""
        with self._lock:
            try:
                return self._answer(asked)
            except _Refused as refused:
                said = {"code": refused.status, "message": refused.text, "errors": []}
                return _json({"error": said}, refused.status)

    def _answer(self, asked: Asked) -> Answer:
        names = asked.path.strip("/").split("/")
        kind = names[0] if names[0] in {"upload", "download"} else ""
        names = names[names.index("b") :] if "b" in names else []
        if len(names) == 1:
            self._buckets[json.loads(asked.body)["name"]] = {}
            return _json({"name": json.loads(asked.body)["name"]})
        if len(names) == 2:
            return _json({"name": names[1], "projectNumber": "1", "location": "US"})
        bucket = unquote(names[1])
        if bucket not in self._buckets:
            raise _Refused(404, "The specified bucket does not exist.")
        objects = self._buckets[bucket]
        if kind == "upload":
            return self._upload(asked, bucket, objects)
        if len(names) == 3:
            return _json(_page(bucket, objects, asked.query))
        return self._of_object(asked, bucket, objects, unquote(names[3]), names[4:])

    def _of_object(
        self, asked: Asked, bucket: str, objects: dict[str, _Object], key: str, more: list[str]
    ) -> Answer:
        if more == ["compose"]:
            return self._compose(asked, bucket, objects, key)
        if key not in objects:
            raise _Refused(404, f"No such object: {bucket}/{key}")
        found = objects[key]
        if asked.method == "DELETE":
            del objects[key]
            return Answer(204)
        if asked.query.get("alt") == "media":
            return _content(asked, found)
        return _json(_described(bucket, key, found))

    def _upload(self, asked: Asked, bucket: str, objects: dict[str, _Object]) -> Answer:
        kind = asked.query["uploadType"]
        if kind == "multipart":
            said, data = _parts(asked)
            return self._put(asked, bucket, objects, said, data)
        if "upload_id" not in asked.query:
            number = uuid4().hex
            self._sending[number] = (asked, json.loads(asked.body))
            where = f"http://{asked.headers['host']}{asked.path}?uploadType=resumable&upload_id={number}"
            return Answer(200, b"", {"Location": where})
        begun, said = self._sending[asked.query["upload_id"]]
        return self._put(begun, bucket, objects, said, asked.body)

    def _put(
        self,
        asked: Asked,
        bucket: str,
        objects: dict[str, _Object],
        said: dict[str, Any],
        data: bytes,
    ) -> Answer:
        key = said["name"]
        if "crc32c" in said and said["crc32c"] != _crc32c(data):
            raise _Refused(400, "Provided CRC32C does not match.")
        _check(asked.query.get("ifGenerationMatch"), objects.get(key))
        objects[key] = self._made(data, said.get("metadata") or {})
        return _json(_described(bucket, key, objects[key]))

    def _compose(self, asked: Asked, bucket: str, objects: dict[str, _Object], key: str) -> Answer:
        said = json.loads(asked.body)
        sources = said["sourceObjects"]
        if not 1 <= len(sources) <= _MOST_COMPOSED:
            raise _Refused(
                400, "The number of source components provided must be between 1 and 32."
            )
        found = []
        for source in sources:
            if source["name"] not in objects:
                raise _Refused(404, f"Object {source['name']} not found.")
            wanted = source.get("objectPreconditions", {}).get("ifGenerationMatch")
            _check(wanted, objects[source["name"]])
            found.append(objects[source["name"]])
        _check(asked.query.get("ifGenerationMatch"), objects.get(key))
        data = b"".join(each.data for each in found)
        objects[key] = self._made(data, said.get("destination", {}).get("metadata") or {})
        return _json(_described(bucket, key, objects[key]))

    def _made(self, data: bytes, metadata: dict[str, str]) -> _Object:
        self._versions += 1
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        return _Object(data, self._versions, metadata, now)


def _check(wanted: Any, found: _Object | None) -> None:
    if wanted is not None and int(wanted) != (0 if found is None else found.version):
        raise _Refused(412, "At least one of the pre-conditions you specified did not hold.")


def _parts(asked: Asked) -> tuple[dict[str, Any], bytes]:
    """Return the description and the bytes of an upload in one request."""
    head = f"Content-Type: {asked.headers['content-type']}\r\n\r\n".encode()
    mark = BytesParser().parsebytes(head).get_boundary()
    assert mark is not None
    _, first, second, _ = asked.body.split(b"--" + mark.encode())
    return json.loads(first.partition(b"\r\n\r\n")[2]), second.partition(b"\r\n\r\n")[2][:-2]


def _page(bucket: str, objects: dict[str, _Object], query: Any) -> dict[str, Any]:
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    keys, prefixes = [], set()
    for key in sorted(objects):
        end = key.find(delimiter, len(prefix)) if delimiter else -1
        if not key.startswith(prefix) or key < query.get("pageToken", ""):
            continue
        if end >= 0:
            prefixes.add(key[: end + 1])
        else:
            keys.append(key)
    size = int(query.get("maxResults", _PAGE))
    items = [_described(bucket, key, objects[key]) for key in keys[:size]]
    rest = {"nextPageToken": keys[size]} if len(keys) > size else {}
    return {"items": items, "prefixes": sorted(prefixes), **rest}


def _content(asked: Asked, found: _Object) -> Answer:
    headers = {
        "X-Goog-Hash": f"crc32c={_crc32c(found.data)}",
        "X-Goog-Generation": str(found.version),
    }
    wanted = asked.headers.get("range")
    if wanted is None:
        return Answer(200, found.data, headers)
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    begin, end = int(first), min(int(last or len(found.data)), len(found.data) - 1)
    if begin >= len(found.data):
        return Answer(416)
    headers["Content-Range"] = f"bytes {begin}-{end}/{len(found.data)}"
    return Answer(206, found.data[begin : end + 1], headers)


def _described(bucket: str, key: str, found: _Object) -> dict[str, Any]:
    return {
        "name": key,
        "bucket": bucket,
        "generation": str(found.version),
        "size": str(len(found.data)),
        "metadata": found.metadata,
        "updated": found.updated,
        "crc32c": _crc32c(found.data),
    }


def _crc32c(data: bytes) -> str:
    return base64.b64encode(google_crc32c.value(data).to_bytes(4, "big")).decode()


def _json(content: dict[str, Any], status: int = 200) -> Answer:
    return Answer(status, json.dumps(content).encode(), {"Content-Type": "application/json"})
