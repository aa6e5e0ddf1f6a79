"""A server in this process that answers requests by a function: what servers of stores are made of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote


@dataclass(frozen=True, slots=True)
class Asked:
    """A request.

    Attributes:
        method: E.g. `PUT`.
        path: The path as it was sent.
        query: Parameters.
        headers: Names in lower case to values.
        body: What is sent.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def names(self) -> list[str]:
        """The parts of the path, decoded."""
        return [unquote(part) for part in self.path.strip("/").split("/")]


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def serving(answer: Callable[[Asked], Answer]) -> Iterator[str]:
    """Yield the address of a server that answers so."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = (
            -1
        )  # head and body in one packet; the second of two waits for an answer to the first

        def handle_one_request(self) -> None:
            with suppress(ConnectionError):
                super().handle_one_request()

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            found = dict(parse_qsl(query, keep_blank_values=True))
            made = answer(Asked(self.command, path, found, headers, body))
            self.send_response(made.status)
            for name, value in made.headers.items():
                self.send_header(name, value)
            if "Content-Length" not in made.headers:
                self.send_header("Content-Length", str(len(made.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(made.body)

        do_PUT = do_POST = do_HEAD = do_DELETE = do_GET  # noqa: N815 - names of the library

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
