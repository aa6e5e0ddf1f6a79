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

_SIZE = struct.Struct(">i")
_HEAD = struct.Struct(">hhi")
_HANDSHAKE, _AUTHENTICATE = 17, 36
_AUTHENTICATION_FAILED = 58


def _place(port: int) -> bytes:
    return b"127.0.0.1" + _SIZE.pack(port)


class Proxy:
    """Passes frames between clients and a broker.

    Attributes:
        connections: How many were made.
        logins: User names and passwords that were sent.
    """

    def __init__(
        self,
        servers: str,
        tls: ssl.SSLContext | None = None,
        login: tuple[str, str] | None = None,
    ) -> None:
        """Listen.

        Args:
            servers: The broker.
            tls: Certificate of the proxy; None is plain text.
            login: User name and password that PLAIN asks for; None asks for none.
        """
        self._broker_port = int(servers.rpartition(":")[2])
        self._tls = tls
        self._login = login
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._is_cut = False
        self.connections = 0
        self.logins: list[tuple[str, str]] = []
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
            self._pass(client, broker, lambda frame: self._asked(frame, client))
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

    def _asked(self, frame: bytes, client: socket.socket) -> bytes | None:
        """Return what the broker is asked; None if the proxy has answered."""
        kind, version, correlation = _HEAD.unpack_from(frame)
        if self._login is None or kind not in {_HANDSHAKE, _AUTHENTICATE}:
            return frame
        if kind == _HANDSHAKE:
            body = struct.pack(">hi", 0, 1) + struct.pack(">h", 5) + b"PLAIN"
        else:
            user, password = frame.split(b"\0")[-2:]
            self.logins.append((user.decode(), password.decode()))
            is_right = self.logins[-1] == self._login
            body = struct.pack(">hhi", 0 if is_right else _AUTHENTICATION_FAILED, -1, 0)
            body += struct.pack(">q", 0) if version >= 1 else b""
        answer = struct.pack(">i", correlation) + body
        client.sendall(_SIZE.pack(len(answer)) + answer)
        return None


def _frames(read: socket.socket) -> Iterator[bytes]:
    while len(head := _exactly(read, _SIZE.size)) == _SIZE.size:
        yield _exactly(read, _SIZE.unpack(head)[0])


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
