"""A network of the test's own in front of a server: it passes bytes, and can be cut, or lose what the server answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

Pass = Callable[[socket.socket, socket.socket], None]
"""Passes what it reads from one side to the other until the first one ends."""


class CutNetwork:
    """Listens on 127.0.0.1.

    Attributes:
        port: Where.
        connections: How many were made.
    """

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        """Stand in front of a server.

        Args:
            connect: Connects to it.
        """
        self._connect = connect
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._is_cut = self._loses_answers = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections, and take no others."""
        with self._lock:
            self._is_cut = True
            ended, self._open = self._open, set()
        for each in ended:
            _end(each)

    def mend(self) -> None:
        """Take connections again, and pass everything."""
        with self._lock:
            self._is_cut = self._loses_answers = False

    def lose_answers(self) -> None:
        """Let the server get what it is sent, and nobody its answers."""
        self._loses_answers = True

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
            client = self._begun(client)
            server = self._connect()
            if self._is_let_in(client, server):
                answers = (self._pass_answers, server, client)
                threading.Thread(target=_through, args=answers, daemon=True).start()
                _through(self._pass_questions, client, server)
            _end(server)
        _end(client)

    def _is_let_in(self, client: socket.socket, server: socket.socket) -> bool:
        with self._lock:
            if not self._is_cut:
                self._open |= {client, server}
                self.connections += 1
            return not self._is_cut

    def _begun(self, client: socket.socket) -> socket.socket:
        """Return a new connection after what comes before its first question."""
        return client

    def _pass_questions(self, client: socket.socket, server: socket.socket) -> None:
        while some := client.recv(1 << 16):
            server.sendall(some)

    def _pass_answers(self, server: socket.socket, client: socket.socket) -> None:
        while some := server.recv(1 << 16):
            if not self._loses_answers:
                client.sendall(some)


def _through(passes: Pass, read: socket.socket, write: socket.socket) -> None:
    with contextlib.suppress(OSError):
        passes(read, write)
    _end(read)
    _end(write)


def _end(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
