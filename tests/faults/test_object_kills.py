"""Exactly once into stores, tested by SIGKILL of the driver in the middle of a commit.

The driver is killed when it has completed one of the uploads of an epoch; the next one goes on. The files must have the
counts of one uninterrupted run. Every other step is in `tests/connectors/test_object_commits.py`.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectStore
from tests.faults.drivers import Drivers
from tests.s3_server import SECRET
from tests.store_systems import SYSTEMS

PLACE = "sink.completed-first:2"
NUMBERS = 60
KEYS = 5
OUT = ObjectPath("counts", "out")


@pytest.mark.parametrize("name", SYSTEMS)
def test_counts_are_written_once_although_the_driver_is_killed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3 is reached as Spark's options say, others as the environment does."""
    system = SYSTEMS[name]
    with system.serve() as url:
        out = system.new_bucket(url, OUT.bucket) / OUT.key
        options = s3_options(url) if name == "s3" else {}
        for variable, value in system.environment(url).items():
            if not options:
                monkeypatch.setenv(variable, value)
        drivers = Drivers(
            Path(__file__).parent / "jobs" / "object_counts.py",
            (str(NUMBERS), str(out)),
            tmp_path / "job",
            tmp_path / "markers",
            {
                "execution.runtime-mode": "STREAMING",
                "execution.live.max-records-per-batch": "20",
                **options,
            },
        )
        store = system.store(url)
        assert SECRET not in drivers.is_killed_at(PLACE)
        assert rows(store, out).total() < NUMBERS
        drivers.succeeds()
        every = Counter((n % KEYS, (n + KEYS - 1) // KEYS) for n in range(1, NUMBERS + 1))
        assert rows(store, out) == every
        assert store.uploads(out) == []


def s3_options(url: str) -> dict[str, str]:
    """Return how Spark is told of a server of S3."""
    return {
        "spark.hadoop.fs.s3a.endpoint": url,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.access.key": "tester",
        "spark.hadoop.fs.s3a.secret.key": SECRET,
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }


def rows(store: ObjectStore, out: ObjectPath = OUT) -> Counter[tuple[int, int]]:
    lines = [
        json.loads(line)
        for path in store.list_below(out)
        if "_penstock" not in path.key
        for line in store.read(path).splitlines()
    ]
    return Counter((line["key"], line["n"]) for line in lines)
