"""Exactly once into S3, tested by SIGKILL of the driver in the middle of a commit.

The driver is killed when it has completed one of the uploads of an epoch; the next one goes on. The files must have the
counts of one uninterrupted run. Every other step is in `tests/connectors/test_object_commits.py`.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.s3_client import s3_client
from penstock.filesystem.s3_store import S3Store
from tests.faults.drivers import Drivers
from tests.s3_server import SECRET, s3_server, settings_of

PLACE = "sink.completed-first:2"
NUMBERS = 60
KEYS = 5
OUT = ObjectPath("counts", "out")


def test_counts_are_written_once_although_the_driver_is_killed(tmp_path: Path) -> None:
    with s3_server() as url:
        s3_client(settings_of(url)).create_bucket(Bucket=OUT.bucket)
        drivers = Drivers(
            Path(__file__).parent / "jobs" / "object_counts.py",
            (str(NUMBERS), str(OUT)),
            tmp_path / "job",
            tmp_path / "markers",
            {
                "execution.runtime-mode": "STREAMING",
                "execution.live.max-records-per-batch": "20",
                "spark.hadoop.fs.s3a.endpoint": url,
                "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
                "spark.hadoop.fs.s3a.access.key": "tester",
                "spark.hadoop.fs.s3a.secret.key": SECRET,
                "spark.hadoop.fs.s3a.path.style.access": "true",
            },
        )
        store = S3Store(settings_of(url))
        assert SECRET not in drivers.is_killed_at(PLACE)
        assert rows(store).total() < NUMBERS
        drivers.succeeds()
        every = Counter((n % KEYS, (n + KEYS - 1) // KEYS) for n in range(1, NUMBERS + 1))
        assert rows(store) == every
        assert store.uploads(OUT) == []


def rows(store: S3Store) -> Counter[tuple[int, int]]:
    lines = [
        json.loads(line)
        for path in store.list_below(OUT)
        if "_penstock" not in path.key
        for line in store.read(path).splitlines()
    ]
    return Counter((line["key"], line["n"]) for line in lines)
