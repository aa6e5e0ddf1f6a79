"""Exactly once into a stream of Redis, tested by SIGKILL of the driver at every step of a commit.

One checkpoint directory, one driver after the other: each commits what the one before had recorded, and is killed a
step further. The stream must have the counts of one uninterrupted run.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.faults.drivers import Drivers
from tests.redis_server import Server

PLACES = ["redis.decided:2", "redis.read:2", "redis.committed:2"]
ENTRIES = 120
KEYS = 5


def test_counts_are_written_once_over_a_chain_of_killed_drivers(
    tmp_path: Path, valkey: Server
) -> None:
    stream, to = valkey.name(), valkey.name()
    # At equal distances: the sizes of epochs are estimated by them.
    valkey.add(stream, *range(ENTRIES), at_ms=1_700_000_000_000)
    drivers = Drivers(
        Path(__file__).parent / "jobs" / "redis_counts.py",
        (valkey.url, stream, to),
        tmp_path / "job",
        tmp_path / "markers",
        {"execution.runtime-mode": "STREAMING", "execution.live.max-records-per-batch": "10"},
    )
    for place in PLACES:
        drivers.is_killed_at(place)
        assert len(valkey.entries(to)) < ENTRIES
    drivers.succeeds()
    every = Counter((f"k{n % KEYS}", n // KEYS + 1) for n in range(ENTRIES))
    assert valkey.seen(to) == every
