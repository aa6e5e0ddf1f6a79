"""The process of a live job that catches up with the changes of a table.

A round has a table, a slot and a job of its own:

    job makes its slot, and is cancelled | changes | the same job goes on    | cancelled, dropped
                                                     the time that counts

The time is from submitting the job to the commit of the last change.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from benchmarks.answers.postgres_rows import changed_rows, is_last_change
from benchmarks.inputs.postgres import change_table, drop_table, make_table, reading
from benchmarks.model.program import Outputs
from benchmarks.model.shape import MODES, STREAMING
from benchmarks.systems.bounded import BoundedSystem
from benchmarks.systems.digest_sink import DigestSink, read_outputs
from benchmarks.systems.serve import serve
from penstock.common import Configuration, JobStatus, Types, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors.postgres import PostgresSource
from penstock.observe.events.job_events import JobEvent, MicroBatch
from penstock.observe.events.listeners import JobListener, set_listeners

COUNT = Types.TUPLE([Types.LONG(), Types.LONG()])
"""A key, and how often it was seen."""

_POLL_SECONDS = 0.5


def counts_of(env: StreamExecutionEnvironment, source: PostgresSource) -> DataStream[Any]:
    """Return rolling counts of the keys of rows."""
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").uid("rows")
    ones = rows.map(lambda row: (row.key, 1), output_type=COUNT).uid("ones")
    return ones.key_by(lambda one: one[0]).sum(1).uid("counts")


class PostgresChanges(BoundedSystem, JobListener):
    """A job per run, which goes on where it was when there were no changes; the Spark session stays."""

    def prepare(self) -> None:
        """Begin without a table."""
        self._number = 0
        self._changed = threading.Condition()
        self._records = 0
        self._committed_at = 0.0
        self._flag = self.work / "check"
        set_listeners(self)

    def on_event(self, event: JobEvent) -> None:
        """Count committed records."""
        if isinstance(event, MicroBatch):
            with self._changed:
                self._records += event.records
                self._committed_at = time.monotonic()
                self._changed.notify_all()

    def run(self) -> Mapping[str, Any]:
        """Let the job read all changes of a new table."""
        self._number += 1
        table = f"changed_{time.time_ns():x}_{self._number}"
        rows = changed_rows(self.shape)
        # The only row of the snapshot, which no change is about: when it is committed, so is the slot.
        make_table(table, range(-1, 0), self.shape.keys)
        source = reading(table).set_slot(table).build()
        with_slot = partial(self._submit, source)
        try:
            self._until(1, with_slot)
            change_table(table, rows, self.shape.keys)
            seconds = self._until(2 * rows, with_slot)
        finally:
            source.drop()
            drop_table(table)
        return {"seconds": seconds}

    def digest(self) -> Outputs:
        """Run with a sink that digests."""
        self._flag.touch()
        self.run()
        return read_outputs(self._results)

    def close(self) -> None:
        """Nothing runs between runs; the session ends with the process."""

    @property
    def _results(self) -> Any:
        return self.work / f"results-{self._number}.jsonl"

    def _submit(self, source: PostgresSource) -> Any:
        settings = {
            "parallelism.default": str(self.shape.parallelism),
            "execution.checkpointing.dir": str(self.work / f"job-{self._number}"),
            "spark.local.dir": str(self.work / "local"),
            # While the process is stopped no heartbeat comes, and it is no reason to give up.
            "spark.network.timeout": "100000s",
            **MODES[STREAMING],
            **self.specification.options,
            **self.specification.settings,
        }
        conf = Configuration.from_dict(settings)
        env = StreamExecutionEnvironment.get_execution_environment(conf)
        keep = partial(is_last_change, self.shape)
        sink = DigestSink(str(self._flag), str(self._results), keep)
        counts_of(env, source).sink_to(sink).uid("out")
        return env.execute_async(self.specification.program)

    def _until(self, records: int, submit: Callable[[], Any]) -> float:
        """Run the job until so many more records are committed; return after how many seconds that was.

        Raises:
            RuntimeError: The job ended by itself.
        """
        self._records, started = 0, time.monotonic()
        job = submit()
        try:
            with self._changed:
                while self._records < records:
                    self._changed.wait(_POLL_SECONDS)
                    if job.get_job_status().result() is not JobStatus.RUNNING:
                        job.get_job_execution_result().result()
                        raise RuntimeError("the job ended by itself")
        finally:
            job.cancel().result()
        return self._committed_at - started


if __name__ == "__main__":
    serve(PostgresChanges)
