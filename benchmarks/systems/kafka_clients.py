"""A producer at a rate and a reader of committed records, in a process beside the job's.

In the process of the job they would take its driver's interpreter lock, some milliseconds at a time, and each call to
the JVM waits for that lock.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection

from benchmarks.inputs.kafka import PARTITIONS, new_producer, new_reader

_SECONDS = 120.0
_POLL_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What was read in a round.

    Attributes:
        numbers: The numbers, as they came.
        latencies: Of each, seconds from being made to being read.
        seconds: From the first record to the last arrival.
    """

    numbers: list[int]
    latencies: list[float]
    seconds: float


class KafkaClients:
    """The process of both clients, from the side of the job."""

    def __init__(self, read_from: str, write_to: str) -> None:
        """Start it, and wait until it reads.

        Args:
            read_from: Topic of the results.
            write_to: Topic of the records.
        """
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        arguments = (theirs, read_from, write_to)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.recv()

    def round(self, first: int, records: int, records_per_second: int) -> None:
        """Begin to make records; `arrivals` has what comes of them."""
        self._pipe.send((first, records, records_per_second))

    def arrivals(self, timeout_seconds: float) -> Arrivals | None:
        """Return what was read, None if the round still goes on.

        Raises:
            TimeoutError: Records did not arrive.
            EOFError: The process has ended.
        """
        if not self._pipe.poll(timeout_seconds):
            return None
        said = self._pipe.recv()
        if isinstance(said, str):
            raise TimeoutError(said)
        assert isinstance(said, Arrivals)
        return said

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(10)


def _serve(pipe: Connection, read_from: str, write_to: str) -> None:
    clients = _Clients(read_from, write_to)
    pipe.send("ready")
    while True:
        try:
            asked = pipe.recv()
        except EOFError:
            return
        pipe.send(clients.round(*asked))


class _Clients:
    def __init__(self, read_from: str, write_to: str) -> None:
        self._producer = new_producer(linger_ms=5)  # the client's default
        self._reader = new_reader(read_from)
        self._topic = write_to
        self._numbers: list[int] = []
        self._latencies: list[float] = []

    def round(self, first: int, records: int, records_per_second: int) -> Arrivals | str:
        self._numbers, self._latencies = [], []
        began = time.monotonic()
        for made in range(records):
            due = began + made / records_per_second
            while (left := due - time.monotonic()) > 0:
                self._read(min(left, _POLL_SECONDS))
            self._produce(first + made)
        until = time.monotonic() + _SECONDS
        while len(self._numbers) < records:
            if time.monotonic() > until:
                return f"{records - len(self._numbers)} records do not arrive"
            self._read(_POLL_SECONDS)
        return Arrivals(self._numbers, self._latencies, time.monotonic() - began)

    def _produce(self, number: int) -> None:
        text = f"{number} {time.time_ns()}"
        self._producer.produce(self._topic, text.encode(), partition=number % PARTITIONS)
        self._producer.poll(0)

    def _read(self, seconds: float) -> None:
        message = self._reader.poll(seconds)
        if message is None:
            return
        if message.error() is not None:
            raise RuntimeError(message.error().str())
        number, made_ns = map(int, (message.value() or b"").split())
        self._latencies.append((time.time_ns() - made_ns) / 1e9)
        self._numbers.append(number)
