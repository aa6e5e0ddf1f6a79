"""A broker that waits with the answer to a fetch that finds nothing, as Kafka's does: ours answers at once.

A consumer at the end of a partition asks again as soon as it has an answer, 10,000 times a second and more, which takes a core of
the machine from what is measured. This passes frames between clients and the broker, and holds empty answers for a moment. Records
that come meanwhile are found by the next fetch: a real broker would give them at once.
"""

from __future__ import annotations

import asyncio
import struct
import threading

_HELD_SECONDS = 0.005
_SIZE = struct.Struct(">i")
_FETCH = 1
_MOST_EMPTY_BYTES = 140
"""An answer with records has a header of 61 bytes more than one without, which is 100 bytes long with our topics."""


class WaitingBroker:
    """Listens on 127.0.0.1, in a thread of its own, until the process ends.

    Attributes:
        servers: Its address.
        empty_answers: How many were held.
    """

    def __init__(self, servers: str) -> None:
        """Stand in front of a broker of this machine."""
        self._broker_port = int(servers.rpartition(":")[2])
        self._port = self.empty_answers = 0
        self._listens = threading.Event()
        run = threading.Thread(target=lambda: asyncio.run(self._listen()), daemon=True)
        run.start()
        self._listens.wait()
        self.servers = f"127.0.0.1:{self._port}"

    async def _listen(self) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        self._listens.set()
        await server.serve_forever()

    async def _serve(self, asks: asyncio.StreamReader, told: asyncio.StreamWriter) -> None:
        answers, asked = await asyncio.open_connection("127.0.0.1", self._broker_port)
        fetches: set[bytes] = set()

        async def ask() -> None:
            while frame := await _frame(asks):
                if int.from_bytes(frame[:2], "big") == _FETCH:
                    fetches.add(frame[4:8])
                _write(asked, frame)
            asked.close()  # which ends the answers

        async def answer() -> None:
            while frame := await _frame(answers):
                if frame[:4] not in fetches:
                    _write(told, frame.replace(_place(self._broker_port), _place(self._port)))
                    continue
                fetches.remove(frame[:4])
                if len(frame) <= _MOST_EMPTY_BYTES:
                    self.empty_answers += 1
                    await asyncio.sleep(_HELD_SECONDS)
                _write(told, frame)
            told.close()

        await asyncio.gather(ask(), answer())


async def _frame(read: asyncio.StreamReader) -> bytes:
    """Return the next frame; none if the connection has ended."""
    try:
        return await read.readexactly(_SIZE.unpack(await read.readexactly(_SIZE.size))[0])
    except (asyncio.IncompleteReadError, OSError):
        return b""


def _write(to: asyncio.StreamWriter, frame: bytes) -> None:
    to.write(_SIZE.pack(len(frame)) + frame)


def _place(port: int) -> bytes:
    """Return how a broker tells its clients where it is."""
    return b"127.0.0.1" + _SIZE.pack(port)
