"""`latency` in PyFlink, with its default settings: runs in the Flink environment.

The events come over a socket, one line each, written on the clock by a thread of this process; no
source of PyFlink makes them at a given time. An event is out when a Python function behind the count
has it, before Flink's sink: in favour of PyFlink.
"""

from __future__ import annotations

import os
import socket
import sys
import sysconfig
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from pyflink.common import Configuration, Types
from pyflink.datastream import DataStream, MapFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors import Sink
from pyflink.java_gateway import get_gateway

from benchmarks.systems.latency_system import LEVELS, Events, LatencySystem
from benchmarks.systems.serve import serve

_TICK_SECONDS = 0.001
_NEVER_MS = "1000000000"


class Clock(threading.Thread):
    """Writes the events of each millisecond, of those it slept through all at once.

    Attributes:
        port: Where to connect.
    """

    def __init__(self, rate: int) -> None:
        super().__init__(daemon=True)
        self._rate = rate
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]

    def run(self) -> None:
        """Serve one reader until it goes."""
        connection, _ = self._server.accept()
        written = _now() * self._rate
        while True:
            arisen = _now() * self._rate
            lines = "".join(f"{event}\n" for event in range(written, arisen))
            try:
                connection.sendall(lines.encode())
            except OSError:
                return  # the job was cancelled
            written = arisen
            time.sleep(_TICK_SECONDS)


class Note(MapFunction):
    """Notes when an event is out."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def open(self, runtime_context: Any) -> None:
        """Open a file for this worker."""
        path = Path(self._directory) / f"{os.getpid()}-{time.monotonic_ns()}.txt"
        self._file = path.open("w", buffering=1, encoding="ascii")

    def map(self, value: Any) -> Any:
        """Write the event and the time."""
        self._file.write(f"{value[1]} {_now()}\n")
        return value

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class PyFlinkLatency(LatencySystem):
    """A rolling count per key; a row per event."""

    def start(self) -> None:
        """Submit the job."""
        # In thread mode Python runs inside the JVM, which knows nothing of this environment.
        paths = [os.environ.get("PYTHONPATH"), sysconfig.get_path("purelib")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        self._directory = self.work / "arrivals"
        self._directory.mkdir()
        clock = Clock(self.rate)
        clock.start()
        env = self._environment()
        java = env._j_stream_execution_environment  # noqa: SLF001 - it has no Python side
        lines = DataStream(java.socketTextStream("127.0.0.1", clock.port))
        keys = self.shape.keys
        event = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
        discarding = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2
        counts = lines.map(lambda line: (int(line) % keys, int(line), 1), output_type=event)
        for _ in range(self.shape.parameters[LEVELS]):
            keyed = counts.key_by(lambda e: e[0], key_type=Types.LONG())
            counts = keyed.reduce(lambda a, b: (a[0], b[1], a[2] + b[2]))
        (
            counts.map(Note(str(self._directory)), output_type=event).sink_to(
                Sink(discarding.DiscardingSink())
            )
        )
        self._job = env.execute_async("latency")

    def check_alive(self) -> None:
        """Raise if the job ended."""
        status = self._job.get_job_status().result()
        if status.is_globally_terminal_state():
            raise RuntimeError(f"the job ended by itself: {status}")

    def arrivals(self) -> Iterable[tuple[int, Events]]:
        """Return what was noted, by millisecond."""
        noted = [
            line.split()
            for path in self._directory.glob("*.txt")
            for line in path.read_text(encoding="ascii").splitlines(keepends=True)
            if line.endswith("\n")
        ]
        found = np.array(noted, dtype=np.int64).reshape(-1, 2)
        for at in np.unique(found[:, 1]):
            yield int(at), found[found[:, 1] == at, 0]

    def close(self) -> None:
        """Cancel the job."""
        self._job.cancel().result()

    def _environment(self) -> StreamExecutionEnvironment:
        settings = {
            "parallelism.default": str(self.shape.parallelism),
            "execution.runtime-mode": "STREAMING",
            "python.executable": sys.executable,
            "python.client.executable": sys.executable,
            "taskmanager.memory.managed.size": "512m",
            "rest.port": "0",
            # While the process is stopped no heartbeat comes, and it is no reason to give up.
            "heartbeat.timeout": _NEVER_MS,
            **self.specification.options,
        }
        configuration = Configuration()
        for key, value in settings.items():
            configuration.set_string(key, value)
        return StreamExecutionEnvironment.get_execution_environment(configuration)


def _now() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    serve(PyFlinkLatency)
