"""A network of the test's own in front of a server: it passes bytes, and can be cut, or lose what the server answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self


class CutNetwork:
    """Listens on 127.0.0.1.

    Attributes:
        port: Where.
    """

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        """Stand in front of a server.

        Args:
            connect: Connects to it.
        """
        self._connect = connect
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
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
            with self._lock:
                is_cut = self._is_cut
                server = client if is_cut else self._connect()
                self._open |= set() if is_cut else {client, server}
            if is_cut:
                _end(client)
                continue
            for pair, answers in (((client, server), False), ((server, client), True)):
                threading.Thread(target=self._pass, args=(*pair, answers), daemon=True).start()

    def _pass(self, read: socket.socket, write: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while some := read.recv(1 << 16):
                if not (answers and self._loses_answers):
                    write.sendall(some)
        _end(read)
        _end(write)


def _end(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
