"""A network of the test's own in front of a broker: connections that can be cut, TLS, and a login.

Brokers tell their clients where they are, and clients connect to that. So the proxy reads the broker's answers, frame by
frame, and puts its own port where the broker's is. It listens on 127.0.0.1 only.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Iterator

from tests.cut_network import CutNetwork
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


class Proxy(CutNetwork):
    """Passes frames between clients and a broker.

    Attributes:
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
        self.logins: list[tuple[str, str]] = []
        self.strangers = 0
        super().__init__(lambda: socket.create_connection(("127.0.0.1", self._broker_port)))

    @property
    def servers(self) -> str:
        """Its address."""
        return f"127.0.0.1:{self.port}"

    def _begun(self, client: socket.socket) -> socket.socket:
        return client if self._tls is None else self._tls.wrap_socket(client, server_side=True)

    def _pass_questions(self, client: socket.socket, server: socket.socket) -> None:
        login = None if self._login is None else self._mechanism(*self._login)
        for frame in _frames(client):
            asked = self._asked(frame, client, login)
            if asked is not None:
                _send(server, asked)

    def _pass_answers(self, server: socket.socket, client: socket.socket) -> None:
        for frame in _frames(server):
            _send(client, frame.replace(_place(self._broker_port), _place(self.port)))

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
        _send(client, struct.pack(">i", correlation) + body)
        return None


def _send(write: socket.socket, frame: bytes) -> None:
    write.sendall(_SIZE.pack(len(frame)) + frame)


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
