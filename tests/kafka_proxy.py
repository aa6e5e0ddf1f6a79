"""A network of the test's own in front of a broker: connections that can be cut, TLS, and a login.

Brokers tell their clients where they are, and clients connect to that. So the proxy reads the broker's answers, frame by
frame, and puts its own port where the broker's is. It listens on 127.0.0.1 only.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

from tests.kafka_logins import PlainLogin, RefusedError, ServerLogin

_SIZE = struct.Struct(">i")
_HEAD = struct.Struct(">hhi")
_NAME = struct.Struct(">h")
_HANDSHAKE, _AUTHENTICATE = 17, 36
_VERSIONS = 18
"""What a client may ask before it has logged in."""
_AUTHENTICATION_FAILED = 58


def _place(port: int) -> bytes:
    return b"127.0.0.1" + _SIZE.pack(port)


class Proxy:
    """Passes frames between clients and a broker.

    Attributes:
        connections: How many were made.
        logins: User names and passwords that were sent.
        strangers: Connections that were ended because they asked for something before they had logged in.
    """

    def __init__(
        self,
        servers: str,
        tls: ssl.SSLContext | None = None,
        login: tuple[str, str] | None = None,
        mechanism: type[ServerLogin] = PlainLogin,
    ) -> None:
        """Listen.

        Args:
            servers: The broker.
            tls: Certificate of the proxy; None is plain text.
            login: User name and password that it asks for; None asks for none.
            mechanism: How it asks for them.
        """
        self._broker_port = int(servers.rpartition(":")[2])
        self._tls = tls
        self._login = login
        self._mechanism = mechanism
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._is_cut = False
        self.connections = 0
        self.logins: list[tuple[str, str]] = []
        self.strangers = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def servers(self) -> str:
        """Its address."""
        return f"127.0.0.1:{self._port}"

    def cut(self) -> None:
        """End all connections, and take no others."""
        with self._lock:
            self._is_cut = True
            ended, self._open = self._open, set()
        for each in ended:
            _end(each)

    def mend(self) -> None:
        """Take connections again."""
        with self._lock:
            self._is_cut = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # it was closed
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self._tls is not None:
                client = self._tls.wrap_socket(client, server_side=True)
            broker = socket.create_connection(("127.0.0.1", self._broker_port))
            with self._lock:
                if self._is_cut:
                    _end(client)
                    _end(broker)
                    return
                self._open |= {client, broker}
                self.connections += 1
            away = threading.Thread(target=self._pass, args=(broker, client, self._moved))
            away.daemon = True
            away.start()
            login = None if self._login is None else self._mechanism(*self._login)
            self._pass(client, broker, lambda frame: self._asked(frame, client, login))
        _end(client)

    def _pass(
        self,
        read: socket.socket,
        write: socket.socket,
        changed: Callable[[bytes], bytes | None],
    ) -> None:
        with contextlib.suppress(OSError):
            for frame in _frames(read):
                sent = changed(frame)
                if sent is not None:
                    write.sendall(_SIZE.pack(len(sent)) + sent)
        _end(read)
        _end(write)

    def _moved(self, frame: bytes) -> bytes:
        return frame.replace(_place(self._broker_port), _place(self._port))

    def _asked(
        self, frame: bytes, client: socket.socket, login: ServerLogin | None
    ) -> bytes | None:
        """Return what the broker is asked; None if the proxy has answered."""
        kind, version, correlation = _HEAD.unpack_from(frame)
        if login is None or kind == _VERSIONS:
            return frame
        if kind not in {_HANDSHAKE, _AUTHENTICATE}:
            if not login.is_done:
                self.strangers += 1
                raise ConnectionRefusedError
            return frame
        if kind == _HANDSHAKE:
            name = login.mechanism.encode()
            body = struct.pack(">hih", 0, 1, len(name)) + name
        else:
            (named,) = _NAME.unpack_from(frame, _HEAD.size)
            sent = frame[_HEAD.size + _NAME.size + max(named, 0) + _SIZE.size :]
            code, answered = 0, b""
            try:
                answered = login.answer(sent)
            except RefusedError:
                code = _AUTHENTICATION_FAILED
            self.logins += login.said
            login.said.clear()
            body = struct.pack(">hhi", code, -1, len(answered)) + answered
            body += struct.pack(">q", 0) if version >= 1 else b""
        answer = struct.pack(">i", correlation) + body
        client.sendall(_SIZE.pack(len(answer)) + answer)
        return None


def _frames(read: socket.socket) -> Iterator[bytes]:
    while head := _exactly(read, _SIZE.size):
        frame = _exactly(read, _SIZE.unpack(head)[0])
        if not frame:
            return  # the other side ended in the middle of it
        yield frame


def _exactly(read: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        some = read.recv(size - len(found))
        if not some:
            return b""
        found += some
    return found


def _end(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
