"""A server for demos and tests, as a process of its own on 127.0.0.1, which is ended by its process id."""

from __future__ import annotations

import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

_START_SECONDS = 20.0
_STOP_SECONDS = 10.0
_PAUSE_SECONDS = 0.02


def free_port() -> int:
    """Return a port on which nobody listens now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class ServerProcess(ABC):
    """A server of its own, which may be stopped and started.

    Attributes:
        directory: Where its files are.
        port: Where it listens.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Return the command that runs it.

        Raises:
            RuntimeError: There is no program.
        """

    def answers(self, connection: socket.socket) -> bool:
        """Return whether it is ready, given a connection to it; the default is as soon as it listens."""
        del connection
        return True

    def start(self) -> None:
        """Start it, and wait until it is ready.

        Raises:
            RuntimeError: It does not, or there is no program.
        """
        command, log = self.command(), self.directory / "server.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - a program of a pinned package
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.directory,
            )
        until = time.monotonic() + _START_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise RuntimeError(f"the server does not start: {log.read_text(errors='replace')}")
            time.sleep(_PAUSE_SECONDS)

    def stop(self) -> None:
        """Stop it; it keeps what it has."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_STOP_SECONDS)

    def _is_ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as made:
                return self.answers(made)
        except OSError:
            return False
