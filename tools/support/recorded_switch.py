"""Run one program over history and live files in three ways, and store when how many records were committed.

python -m tools.support.recorded_switch MILLIONS SECONDS

The ways are one job for both, a batch job for history alone, and a streaming job that reads history as it reads live files.
Nothing else should run meanwhile, because the picture (`tools.site.switch_drawing`) has speeds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import DiscardingSink, FileSource, HybridSource, Source
from penstock.observe.events.event_json import from_line
from penstock.observe.events.event_log import DIRECTORY, LATEST
from penstock.observe.events.job_events import (
    JobEventBase,
    MicroBatch,
    RunFinished,
    RunStarted,
    Switched,
)

RECORDED = Path(__file__).with_name("recorded_switch.jsonl")

ORDER = Types.ROW_NAMED(["customer", "amount"], [Types.LONG(), Types.LONG()])
CUSTOMERS = 1_000_000
BOTH, BATCH, LIVE = "history, then live", "batch alone", "live alone"
OPTIONS = {
    BOTH: {"execution.history": "batch", "pipeline.backlog.output": "latest"},
    BATCH: {"execution.runtime-mode": "BATCH"},
    LIVE: {},
}
"""Ways to run the program, with the options that make them."""

_FILE_RECORDS = 1_000_000
_LIVE_RECORDS, _LIVE_SECONDS = 25_000, 0.5
LIVE_RATE = int(_LIVE_RECORDS / _LIVE_SECONDS)
"""Records per second that arrive."""


@dataclass(frozen=True, slots=True)
class Span:
    """Records that a job has committed, and the time that it took for them, in seconds since its process began.

    Attributes:
        job: A key of `OPTIONS`.
        run: `history`, `switch` or `live`.
        begin: When reading began.
        end: When they were committed.
        records: How many.
    """

    job: str
    run: str
    begin: float
    end: float
    records: int


def main() -> None:
    """Run the three jobs after each other and replace the record."""
    millions, seconds = int(sys.argv[1]), float(sys.argv[2])
    with TemporaryDirectory(prefix="penstock-switch-") as name:
        directory = Path(name)
        _write_history(directory, millions)
        spans = [span for job in OPTIONS for span in _recorded(directory, job, millions, seconds)]
    text = "".join(f"{json.dumps(asdict(span))}\n" for span in spans)
    RECORDED.write_text(text, encoding="utf-8")


def spans_of(path: Path) -> list[Span]:
    """Return the spans of a record, in the order of their jobs and times."""
    return [Span(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def run(directory: Path, job: str) -> None:
    """Count and add up the orders of each customer, in one of the ways.

    Args:
        directory: Where `history` and `live` are.
        job: A key of `OPTIONS`.
    """
    config = Configuration()
    config.set("execution.checkpointing.dir", str(directory / "checkpoints" / job))
    for key, value in OPTIONS[job].items():
        config.set(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(2)
    source: Source = FileSource.parquet(directory / "history", type_info=ORDER)
    if job != BATCH:
        live = FileSource.parquet(directory / "live", type_info=ORDER).monitor_continuously()
        source = HybridSource.builder(source).add_source(live).build()
    orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").uid("orders")
    totals = orders.key_by(col.customer).aggregate(orders=col.count(), spent=col.amount.sum())
    totals.uid("totals").sink_to(DiscardingSink()).uid("out")
    env.execute("orders")


def _recorded(directory: Path, job: str, millions: int, seconds: float) -> Iterator[Span]:
    """Run a job in a process of its own while live files arrive, and yield what it has committed."""
    _write_file(directory / "spare.parquet", _LIVE_RECORDS)
    (directory / "live").mkdir(exist_ok=True)
    for path in (directory / "live").iterdir():
        path.unlink()
    program = f"import sys; from pathlib import Path; from {__spec__.name} import run; run(Path(sys.argv[1]), sys.argv[2])"
    begin = time.time()
    process = subprocess.Popen([sys.executable, "-c", program, directory, job])  # noqa: S603 - of this environment
    is_over = threading.Event()
    arrivals = threading.Thread(target=_arrive, args=(directory, is_over))
    arrivals.start()
    try:
        process.wait(None if job == BATCH else seconds)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()
    finally:
        is_over.set()
        arrivals.join()
    path = directory / "checkpoints" / job / DIRECTORY / LATEST
    events = map(from_line, path.read_text(encoding="utf-8").splitlines())
    yield from _spans(events, job, begin, millions * _FILE_RECORDS)


def _spans(
    events: Iterable[JobEventBase | None], job: str, begin: float, history: int
) -> Iterator[Span]:
    """Yield what was committed. A file of events has not every micro-batch, but each has the total up to it."""
    total, before = 0, 0.0
    for event in events:
        if isinstance(event, RunStarted):
            total = 0
        if isinstance(event, Switched):
            end = event.at_ms / 1000 - begin
            yield Span(job, "switch", round(end - event.seconds, 3), round(end, 3), 0)
        if isinstance(event, RunFinished) and event.kind == "batch":
            # Spark merges records before the run counts them: what the files have is what was read.
            name, records = "history", history
        elif isinstance(event, MicroBatch) and event.total_records > total:
            name, records = "live", event.total_records - total
            total = event.total_records
        else:
            continue
        end = event.at_ms / 1000 - begin
        is_alone = not isinstance(event, MicroBatch) or records == event.records
        first = end - event.seconds if is_alone else before
        yield Span(job, name, round(first, 2), round(end, 2), records)
        before = end


def _arrive(directory: Path, is_over: threading.Event) -> None:
    """Let a live file appear at each tick until the job is over."""
    begin, number = time.monotonic(), 0
    while not is_over.wait(max(0.0, begin + number * _LIVE_SECONDS - time.monotonic())):
        os.link(directory / "spare.parquet", directory / "live" / f"{number:05}.parquet")
        number += 1


def _write_history(directory: Path, files: int) -> None:
    """Write one file, and give it as many names as the history has files."""
    (directory / "history").mkdir()
    first = directory / "history" / "00000.parquet"
    _write_file(first, _FILE_RECORDS)
    for number in range(1, files):
        os.link(first, first.with_name(f"{number:05}.parquet"))


def _write_file(path: Path, records: int) -> None:
    random = np.random.default_rng(0)
    columns = {
        "customer": random.integers(0, CUSTOMERS, records),
        "amount": random.integers(1, 100, records),
    }
    pq.write_table(pa.table(columns), path)


if __name__ == "__main__":
    main()
