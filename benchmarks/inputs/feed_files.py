"""Writes the files of a feed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.inputs.feed import LIVE, Feed


def write_feed(feed: Feed) -> None:
    """Write all files below `feed.root`, with the modification times of their sequence."""
    sequence = feed.sequence()
    begin = int(time.time()) - len(sequence)
    for position, (part, number) in enumerate(sequence):
        directory = Path(feed.root, part, f"{number:05}")
        directory.mkdir(parents=True)
        records = feed.live(number) if part == LIVE else feed.sweep(number)
        for file, (keys, values) in enumerate(records):
            path = directory / f"{file:02}.parquet"
            pq.write_table(pa.table({"key": keys, "value": values}), path)
            os.utime(path, (begin + position, begin + position))
