"""Run a job over history and live files, and store its events: pictures of the page are made of them.

python -m tools.support.recorded_job RECORDS    # of jobs that restart and fail
python -m tools.support.recorded_job upgrade    # of the demo of an upgrade

The first runs twice: a service is unreachable once, and the job restarts; or it stays so, and the job fails. It takes two minutes.
Nothing else should run meanwhile, because the pictures have speeds.
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

from examples.evolve.demo import run_demo
from penstock.common import Configuration, Duration, Row, Time, Types, WatermarkStrategy
from penstock.datastream import MapFunction, StreamExecutionEnvironment, col
from penstock.datastream.connectors import DiscardingSink, FileSource, HybridSource
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import PenstockError
from penstock.observe.events.event_json import from_line, to_line
from penstock.observe.events.event_log import DIRECTORY, LATEST
from penstock.observe.events.job_events import JobEvent, JobStarted, MicroBatch

RECORDED = Path(__file__).with_name("recorded_job.jsonl")
FAILED = Path(__file__).with_name("failed_job.jsonl")
UPGRADED = Path(__file__).with_name("upgraded_job.jsonl")

ORDER = Types.ROW_NAMED(
    ["customer", "shop", "amount", "at"], [Types.LONG(), Types.LONG(), Types.LONG(), Types.LONG()]
)
EUROS = Types.ROW_NAMED(["customer", "shop", "euros"], [Types.LONG(), Types.LONG(), Types.DOUBLE()])
CUSTOMERS, SHOPS = 10_000, 40
_FILES = 24
_LIVE_FILES, _LIVE_RECORDS = 40, 20_000
_LIVE_SECONDS = 0.5
_HISTORY_MS = 10
_LARGE = 90
_ATTEMPTS = 4
"""Spark repeats a task that fails three times, then the job restarts."""
_UNREACHABLE = 16
"""Live file at which the service of rates is unreachable; its first order has the amount 0."""


class InEuros(MapFunction[Row, Row]):
    """Order with its amount in euros, at a rate that a service has.

    Args:
        outage: File with the number of requests that the service refuses.
    """

    def __init__(self, outage: Path) -> None:
        self._outage = outage

    def map(self, value: Row) -> Row:
        """Convert an amount."""
        if value.amount == 0 and (refused := int(self._outage.read_text())):
            self._outage.write_text(str(refused - 1))
            raise ConnectionError("the service of rates refused the connection")
        return Row(value.customer, value.shop, value.amount * 0.92)


def main() -> None:
    """Run the jobs and replace their files."""
    if sys.argv[1] == "upgrade":
        with TemporaryDirectory(prefix="penstock-recorded-") as name:
            run_demo(Path(name))
            _store(Path(name), Path(name, "checkpoint", "new"), UPGRADED)
        return
    for target, is_short in ((RECORDED, True), (FAILED, False)):
        with TemporaryDirectory(prefix="penstock-recorded-") as name:
            directory = Path(name)
            _run(directory, int(sys.argv[1]), is_short=is_short)
            _store(directory, directory / "checkpoint", target)


def _store(root: Path, job: Path, target: Path) -> None:
    events = events_of(job / DIRECTORY / LATEST)
    text = "".join(to_line(_without_place(each)) for each in events)
    for place in (Path(__file__).parent, Path(__file__).parents[2]):
        text = text.replace(f"{place}/", "")
    target.write_text(text.replace(str(root), "/data"), encoding="utf-8")


def recorded(now_ms: int) -> list[JobEvent]:
    """Return the events up to the last micro-batch with records, moved in time so that it ends now.

    Args:
        now_ms: When the last one happens, in epoch milliseconds.
    """
    return _up_to_records(RECORDED, now_ms)


def failed(now_ms: int) -> list[JobEvent]:
    """Return the events of the job that fails, moved in time so that it ends now."""
    return _ending(events_of(FAILED), now_ms)


def upgraded(now_ms: int) -> list[JobEvent]:
    """Return the events of the job that began with an upgrade, moved in time so that it ends now."""
    return _up_to_records(UPGRADED, now_ms)


def _up_to_records(path: Path, now_ms: int) -> list[JobEvent]:
    events = events_of(path)
    last = max(
        at for at, each in enumerate(events) if isinstance(each, MicroBatch) and each.records
    )
    return _ending(events[: last + 1], now_ms)


def events_of(path: Path) -> list[JobEvent]:
    """Return the events of a file."""
    events = [from_line(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [event for event in events if event is not None]


def _ending(events: list[JobEvent], now_ms: int) -> list[JobEvent]:
    later = now_ms - events[-1].at_ms
    return [replace(event, at_ms=event.at_ms + later) for event in events]


def build(env: StreamExecutionEnvironment, directory: Path) -> None:
    """Add up the orders of each customer, and those of each shop in ten seconds.

    Args:
        env: The environment.
        directory: Where `history` and `live` are.
    """
    history = FileSource.parquet(directory / "history", type_info=ORDER)
    live = FileSource.parquet(directory / "live", type_info=ORDER).monitor_continuously()
    source = HybridSource.builder(history).add_source(live).build()
    times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    times = times.with_timestamp_assigner(col.at)
    orders = env.from_source(source, times, "orders").uid("orders")
    euros = orders.map(InEuros(directory / "outage"), EUROS).name("in euros")
    spent = (
        euros.map(lambda order: (order.customer, 1, order.euros))
        .key_by(lambda total: total[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2]), associative=True)
    )
    spent.uid("spent").name("spent").upsert_to(DiscardingSink(), key=lambda total: total[0]).uid(
        "customers"
    )
    shops = (
        euros.key_by(col.shop)
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .aggregate(col.window_start, orders=col.count(), euros=col.euros.sum())
        .uid("shops in 10 s")
        .name("orders per shop")
    )
    shops.sink_to(DiscardingSink()).uid("shops")
    large = euros.where(col.euros > _LARGE).name("large orders")
    large.sink_to(DiscardingSink()).uid("offers")


def _run(directory: Path, records: int, *, is_short: bool) -> None:
    for name in ("history", "live"):
        (directory / name).mkdir()
    (directory / "outage").write_text(str(_ATTEMPTS if is_short else sys.maxsize))
    share = records // _FILES
    begin_ms = time.time_ns() // 1_000_000 - records * _HISTORY_MS
    for number in range(_FILES):
        first_ms = begin_ms + number * share * _HISTORY_MS
        _write(directory / "history", number, first_ms + _HISTORY_MS * np.arange(share))
    config = Configuration()
    config.set("execution.history", "batch")
    config.set("execution.checkpointing.dir", str(directory / "checkpoint"))
    config.set("restart-strategy.type", "fixed-delay")
    config.set("restart-strategy.fixed-delay.attempts", "2")
    config.set("restart-strategy.fixed-delay.delay", "2 s")
    config.set("pipeline.name", "orders")
    env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(2)
    build(env, directory)
    client = env.execute_async("orders")
    for number in range(_LIVE_FILES * 10):
        ago_ms = np.linspace(_LIVE_SECONDS * 1000, 0, _LIVE_RECORDS).astype(np.int64)
        times_ms = time.time_ns() // 1_000_000 - ago_ms
        _write(directory / "live", number, times_ms, has_zero=number == _UNREACHABLE)
        time.sleep(_LIVE_SECONDS)
        is_over = client.get_job_status().result().is_globally_terminal_state()
        if is_over or len(list(_live_batches(directory))) >= _LIVE_FILES:
            break
    if is_short:
        client.cancel().result()
        return
    try:
        client.get_job_execution_result().result()
    except PenstockError as failure:
        sys.stderr.write(f"{failure}\n")


def _live_batches(directory: Path) -> Iterator[Any]:
    path = directory / "checkpoint" / DIRECTORY / LATEST
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line.endswith("}") and json.loads(line)["event"] == MicroBatch.__name__:
            yield line


def _write(directory: Path, number: int, times_ms: Any, *, has_zero: bool = False) -> None:
    """Write a file with an order at each time; it appears when it is complete."""
    random, records = np.random.default_rng(number), len(times_ms)
    amounts = random.integers(1, 100, records)
    if has_zero:
        amounts[0] = 0
    columns = {
        "customer": random.integers(0, CUSTOMERS, records),
        "shop": random.integers(0, SHOPS, records),
        "amount": amounts,
        "at": times_ms,
    }
    path = directory / f"{number:04}.parquet"
    pq.write_table(pa.table(columns), path.with_name(f".{path.name}"))
    path.with_name(f".{path.name}").rename(path)


def _without_place(event: JobEvent) -> JobEvent:
    return replace(event, settings={}, plan="") if isinstance(event, JobStarted) else event


if __name__ == "__main__":
    main()
