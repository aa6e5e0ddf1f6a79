"""Run a job over history and live files, and store what it said of itself: the README's picture is made of that.

python -m tools.support.recorded_job RECORDS

It takes a minute. Nothing else should run meanwhile, because the picture has speeds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink, FileSource, HybridSource
from penstock.observe.events.event_files import DIRECTORY, LATEST
from penstock.observe.events.event_json import from_line, to_line
from penstock.observe.events.job_events import JobEvent, JobStarted, MicroBatch

RECORDED = Path(__file__).with_name("recorded_job.jsonl")

ORDER = Types.ROW_NAMED(["customer", "amount"], [Types.LONG(), Types.LONG()])
CUSTOMERS = 10_000
_FILES = 24
_LIVE_FILES, _LIVE_RECORDS = 40, 20_000
_LIVE_SECONDS = 0.5


def main() -> None:
    """Run the job and replace `recorded_job.jsonl`."""
    with TemporaryDirectory(prefix="penstock-recorded-") as name:
        directory = Path(name)
        _run(directory, int(sys.argv[1]))
        lines = (directory / "checkpoint" / DIRECTORY / LATEST).read_text(encoding="utf-8")
    events = [from_line(line) for line in lines.splitlines()]
    text = "".join(to_line(_without_place(each)) for each in events if each is not None)
    text = text.replace(name, "/data").replace(f"{Path(__file__).parent}/", "")
    RECORDED.write_text(text, encoding="utf-8")


def recorded(now_ms: int) -> list[JobEvent]:
    """Return the events up to the last micro-batch with records, moved in time so that it ends now.

    Args:
        now_ms: When the last one happens, in epoch milliseconds.
    """
    events = [from_line(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    found = [each for each in events if each is not None]
    last = max(at for at, each in enumerate(found) if isinstance(each, MicroBatch) and each.records)
    found = found[: last + 1]
    later = now_ms - found[-1].at_ms
    return [replace(each, at_ms=each.at_ms + later) for each in found]


def build(env: StreamExecutionEnvironment, directory: Path) -> None:
    """Add up the orders of each customer.

    Args:
        env: The environment.
        directory: Where `history` and `live` are.
    """
    history = FileSource.parquet(directory / "history", type_info=ORDER)
    live = FileSource.parquet(directory / "live", type_info=ORDER).monitor_continuously()
    source = HybridSource.builder(history).add_source(live).build()
    orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").uid("orders")
    spent = (
        orders.map(lambda order: (order.customer, 1, order.amount))
        .key_by(lambda total: total[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2]), associative=True)
    )
    spent.uid("spent").upsert_to(DiscardingSink(), key=lambda total: total[0]).uid("out")


def _run(directory: Path, records: int) -> None:
    for name in ("history", "live"):
        (directory / name).mkdir()
    for number in range(_FILES):
        _write(directory / "history", number, records // _FILES)
    config = Configuration()
    config.set("execution.history", "batch")
    config.set("execution.checkpointing.dir", str(directory / "checkpoint"))
    config.set("pipeline.name", "orders")
    env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(2)
    build(env, directory)
    client = env.execute_async("orders")
    for number in range(_LIVE_FILES * 10):
        _write(directory / "live", number, _LIVE_RECORDS)
        time.sleep(_LIVE_SECONDS)
        if len(list(_live_batches(directory))) >= _LIVE_FILES:
            break
    client.cancel().result()


def _live_batches(directory: Path) -> Iterator[Any]:
    path = directory / "checkpoint" / DIRECTORY / LATEST
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line.endswith("}") and json.loads(line)["event"] == MicroBatch.__name__:
            yield line


def _write(directory: Path, number: int, records: int) -> None:
    """Write a file, which appears when it is complete."""
    random = np.random.default_rng(number)
    columns = {
        "customer": random.integers(0, CUSTOMERS, records),
        "amount": random.integers(1, 100, records),
    }
    path = directory / f"{number:04}.parquet"
    pq.write_table(pa.table(columns), path.with_name(f".{path.name}"))
    path.with_name(f".{path.name}").rename(path)


def _without_place(event: JobEvent) -> JobEvent:
    return replace(event, settings={}, plan="") if isinstance(event, JobStarted) else event


if __name__ == "__main__":
    main()
