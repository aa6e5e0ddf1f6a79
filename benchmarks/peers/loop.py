"""`reduce` without any engine: a plain dict and the lambda, one process per core.

Every process has the records of its own keys in memory before anything is measured, so there is no
source, no exchange and no result to move: what is left is the Python loop.
"""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmarks.answers.reduce_records import combine, record_maker
from benchmarks.model.digest import MODULUS, as_text, digest_of
from benchmarks.model.program import Outputs
from benchmarks.model.shape import Shape
from benchmarks.systems.bounded import BoundedSystem
from benchmarks.systems.serve import serve


def work(shape: Shape, subtask: int, orders: Connection) -> None:
    """Answer orders (whether to digest) until there are no more."""
    make = record_maker(shape.keys)
    records = [
        make(v) for v in range(shape.records) if v % shape.keys % shape.parallelism == subtask
    ]
    gc.freeze()
    gc.disable()
    orders.send(None)
    while (digests := orders.recv()) is not None:
        totals = reduced(records)
        orders.send(_digest(totals) if digests else None)


def reduced(records: list[Any]) -> dict[int, Any]:
    """Return the totals by key; this is what is measured."""
    totals: dict[int, Any] = {}
    for record in records:
        key = record[0]
        if key in totals:
            totals[key] = combine(totals[key], record)
        else:
            totals[key] = record
    return totals


def _digest(totals: dict[int, Any]) -> tuple[int, int]:
    if not totals:
        return 0, 0
    return len(totals), digest_of(*np.array(list(totals.values()), dtype=np.int64).T)


class LoopPeer(BoundedSystem):
    """One process per core, asked at the same time."""

    def prepare(self) -> None:
        """Start the processes and wait until they have their records."""
        self._orders: list[Connection] = []
        for subtask in range(self.shape.parallelism):
            here, there = multiprocessing.Pipe()
            process = multiprocessing.Process(
                target=work, args=(self.shape, subtask, there), daemon=True
            )
            process.start()
            self._orders.append(here)
        for orders in self._orders:
            orders.recv()

    def run(self) -> Mapping[str, Any]:
        """Reduce all records; done when the last process is."""
        self._ask(digests=False)
        return {}

    def digest(self) -> Outputs:
        """Add up the digests of all processes."""
        answers = self._ask(digests=True)
        digest = sum(digest for _, digest in answers) % MODULUS
        return Outputs(sum(count for count, _ in answers), as_text(digest))

    def close(self) -> None:
        """End the processes."""
        for orders in self._orders:
            orders.send(None)

    def _ask(self, *, digests: bool) -> list[Any]:
        for orders in self._orders:
            orders.send(digests)
        return [orders.recv() for orders in self._orders]


if __name__ == "__main__":
    serve(LoopPeer)
