"""Jobs that start at the same time read positions of sources of their own.

Can find: two queries that share the Java map of a registered source, which Spark changes in a thread
of each. Cannot find: another object that Spark lets queries share.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.common import WatermarkStrategy
from penstock.datastream.connectors import DataGeneratorSource
from penstock.errors import PenstockError
from penstock.spark.live import live_run
from penstock.spark.live.own_positions import own_positions
from penstock.spark.sources.source_reads import live_frames
from tests.spark.conftest import Environment

JOBS = 2
FORMAT = "penstock-positions"


class _EnoughSeenError(Exception):
    """Ends a job before its query starts."""


def environment_map(session: SparkSession, frames: DataFrame) -> int:
    """Return the identity of the map that Spark changes when it starts to read positions."""
    leaves = frames._jdf.queryExecution().analyzed().collectLeaves()
    found = [leaves.apply(i) for i in range(leaves.size())]
    (source,) = (each.source().get() for each in found if each.sourceName() == FORMAT)
    environment = source.source().dataSourceCls().envVars()
    jvm: Any = session._jvm
    return int(jvm.java.lang.System.identityHashCode(environment))


def test_jobs_that_start_at_the_same_time_share_no_map(
    environment: Environment,
    session: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    maps: list[int] = []
    registered = threading.Barrier(JOBS)

    @contextmanager
    def both_registered(*args: Any) -> Iterator[None]:
        with own_positions(*args):
            with suppress(threading.BrokenBarrierError):
                registered.wait(timeout=3)  # the other one is not let in, so nobody comes
            yield

    def seen(*args: Any) -> DataFrame:
        maps.append(environment_map(session, live_frames(*args)))
        raise _EnoughSeenError

    monkeypatch.setattr(live_run, "own_positions", both_registered)
    monkeypatch.setattr(live_run, "live_frames", seen)
    clients = []
    for number in range(JOBS):
        settings = {
            "execution.live.engine": "query",
            "execution.checkpointing.dir": str(tmp_path / str(number)),
        }
        env = environment("streaming", **settings)
        source = DataGeneratorSource(lambda i: i, count=1)
        env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").print()
        clients.append(env.execute_async(f"job {number}"))
    for client in clients:
        with pytest.raises(PenstockError, match="EnoughSeen"):
            client.get_job_execution_result().result()
    assert len(set(maps)) == JOBS
