"""A Kafka broker for demos and tests: the program of the package `noida-db`, on 127.0.0.1."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

_START_SECONDS = 20.0
_STOP_SECONDS = 10.0


def free_port() -> int:
    """Return a port on which nobody listens now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class BrokerProcess:
    """A broker of its own, which may be stopped and started."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def servers(self) -> str:
        """Its address."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it listens.

        Raises:
            RuntimeError: It does not.
        """
        log = self.directory / "broker.log"
        with log.open("ab") as output:
            command = [
                *_command(),
                *("--kafka-port", str(self.port), "--data-dir", str(self.directory)),
            ]
            self._process = subprocess.Popen(  # noqa: S603 - a program of a pinned package
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.directory,
            )
        until = time.monotonic() + _START_SECONDS
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise RuntimeError(f"the broker does not start: {log.read_text(errors='replace')}")
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
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


def _command() -> Sequence[str]:
    program = Path(str(files("noida_db"))) / "noida-db"
    program.chmod(0o755)  # a wheel need not say that it can be executed
    return [str(program), "start", "--only", "kafka", "--host", "127.0.0.1"]
