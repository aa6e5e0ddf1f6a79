"""A Structured Streaming query of plain PySpark over the feed of a benchmark.

What all peers share: the session, the source, how commits are noticed, how outputs are checked. A
peer is a subclass that says what is computed.

The session has what ours has: the same master, driver memory, RocksDB state store with change log,
one shuffle partition per core. Outputs go to Spark's `noop` sink. For the check the query is stopped
and started again from its checkpoint with a sink that collects, because that costs nothing while
anything is measured.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQueryListener
from spark_session import make_session

from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs
from benchmarks.systems.file_stream import FileStreamSystem

RECORD = "key LONG, value LONG"
OUTPUT = ("key", "count", "sum")


class FileQuery(FileStreamSystem):
    """A peer; subclasses implement `compute`."""

    @abstractmethod
    def compute(self, records: DataFrame) -> DataFrame:
        """Return rows (key, count, sum) of every key that changed, in update mode."""

    def start(self) -> None:
        """Make the session and start the query."""
        self._session = make_session(
            self.specification.parallelism,
            self.specification.options.get("state", "rocksdb"),
            self.work / "local",
        )
        self._session.streams.addListener(_Progress(self.commits.add))
        self._count = 0
        self._digest = 0
        self._start(lambda frames: frames.writeStream.format("noop"))

    def check_alive(self) -> None:
        """Raise what ended the query."""
        cause = self._query.exception()
        if cause is not None:
            raise cause
        if not self._query.isActive:
            raise RuntimeError("the query ended by itself")

    def start_check(self) -> None:
        """Start the query again with a sink that digests."""
        self._query.stop()
        self._start(lambda frames: frames.writeStream.foreachBatch(self._add))

    def outputs(self) -> Outputs:
        """Return what was digested."""
        return Outputs(self._count, as_text(self._digest))

    def close(self) -> None:
        """Stop query and session."""
        self._query.stop()
        self._session.stop()

    @property
    def checkpoint(self) -> Path:
        """The query's checkpoint."""
        return self.work / "checkpoint"

    def _start(self, writer: Callable[[DataFrame], Any]) -> None:
        records = (
            self._session.readStream.schema(RECORD)
            .option("maxFilesPerTrigger", str(self.files_per_batch))
            .option("maxFileAge", "36500d")
            .parquet(self.delivery.pattern)
        )
        self._query = (
            writer(self.compute(records))
            .outputMode("update")
            .option("checkpointLocation", str(self.checkpoint))
            .start()
        )

    def _add(self, frames: DataFrame, _: int) -> None:
        rows = frames.select(*OUTPUT).toArrow()
        self._count += rows.num_rows
        self._digest += digest_of(*(column.to_numpy() for column in rows.columns))


class _Progress(StreamingQueryListener):
    """Tells of every micro-batch that had records; called once it is committed."""

    def __init__(self, committed: Callable[[int], None]) -> None:
        self._committed = committed

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Nothing to tell."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Report a commit."""
        if event.progress.numInputRows:
            self._committed(event.progress.numInputRows)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing to tell."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Nothing to tell: whoever waits asks `check_alive`."""
