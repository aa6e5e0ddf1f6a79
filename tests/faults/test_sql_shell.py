"""The shell of SQL at a terminal: rows scroll while the job runs, Ctrl-C stops it, and the shell goes on."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

TICKS = (
    "CREATE TABLE ticks (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '5', 'fields.n.kind' = 'sequence',"
    " 'fields.n.start' = '1', 'fields.n.end' = '100000');"
)


class Terminal:
    """The shell, and what is seen of it."""

    def __init__(self, directory: Path) -> None:
        self.seen = ""
        self.process, self._file = pty.fork()
        if not self.process:
            os.chdir(directory)
            os.environ |= {"HOME": str(directory), "TERM": "xterm-256color"}
            os.execv(sys.executable, [sys.executable, "-m", "penstock", "sql"])  # noqa: S606

    def types(self, text: str) -> None:
        os.write(self._file, text.encode())

    def shows(self, text: str, seconds: float = 90) -> str:
        """Wait for a text behind what was seen before, and return what there is up to it."""
        until = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < until, f"{text!r} is not shown: {self.seen[-2000:]!r}"
            if select.select([self._file], [], [], 0.1)[0]:
                self.seen += os.read(self._file, 65_536).decode(errors="replace")
        found, _, self.seen = self.seen.partition(text)
        return found

    def is_gone(self) -> None:
        """End the shell if it is there still."""
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)

    def ends(self) -> int:
        """Wait for the end, and return the exit status."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                if select.select([self._file], [], [], 0.1)[0]:
                    os.read(self._file, 65_536)
            except OSError:  # of a terminal that is closed
                pass
            found, status = os.waitpid(self.process, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("the shell does not end")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    yield made
    made.is_gone()


def test_rows_scroll_while_a_job_runs_and_ctrl_c_stops_it(terminal: Terminal) -> None:
    terminal.shows("penstock> ")
    terminal.types(f"{TICKS}\n")
    terminal.shows("penstock> ")
    terminal.types("SELECT MOD(n, 3) AS k, COUNT(*) AS c FROM ticks GROUP BY MOD(n, 3);\n")
    terminal.shows("op | k | c")
    first = time.monotonic()
    for _ in range(8):
        terminal.shows("+U | ")
    assert time.monotonic() - first > 0.4, "rows are shown as they come"
    terminal.types("\x03")
    terminal.shows("stopped", 30)
    terminal.shows("penstock> ")
    terminal.types("SELECT n FROM ticks WHERE n < 4;\n")
    terminal.shows("3\r\n")
    terminal.types("\x03")
    terminal.shows("stopped", 30)
    terminal.types("SELECT broken FROM ticks;\n")
    terminal.shows("there is no column 'broken'")
    terminal.shows("penstock> ")
    terminal.types("QUIT\n")
    assert terminal.ends() == 0
