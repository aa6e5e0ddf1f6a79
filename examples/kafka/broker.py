"""A Kafka broker for demos and tests: the program of the package `noida-db`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from examples.server_process import ServerProcess


class BrokerProcess(ServerProcess):
    """A broker of its own."""

    @property
    def servers(self) -> str:
        """Its address."""
        return f"127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        """Return the command that runs it."""
        program = Path(str(files("noida_db"))) / "noida-db"
        program.chmod(0o755)  # a wheel need not say that it can be executed
        return [
            *(str(program), "start", "--only", "kafka", "--host", "127.0.0.1"),
            *("--kafka-port", str(self.port), "--data-dir", str(self.directory)),
        ]
