"""The job of the hour: `examples/coded_join_files.sql` up to its views, and their left join into digests.

Arguments: directory of the input, directory of the output. Never ends.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.answers.coded_join_rows import NO_MATCH
from benchmarks.systems.digest_sink import DigestSink
from benchmarks.systems.launch import CHECKOUT
from examples.binlog_functions import ORDER, REFUND
from penstock.common import Row, RowKind
from penstock.datastream import StreamExecutionEnvironment
from penstock.observe.events.job_events import JobEvent, MetricsReported, MicroBatch
from penstock.observe.events.listeners import JobListener, add_listener

HEARD = "heard.json"
"""In the output: what the job has said of itself last."""

_SCRIPT = CHECKOUT / "examples" / "coded_join_files.sql"
_END = "CREATE TABLE joined"
"""Begins the part of the script that says where rows go."""

_OF_ORDERS = (*ORDER, "offset")
_OF_REFUNDS = (*REFUND, "old_status", "old_stage", "version", "offset")
KINDS = {
    "made": (RowKind.INSERT, RowKind.UPDATE_AFTER),
    "gone": (RowKind.DELETE, RowKind.UPDATE_BEFORE),
}
"""Name of a file of results to the kinds of rows in it."""


class Heard(JobListener):
    """Keeps what the job says of itself in a file that is replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._records = 0
        self._batches = 0

    def on_event(self, event: JobEvent) -> None:
        """Keep the event, if it is about micro-batches or metrics."""
        if isinstance(event, MicroBatch):
            self._records, self._batches = event.total_records, event.number + 1
        elif isinstance(event, MetricsReported):
            said = {
                "records": sum(event.sources.values()),
                "micro_batches": self._batches,
                "checkpoint_bytes": sum(event.state_bytes.values()),
                "state": dict(event.state),
            }
            hidden = self._path.with_suffix(".hidden")
            hidden.write_text(json.dumps(said), encoding="ascii")
            hidden.rename(self._path)


@dataclass(frozen=True, slots=True)
class OfKinds:
    """Keeps the changes of some kinds."""

    kinds: tuple[RowKind, ...]

    def __call__(self, change: Row) -> bool:
        """Return whether the change is of one of them."""
        return change.get_row_kind() in self.kinds


def offsets(change: Row) -> tuple[int, int]:
    """Return what is digested of a joined row."""
    refund = change.r_offset
    return change.o_offset, NO_MATCH if refund is None else refund


def query() -> str:
    """Return the join of the script, whose columns have a name each."""
    columns = [f"o.`{name}` AS o_{name}" for name in _OF_ORDERS]
    columns += [f"r.`{name}` AS r_{name}" for name in _OF_REFUNDS]
    tables = "FROM orders AS o LEFT JOIN refunds AS r ON o.order_id = r.order_id"
    return " ".join(("SELECT", ", ".join(columns), tables))


def main(data: str, out: str) -> None:
    """Run the job."""
    results = Path(out)
    results.mkdir(parents=True, exist_ok=True)
    flag = results / "digest"
    flag.touch()
    add_listener(Heard(results / HEARD))
    env = StreamExecutionEnvironment.get_execution_environment()
    script = _SCRIPT.read_text(encoding="utf-8").partition(_END)[0]
    env.execute_sql(
        script.replace("'binlog_functions.", "'examples.binlog_functions.").replace(
            "'binlog/", f"'{data}/"
        )
    )
    joined = env.sql(query())
    for name, kinds in KINDS.items():
        changes = joined.filter(OfKinds(kinds)).map(offsets)
        changes.sink_to(DigestSink(str(flag), str(results / f"{name}.jsonl"))).uid(name)
    env.execute("coded hour")


if __name__ == "__main__":
    main(*sys.argv[1:])
