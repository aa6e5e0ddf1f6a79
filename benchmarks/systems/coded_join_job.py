"""The process of our systems in `coded-join`: a live job over files, stopped with a savepoint."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.answers.coded_join_rows import (
    ORDER,
    REFUND,
    offsets,
    order_id,
    parse_order,
    parse_refund,
    row_bytes,
)
from benchmarks.inputs.binlog import FILES, ORDERS, REFUNDS
from benchmarks.model.digest import MODULUS, as_text
from benchmarks.model.program import Outputs
from benchmarks.systems.bounded import BoundedSystem
from benchmarks.systems.digest_sink import DigestSink, read_outputs
from benchmarks.systems.serve import serve
from penstock.common import Configuration, JobStatus, Row, RowKind, Types, WatermarkStrategy
from penstock.config.options import ENABLE_CODED_ROWDATA
from penstock.datastream import JoinedRows, StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink, FileSource
from penstock.observe.events.job_events import JobEvent, MetricsReported, MicroBatch
from penstock.observe.events.listeners import JobListener, set_listeners

INPUT = "input"
"""Among the options: the directory with the tables."""

STATE_OVER_SLOTS = "state_over_slots"
"""In answers: log and snapshot over the same with rows in slots of 8 bytes."""

ONCE = "once"
"""Among the program's own options: whether all records are joined once."""

_FIRST_FILE = "00000*.json"
_POLL_SECONDS = 1.0


class CodedJoin(BoundedSystem, JobListener):
    """A job per run; what it keeps is weighed when all records are committed."""

    def prepare(self) -> None:
        """Weigh the rows themselves, which is no part of any run."""
        options = self.specification.options
        self._input = Path(options[INPUT])
        self._once = bool(self.shape.parameters[ONCE])
        self._options = {key: value for key, value in options.items() if key != INPUT}
        self._is_coded = options[ENABLE_CODED_ROWDATA.key] == "true"
        self._rows = row_bytes(self._input) if self._is_coded else (0, 0)
        self._number = 0
        self._changed = threading.Condition()
        self._records = 0
        self._done_at = 0.0
        self._log: Mapping[str, int] = {}
        set_listeners(self)

    def on_event(self, event: JobEvent) -> None:
        """Count committed records, and keep what state cost."""
        with self._changed:
            if isinstance(event, MicroBatch):
                self._records += event.records
                self._done_at = time.monotonic()
            elif isinstance(event, MetricsReported):
                self._log = event.state
            self._changed.notify_all()

    def warm_up(self) -> dict[str, Any]:
        """Join what is in the first file of each table, if all records are joined once."""
        if not self._once:
            return super().warm_up()
        self._join(digests=False, files=_FIRST_FILE, records=2 * (self.shape.records // FILES))
        return {"cold_seconds": time.monotonic() - self.specification.spawned}

    def run(self) -> Mapping[str, Any]:
        """Join all records and drop the result, or digest it, if they are joined once."""
        return self._join(digests=self._once)

    def digest(self) -> Outputs:
        """Join once more; what was inserted minus what was deleted is the answer."""
        if not self._once:
            self._join(digests=True)
        made, gone = (read_outputs(self._results(name)) for name in ("made", "gone"))
        difference = (int(made.digest, 16) - int(gone.digest, 16)) % MODULUS
        return Outputs(made.count - gone.count, as_text(difference))

    def close(self) -> None:
        """Nothing runs between runs."""

    def _join(
        self, *, digests: bool, files: str = "", records: int | None = None
    ) -> dict[str, Any]:
        self._number += 1
        self._records, self._log = 0, {}
        work = self.work / f"run-{self._number}"
        env = self._environment(work)
        self._build(env, files, digests=digests)
        started = time.monotonic()
        job = env.execute_async("coded-join")
        self._wait(job, 2 * self.shape.records if records is None else records)
        seconds = self._done_at - started
        local = _disk_bytes(self.work / "local")
        savepoint = Path(job.stop_with_savepoint(savepoint_directory=str(work / "sp")).result())
        job.get_job_execution_result().result()
        return {"seconds": seconds, "local_store_bytes": local, **self._weights(savepoint)}

    def _environment(self, work: Path) -> StreamExecutionEnvironment:
        settings = {
            "parallelism.default": str(self.shape.parallelism),
            "execution.live.max-files-per-batch": str(self.shape.parameters["files-per-batch"]),
            "execution.checkpointing.dir": str(work / "checkpoint"),
            "spark.local.dir": str(self.work / "local"),
            # While the process is stopped no heartbeat comes, and it is no reason to give up.
            "spark.network.timeout": "100000s",
            **self._options,
            **self.specification.settings,
        }
        return StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict(settings)
        )

    def _build(self, env: StreamExecutionEnvironment, files: str, *, digests: bool) -> None:
        orders, refunds = (
            env.from_source(
                FileSource.text(self._input / table.name / files).monitor_continuously(),
                WatermarkStrategy.no_watermarks(),
                table.name,
            )
            for table in (ORDERS, REFUNDS)
        )
        joined: JoinedRows = (
            orders.flat_map(parse_order, ORDER)
            .join(refunds.flat_map(parse_refund, REFUND))
            .where(order_id, Types.STRING())
            .equal_to(order_id)
            .left()
        )
        if not digests:
            joined.sink_to(DiscardingSink())
            return
        flag = self.work / "check"
        flag.touch()
        for name, kind in (("made", RowKind.INSERT), ("gone", RowKind.DELETE)):
            joined.filter(_OfKind(kind)).map(offsets).sink_to(
                DigestSink(str(flag), str(self._results(name)))
            )

    def _wait(self, job: Any, records: int) -> None:
        """Wait until so many records are committed, with what state cost by then.

        Raises:
            RuntimeError: The job ended by itself.
        """
        with self._changed:
            while self._records < records or not self._log:
                self._changed.wait(_POLL_SECONDS)
                if job.get_job_status().result() is not JobStatus.RUNNING:
                    job.get_job_execution_result().result()
                    raise RuntimeError("the job ended by itself")

    def _weights(self, savepoint: Path) -> dict[str, Any]:
        log = sum(n for name, n in self._log.items() if name.endswith("log_bytes"))
        compaction = sum(n for name, n in self._log.items() if name.endswith("compaction_bytes"))
        snapshot = sum(
            len(blob)
            for path in (savepoint / "state").glob("*.parquet")
            for blob in pq.read_table(path, columns=["blob"])["blob"].to_pylist()
        )
        found = {"log_bytes": log, "compaction_bytes": compaction, "snapshot_bytes": snapshot}
        if not self._is_coded:
            return found
        coded, fixed = self._rows
        # A row is written to the log once and to the snapshot once. In slots, state would take
        # what it takes beside the rows now, and the rows in slots.
        in_slots = log + snapshot + 2 * (fixed - coded)
        return {
            **found,
            "coded_row_bytes": coded,
            "fixed_slot_row_bytes": fixed,
            "in_slots_bytes": in_slots,
            STATE_OVER_SLOTS: (log + snapshot) / in_slots,
        }

    def _results(self, name: str) -> Path:
        return self.work / f"{name}-{self._number}.jsonl"


@dataclass(frozen=True, slots=True)
class _OfKind:
    kind: RowKind

    def __call__(self, change: Row) -> bool:
        return change.get_row_kind() is self.kind


def _disk_bytes(directory: Path) -> int:
    """Return the disk space of the local copies of state."""
    found = directory.rglob("penstock-state/**/*")
    return sum(path.stat().st_blocks * 512 for path in found if path.is_file())


if __name__ == "__main__":
    serve(CodedJoin)
