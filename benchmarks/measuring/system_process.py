"""The runner's side of one system: its process, asked one thing at a time."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measuring.memory import MemoryWatch
from benchmarks.measuring.processes import members, signal_all
from benchmarks.model.errors import SystemFailedError
from benchmarks.systems.launch import environment

END_SECONDS = 20.0
"""How long a system may take to end after it was closed."""
LIMIT_SECONDS = 300.0
"""How long a system may take for an answer, if ten of its longest answers before take less."""
FIRST_LIMIT_SECONDS = 1_800.0
"""The same before it has answered twice: what it does first may take longest."""
LIMIT_FACTOR = 10.0

_SHOWN_LINES = 12


class SystemProcess:
    """A system in a process and session of its own.

    Between two questions it is stopped, so that it takes nothing from the one that is measured:
    an idle streaming query polls its source a hundred times a second.
    """

    def __init__(self, name: str, command: list[str], work: Path, cores: int) -> None:
        """Start the process.

        Args:
            name: Of the system, for messages.
            command: What to run.
            work: Its working directory; also gets its log.
            cores: How many it and what it starts may use. The number of its tasks is no limit: a
                task of Spark is a thread of the JVM and a Python worker, which work at one time.

        Raises:
            SystemFailedError: The command cannot be run.
        """
        self._name = name
        self._is_closed = False
        self._is_late = False
        self._took_seconds: list[float] = []
        self._log = work / "log.txt"
        self.spawned = time.monotonic()
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(  # noqa: S603 - the program's own command
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=work,
                    env=environment({}),
                    text=True,
                    start_new_session=True,
                )
        except OSError as cause:
            raise SystemFailedError(
                f"{name} cannot be started: {cause}", hint="Check the command: " + " ".join(command)
            ) from cause
        # Before it has started anything, so that whatever it starts inherits this.
        os.sched_setaffinity(self._process.pid, sorted(os.sched_getaffinity(0))[:cores])
        self._memory = MemoryWatch(self._process.pid)

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Let the system run, ask it for one thing, wait for the answer, and stop it again.

        Raises:
            SystemFailedError: It answered with an error, with nonsense, died, or hangs: then it is killed.
        """
        signal_all(self._process.pid, signal.SIGCONT)
        self._memory.resume()
        began = time.monotonic()
        try:
            with self._limited():
                answer = self._exchange({"do": do, **arguments})
        finally:
            self._memory.pause()
        self._took_seconds.append(time.monotonic() - began)
        signal_all(self._process.pid, signal.SIGSTOP)
        if "error" in answer:
            raise self._failed(f"{self._name} failed at {do!r}: {answer['error']}")
        result: dict[str, Any] = answer["ok"]
        return result

    @contextlib.contextmanager
    def _limited(self) -> Iterator[None]:
        """Kill the system if the block takes too long, so that its answer ends."""
        took = self._took_seconds
        least = LIMIT_SECONDS if len(took) > 1 else FIRST_LIMIT_SECONDS
        limit = max([least, *(LIMIT_FACTOR * each for each in took)])
        timer = threading.Timer(limit, self._give_up)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _give_up(self) -> None:
        self._is_late = True
        signal_all(self._process.pid, signal.SIGKILL)

    def peak_memory_bytes(self) -> dict[str, int]:
        """Return the peak memory by role; see `MemoryWatch.peaks`."""
        return self._memory.peaks()

    def close(self) -> None:
        """End the system: ask it to, and kill what is left. Harmless if done before."""
        if self._is_closed:
            return
        self._is_closed = True
        session = self._process.pid
        self._memory.close()
        signal_all(session, signal.SIGCONT)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write('{"do": "close"}\n')
            self._process.stdin.close()
            self._process.wait(END_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
        finally:
            self._process.wait()
            # What it started and left behind; nothing else is ever in its session.
            while members(session):
                signal_all(session, signal.SIGKILL)
                time.sleep(0.05)
            self._process.stdout.close()
            with contextlib.suppress(OSError):  # flushes, and nobody reads
                self._process.stdin.close()

    def _exchange(self, command: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{json.dumps(command)}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError as cause:
            raise self._failed(f"{self._name} has ended: {cause}") from cause
        if not line:
            status = self._process.wait()
            if self._is_late:
                raise self._failed(f"{self._name} hangs at {command['do']!r}, and was killed")
            raise self._failed(f"{self._name} ended with status {status} at {command['do']!r}")
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError as cause:
            raise self._failed(f"{self._name} answered {line.strip()!r}") from cause
        return answer

    def _failed(self, problem: str) -> SystemFailedError:
        text = self._log.read_text(encoding="utf-8", errors="replace")
        tail = "\n".join(text.splitlines()[-_SHOWN_LINES:])
        return SystemFailedError(
            problem, hint=f"Read the end of its log:\n{tail}" if tail else "It logged nothing."
        )
