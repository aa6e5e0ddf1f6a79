"""Somebody who looks at the page of a job and asks for its metrics, in a process of its own.

python -m benchmarks.systems.watcher URL    reads the events of the page, and the metrics every five seconds

It ends when its input does. A browser would draw what comes; that is work of another machine.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import urllib.request
from typing import Any

from penstock.config.reporter_options import UI_PORT
from penstock.observe.ui.server import UiServer

WATCHED: dict[str, Any] = {UI_PORT.key: "0"}
"""Settings of a job that is watched."""

SCRAPE_SECONDS = 5.0
_MOST_BYTES = 1 << 16


class Watcher:
    """Watches each server that it is told of, in turn."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def look_at(self, server: UiServer) -> None:
        """Begin to watch; who was watched before is not any more.

        Args:
            server: The server of the page.
        """
        self.close()
        command = [sys.executable, "-m", "benchmarks.systems.watcher", server.url]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE)  # noqa: S603 - ours

    def close(self) -> None:
        """Stop watching. It may be called again."""
        if self._process is not None:
            self._process.communicate(b"")
            self._process = None


def main(url: str) -> None:
    """Watch a server until the input of this process ends."""
    for read in (_read_events, _read_metrics):
        threading.Thread(target=read, args=(url,), daemon=True).start()
    sys.stdin.buffer.read()


def _read_events(url: str) -> None:
    with urllib.request.urlopen(f"{url}/events") as stream:  # noqa: S310 - the address of our job
        while stream.read1(_MOST_BYTES):
            pass


def _read_metrics(url: str) -> None:
    while True:
        with urllib.request.urlopen(f"{url}/metrics") as answer:  # noqa: S310 - likewise
            answer.read()
        time.sleep(SCRAPE_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1])
