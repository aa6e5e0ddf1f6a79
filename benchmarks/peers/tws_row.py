"""`reduce` with `transformWithState` and rows, one call per key and micro-batch.

The records come from Spark's own source of consecutive numbers in micro-batches of a fixed size.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from typing import Any

from frame_peer import FramePeer
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from benchmarks.answers.reduce_records import combine, is_output
from benchmarks.model.digest import MODULUS, as_text, digest_of
from benchmarks.model.program import Outputs
from benchmarks.systems.serve import serve

MICRO_BATCH = 1_000_000
RECORD = "key LONG, v LONG, n LONG"
_POLL_SECONDS = 0.01


class Reduce(StatefulProcessor):
    """Reads the state once per call, combines the rows, writes it once."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Get the state."""
        self._total = handle.getValueState("total", RECORD)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """Combine the rows of one key."""
        total = self._total.get()
        for row in rows:
            total = tuple(row) if total is None else combine(total, row)
        self._total.update(total)
        yield Row(key=total[0], v=total[1], n=total[2])

    def close(self) -> None:
        """Nothing is open."""


class TwsRowPeer(FramePeer):
    """A query per round, ended when it has committed all records."""

    def records(self) -> DataFrame:
        """Return the records, as a stream."""
        return (
            self.session.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", str(self._micro_batch))
            .option("numPartitions", str(self.shape.parallelism))
            .load()
            .selectExpr(f"value % {self.shape.keys} AS key", "value AS v", "1L AS n")
        )

    def outputs(self) -> DataFrame:
        """Return the changed keys of every micro-batch."""
        keyed = self.records().groupBy("key")
        return keyed.transformWithState(Reduce(), RECORD, "update", "none")

    def run(self) -> Mapping[str, Any]:
        """Run until the last record is committed."""
        return {"seconds": self._run(self.outputs().writeStream.format("noop"))}

    def digest(self) -> Outputs:
        """Run with a sink that digests."""
        found = [0, 0]

        def add(frame: DataFrame, number: int) -> None:
            if number < self._micro_batches:
                columns = [column.to_numpy() for column in frame.toArrow().columns]
                mask = is_output(self.shape, columns)
                columns = [column[mask] for column in columns]
                found[0] += len(columns[0])
                found[1] += digest_of(*columns)

        self._run(self.outputs().writeStream.foreachBatch(add))
        return Outputs(found[0], as_text(found[1] % MODULUS))

    @property
    def _micro_batch(self) -> int:
        """The largest size that cuts the records evenly."""
        return self.shape.records // self._micro_batches

    @property
    def _micro_batches(self) -> int:
        count = -(-self.shape.records // MICRO_BATCH)
        while self.shape.records % count:
            count += 1
        return count

    def _run(self, writer: Any) -> float:
        checkpoint = self.work / "checkpoint"
        shutil.rmtree(checkpoint, ignore_errors=True)
        started = time.monotonic()
        query = writer.outputMode("update").option("checkpointLocation", str(checkpoint)).start()
        last = checkpoint / "commits" / str(self._micro_batches - 1)
        while not last.exists():
            if not query.isActive:
                raise query.exception() or RuntimeError("the query ended by itself")
            time.sleep(_POLL_SECONDS)
        seconds = time.monotonic() - started
        query.stop()
        return seconds


if __name__ == "__main__":
    serve(TwsRowPeer)
