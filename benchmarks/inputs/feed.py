"""Micro-batches of (key, value) records as Parquet files, the same for every system.

A feed is one sequence of micro-batches in three parts; a micro-batch is a directory with one file
per core, so that every system reads it with all cores:

    <root>/fill/00000 ...    every key once, in order, value 1
    <root>/live/00000 ...    record i has key mix(i) % keys and value mix(i + 2^63) % 1000
    <root>/check/00000 ...   every key once, in order, value 1

The keys of `live` are independent and uniform, so some occur repeatedly in a micro-batch and most,
at 10^7 keys, do not. `Delivery` makes micro-batches appear in the directory a system watches: hard
links below a directory that is renamed into place, so all appear at once. Modification times grow
with the sequence, because that is the order in which Spark takes files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.model.digest import UInt64s, as_text, digest_of, mix
from benchmarks.model.program import Outputs

Int64s = npt.NDArray[np.int64]

FILL, LIVE, CHECK = "fill", "live", "check"

VALUES = 1000
"""Values of live records are below."""

_VALUE_SEED = np.uint64(1 << 63)


@dataclass(frozen=True, slots=True)
class Feed:
    """The shape of a feed; together with nothing else it determines every record.

    Attributes:
        root: Where its files are.
        keys: Number of keys.
        micro_batch: Records of a live micro-batch, and most of any other.
        live_batches: Number of live micro-batches.
        files: Files of a micro-batch.
    """

    root: str
    keys: int
    micro_batch: int
    live_batches: int
    files: int

    @staticmethod
    def from_json(values: dict[str, Any]) -> Feed:
        """Return the feed that `to_json` described."""
        return Feed(**values)

    def to_json(self) -> dict[str, Any]:
        """Return its attributes."""
        return asdict(self)

    @property
    def sweep_batches(self) -> int:
        """Micro-batches that hold every key once."""
        return -(-self.keys // self.micro_batch)

    def sweep(self, number: int) -> Iterator[tuple[Int64s, Int64s]]:
        """Return keys and values of a micro-batch of `fill` or `check`."""
        first = number * self.micro_batch
        keys = np.arange(first, min(first + self.micro_batch, self.keys), dtype=np.int64)
        return self._in_files(keys, np.ones(len(keys), dtype=np.int64))

    def live(self, number: int) -> Iterator[tuple[Int64s, Int64s]]:
        """Return keys and values of a live micro-batch."""
        first = number * self.micro_batch
        index: UInt64s = np.arange(first, first + self.micro_batch, dtype=np.uint64)
        keys = (mix(index) % np.uint64(self.keys)).astype(np.int64)
        values = (mix(index + _VALUE_SEED) % np.uint64(VALUES)).astype(np.int64)
        return self._in_files(keys, values)

    def sequence(self) -> list[tuple[str, int]]:
        """Return part and number of every micro-batch, in order."""
        return [
            *((FILL, number) for number in range(self.sweep_batches)),
            *((LIVE, number) for number in range(self.live_batches)),
            *((CHECK, number) for number in range(self.sweep_batches)),
        ]

    def records(self, part: str, numbers: Sequence[int]) -> int:
        """Return the number of records of some micro-batches."""
        if part == LIVE:
            return len(numbers) * self.micro_batch
        return sum(min(self.micro_batch, self.keys - n * self.micro_batch) for n in numbers)

    def outputs_of_check(self, live_batches: int) -> Outputs:
        """Return the rows (key, count, sum) of `check` after `fill` and some of `live`."""
        counts = np.full(self.keys, 2, dtype=np.int64)
        sums = np.full(self.keys, 2, dtype=np.int64)
        for number in range(live_batches):
            for keys, values in self.live(number):
                np.add.at(counts, keys, 1)
                np.add.at(sums, keys, values)
        digest = digest_of(np.arange(self.keys, dtype=np.int64), counts, sums)
        return Outputs(self.keys, as_text(digest))

    def _in_files(self, keys: Int64s, values: Int64s) -> Iterator[tuple[Int64s, Int64s]]:
        pieces = min(self.files, len(keys))
        return zip(np.array_split(keys, pieces), np.array_split(values, pieces), strict=True)


class Delivery:
    """Makes micro-batches of a feed appear in a directory.

    Attributes:
        pattern: What a system watches: all files below the directories of deliveries.
    """

    def __init__(self, feed: Feed, work: Path) -> None:
        self._feed = feed
        self._staging = work / "arriving"
        self._arrived = work / "in"
        self._count = 0
        self.pattern = str(self._arrived / "*")
        for directory in (self._staging, self._arrived):
            directory.mkdir()

    def deliver(self, part: str, numbers: Sequence[int]) -> int:
        """Let micro-batches appear, all at once.

        Returns:
            Their records.
        """
        name = f"{self._count:05}"
        self._count += 1
        staged = self._staging / name
        staged.mkdir()
        for number in numbers:
            for file in sorted(Path(self._feed.root, part, f"{number:05}").iterdir()):
                os.link(file, staged / f"{number:05}-{file.name}")
        staged.rename(self._arrived / name)
        return self._feed.records(part, numbers)
