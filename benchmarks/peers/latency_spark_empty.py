"""`latency`, the floor: a Spark query that does nothing with the events."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import numpy as np
from latency_clock import events
from pyspark.sql.streaming import StreamingQueryListener
from spark_session import make_session

from benchmarks.systems.latency_system import Events, LatencySystem
from benchmarks.systems.serve import serve


class SparkEmpty(LatencySystem):
    """Source, and Spark's `noop` sink."""

    def start(self) -> None:
        """Start the query; its progress says what each micro-batch had."""
        self._arrivals: list[tuple[int, Events]] = []
        self._session = make_session(self.shape.parallelism, "rocksdb", self.work / "local")
        self._session.streams.addListener(_Progress(self._arrivals))
        self._query = (
            events(self._session, self.rate)
            .writeStream.format("noop")
            .option("checkpointLocation", str(self.work / "checkpoint"))
            .start()
        )

    def check_alive(self) -> None:
        """Raise what ended the query."""
        if not self._query.isActive:
            raise self._query.exception() or RuntimeError("the query ended by itself")

    def arrivals(self) -> Iterable[tuple[int, Events]]:
        """Return a stretch of the clock per micro-batch."""
        return tuple(self._arrivals)

    def close(self) -> None:
        """Stop query and session."""
        self._query.stop()
        self._session.stop()


class _Progress(StreamingQueryListener):
    """Notes when the sink of a micro-batch was done, before Spark wrote its commit log."""

    def __init__(self, arrivals: list[tuple[int, Events]]) -> None:
        self._arrivals = arrivals

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Nothing to tell."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Note a micro-batch."""
        progress = event.progress
        (source,) = progress.sources
        if not progress.numInputRows:
            return
        took = progress.durationMs
        begun = datetime.fromisoformat(progress.timestamp).timestamp() * 1000
        done = round(begun) + took["triggerExecution"] - took.get("commitOffsets", 0)
        first, last = (json.loads(at)["next"] for at in (source.startOffset, source.endOffset))
        self._arrivals.append((done, np.arange(first, last, dtype=np.int64)))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing to tell."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Nothing to tell: whoever waits asks `check_alive`."""


if __name__ == "__main__":
    serve(SparkEmpty)
