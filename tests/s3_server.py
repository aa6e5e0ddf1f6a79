"""A server for tests that speaks S3's protocol, and a proxy before it that loses, delays and refuses answers."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import pytest

from penstock.filesystem.store_settings import S3Settings

SECRET = "s3cr3t-and-long-enough"  # noqa: S105 - of nobody

# Prints its port, and ends when the test that started it has ended, however that was. Moto answers 500 where S3 knows
# no such upload.
_SERVER = """
import sys
from moto.s3 import exceptions, models
from moto.server import ThreadedMotoServer

def missing(uploads, upload_id):
    raise exceptions.NoSuchUpload(upload_id)

models.MultipartDict.__missing__ = missing
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""

_SLOW_DOWN = (
    b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
)


def settings_of(endpoint: str) -> S3Settings:
    """Return how to reach a server of the tests."""
    return S3Settings("tester", SECRET, None, endpoint, "us-east-1", is_path_style=True)


@contextmanager
def s3_server() -> Iterator[str]:
    """Yield the address of a server of its own, which is ended by its process id."""
    if find_spec("moto") is None:
        pytest.skip("moto is not installed")
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks.

    Attributes:
        method: E.g. `PUT`.
        path: Bucket and key.
        query: What is behind the question mark.
        headers: Names in lower case to values.
        body: What is sent.
    """

    method: str
    path: str
    query: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(slots=True)
class Fault:
    """What happens to requests.

    Attributes:
        is_hit: Which requests.
        times: How many of them.
        is_throttled: Whether they are answered by 503, and not passed on.
        is_lost: Whether they are passed on, and their answer is not.
        is_dropped: Whether they are not passed on, and nobody answers.
        before_answer: Called when the server has answered, before the client is told.
    """

    is_hit: Callable[[Request], bool]
    times: int = 1
    is_throttled: bool = False
    is_lost: bool = False
    is_dropped: bool = False
    before_answer: Callable[[], None] = field(default=lambda: None)


class FaultProxy:
    """Passes requests to a server, on a port of its own.

    Attributes:
        faults: What is to happen; each ends after so many requests.
        requests: What was asked.
    """

    def __init__(self, server: str) -> None:
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self._server = urlsplit(server).netloc
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = (
                -1
            )  # head and body in one packet; the second of two waits for an answer to the first

            def handle_one_request(self) -> None:
                with suppress(ConnectionError):
                    super().handle_one_request()

            def handle_expect_100(self) -> bool:
                super().handle_expect_100()
                self.wfile.flush()
                return True

            def do_GET(self) -> None:
                proxy.serve(self)

            do_PUT = do_POST = do_HEAD = do_DELETE = do_GET  # noqa: N815 - names of the library

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def stop(self) -> None:
        """Stop listening."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        path, _, query = handler.path.partition("?")
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        fault = self._fault_for(Request(handler.command, path, query, headers, body))
        if fault is not None and fault.is_throttled:
            _answer(handler, 503, [], _SLOW_DOWN)
            return
        if fault is not None and fault.is_dropped:
            handler.close_connection = True
            return
        passed = http.client.HTTPConnection(self._server, timeout=30)
        headers.pop("expect", None)
        passed.request(handler.command, handler.path, body, headers)
        answer = passed.getresponse()
        data = answer.read()
        passed.close()
        if fault is not None:
            fault.before_answer()
            if fault.is_lost:
                handler.close_connection = True
                return
        _answer(handler, answer.status, answer.getheaders(), data)

    def _fault_for(self, request: Request) -> Fault | None:
        with self._lock:
            self.requests.append(request)
            for fault in self.faults:
                if fault.times and fault.is_hit(request):
                    fault.times -= 1
                    return fault
        return None


def _answer(
    handler: BaseHTTPRequestHandler, status: int, headers: list[tuple[str, str]], data: bytes
) -> None:
    handler.send_response_only(status)
    length = str(len(data))
    for name, value in headers:
        if name.lower() == "content-length":
            length = value  # of HEAD: the size of the object
        elif name.lower() not in {"connection", "transfer-encoding"}:
            handler.send_header(name, value)
    handler.send_header("Content-Length", length)
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(data)


def wait_until(is_true: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait for something that another thread does."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.01)
