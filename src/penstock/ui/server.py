"""The server in a thread of the driver.

There is one per process and port: a program that runs several jobs, or one job after the other, shows all of them. It
ends with the process, and says so to those who look.
"""

from __future__ import annotations

import atexit
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.config.configuration import Configuration
from penstock.config.ui_options import UI_ADDRESS, UI_HOSTS, UI_PORT, UI_TOKEN
from penstock.errors import EnvironmentSetupError
from penstock.events.job_views import JobViews
from penstock.events.listeners import add_listener
from penstock.ui.access import new_token
from penstock.ui.app import JobChanges, Views, application
from penstock.ui.event_stream import EventStream
from penstock.ui.hosts import own_names
from penstock.ui.job_controls import JobControls
from penstock.ui.libraries import library

_logger = logging.getLogger("penstock")

_BACKLOG = 128
_MOST_CONNECTIONS = 256
"""Others are refused: each takes a file descriptor of the driver."""

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound here
"""Address of all networks to that of this machine."""


class UiServer:
    """A server that runs until it is closed.

    Attributes:
        url: Where it is.
        secret_url: The same with the token; it is for the terminal of who may change jobs, and for no log.
    """

    def __init__(
        self,
        views: Views,
        address: str,
        port: int,
        names: frozenset[str],
        controls: JobControls | None = None,
        token: str | None = None,
    ) -> None:
        """Listen, and answer in a thread.

        Args:
            views: Returns the jobs.
            address: To listen on.
            port: To listen on; 0 is any free one.
            names: By which it may be called, in lower case.
            controls: Jobs that may be changed; None is none.
            token: Who knows it may change them; None makes one.

        Raises:
            EnvironmentSetupError: The port cannot be listened on, or the extra `ui` is not installed.
        """
        uvicorn: Any = library("uvicorn")
        self._stream = EventStream(views, controls)
        token = token or new_token()
        changes = None if controls is None else JobChanges(controls, token)
        config = uvicorn.Config(
            application(views, self._stream, changes, names),
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            ws="none",
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=1,
        )
        self._socket = _listening(address, port)
        self._server = uvicorn.Server(config)
        # Signals are the program's: uvicorn takes them in the main thread only.
        self._thread = threading.Thread(
            target=self._server.run,
            kwargs={"sockets": [self._socket]},
            name="penstock-ui",
            daemon=True,
        )
        self._thread.start()
        named = _EVERYWHERE.get(address, address)
        host = f"[{named}]" if ":" in named else named
        self.url = f"http://{host}:{self._socket.getsockname()[1]}"
        self.secret_url = self.url if controls is None else f"{self.url}/#token={token}"

    def address_for(self, *, is_terminal: bool) -> str:
        """Return the address to print: with the token only where nobody keeps what is printed.

        Args:
            is_terminal: Whether it goes to a terminal, and not to a file or a log.
        """
        return self.secret_url if is_terminal else self.url

    def close(self) -> None:
        """Send those who look a last status, and stop answering. It may be called again."""
        self._stream.end()
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


def _listening(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen(_BACKLOG)
    except OSError as cause:
        made.close()
        raise EnvironmentSetupError(
            f"ui.port={port} of {address} cannot be listened on: {cause}",
            hint="Choose another port, or 0 for any free one.",
        ) from cause
    return made


_servers: dict[tuple[str, int], UiServer] = {}
_lock = threading.Lock()
_views = JobViews()

CONTROLS = JobControls()
"""The jobs of this process that run."""

_announced: list[Callable[[UiServer], None]] = []


def _close_servers() -> None:
    for server in _servers.values():
        server.close()


@contextmanager
def announced_to(tell: Callable[[UiServer], None]) -> Iterator[None]:
    """Tell somebody of each server that begins inside the context."""
    _announced.append(tell)
    try:
        yield
    finally:
        _announced.remove(tell)


def serve(configuration: Configuration) -> UiServer | None:
    """Start the server that a job asks for, unless the process has it already; None if it asks for none.

    Raises:
        EnvironmentSetupError: See `UiServer`.
    """
    port = configuration.get(UI_PORT)
    if port is None:
        return None
    address = configuration.get(UI_ADDRESS)
    names = own_names((configuration.get(UI_HOSTS) or "").split(","))
    with _lock:
        made = _servers.get((address, port))
        if made is None:
            token = configuration.get(UI_TOKEN)
            # Without anybody who learns the token there is nobody who may change a job.
            controls = CONTROLS if token or _announced else None
            made = UiServer(_views.views, address, port, names, controls, token)
            if not _servers:
                add_listener(_views)
                atexit.register(_close_servers)
            _servers[address, port] = made
            _logger.info("jobs are shown at %s, their metrics at %s/metrics", made.url, made.url)
            for tell in _announced:
                tell(made)
        return made
