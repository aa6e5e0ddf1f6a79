"""A source that is made where files end, on Spark: in every mode, over restarts and savepoints.

Every test compares with what is in files and, behind them, in the log; records at the end of files are in both.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.api.environment.job import JobClient
from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, FileSource, HybridSource, SourceSwitch
from penstock.errors import SourceError
from penstock.graph.source import Source
from penstock.graph.source_switch import SwitchColumns
from penstock.spark.driver.switches import switch_behind
from penstock.spark.sources.pinned_files import pin_files
from penstock.spark.sources.source_row import PinnedPart
from tests.log_world import AppendedLog
from tests.spark.conftest import Environment
from tests.spark.test_clients import written
from tests.spark.waiting import wait_for

ROW = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
NO_TIME = WatermarkStrategy.no_watermarks()
BEGIN = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
"""A clock in Berlin has no half past two that day, which must not matter."""


class LogOfRows(AppendedLog):
    """A log of rows (key, at) from a time on."""

    @classmethod
    def since(cls, directory: Path, from_ms: int, *, bounded: bool) -> LogOfRows:
        made = cls(str(directory), bounded)
        object.__setattr__(made, "from_ms", from_ms)
        return made

    def read(self, split: str, start: int, end: int) -> Any:
        batch = super().read(split, start, end)
        since: int = self.__dict__["from_ms"]
        rows = [row for row in batch.records if row[1] >= since]
        return type(batch)(rows, batch.next_position)


def at(n: int) -> datetime:
    return BEGIN + timedelta(minutes=n)


def milliseconds(n: int) -> int:
    return int(at(n).timestamp() * 1000)


class Orders:
    """Orders in files up to the 40th, and in a log from the 30th on."""

    def __init__(self, directory: Path, kind: pa.DataType) -> None:
        self.files, self.log = directory / "files", directory / "log"
        for made in (self.files, self.log):
            made.mkdir()
        self.told: list[SourceSwitch] = []
        for number, some in enumerate((range(20), range(20, 40))):
            is_plain = pa.types.is_timestamp(kind) and kind.tz is None
            moments = [at(n).replace(tzinfo=None) if is_plain else at(n) for n in some]
            times = [*map(milliseconds, some)] if pa.types.is_integer(kind) else moments
            keys = [f"k{n % 5}" for n in some]
            table = pa.table({"key": keys, "at": pa.array(times, kind)})
            pq.write_table(table, self.files / f"{number}.parquet")
        self.add(range(30, 50))

    def add(self, some: range) -> None:
        lines = "".join(f"{json.dumps([f'k{n % 5}', milliseconds(n)])}\n" for n in some)
        with (self.log / "orders.log").open("a") as file:
            file.write(lines)

    def source(self, mode: str) -> HybridSource:
        def live(switch: SourceSwitch) -> AppendedLog:
            self.told.append(switch)
            return LogOfRows.since(self.log, switch.next_timestamp, bounded=mode == "batch")

        history = FileSource.parquet(str(self.files), type_info=None)
        return (
            HybridSource.builder(Untyped(history))
            .add_source(live, timestamp="at", is_bounded=mode == "batch")
            .build()
        )


class Untyped(FileSource):
    """Files whose records are rows of no declared type, as those of the log are."""

    def __init__(self, files: FileSource) -> None:
        super().__init__(files.path, files.format)

    def get_produced_type(self) -> Any:
        return Types.PICKLED_BYTE_ARRAY()


def start(env: StreamExecutionEnvironment, source: Source, out: Path) -> JobClient:
    """Start a job that counts the orders of every key."""
    records = env.from_source(source, NO_TIME, "orders").uid("orders")
    ones = records.map(lambda r: (r[0], 1)).key_by(lambda one: one[0])
    ones.sum(1).uid("counts").map(lambda r: r, ROW).sink_to(FileSink.parquet(out)).uid("out")
    return env.execute_async("orders")


def stop(client: JobClient) -> None:
    client.cancel().result()
    with pytest.raises(Exception, match="cancelled"):
        client.get_job_execution_result().result()


def final(rows: Counter[Any]) -> dict[str, int]:
    return {key: max(n for k, n in rows if k == key) for key, _ in rows}


KINDS = {
    "numbers": pa.int64(),
    "zoned": pa.timestamp("us", "UTC"),
    "plain": pa.timestamp("us"),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_a_log_follows_files_from_their_end_in_every_mode_and_over_a_restart(
    environment: Environment,
    tmp_path: Path,
    mode: str,
    kind: pa.DataType,
    session: Any,
) -> None:
    orders, out = Orders(tmp_path, kind), tmp_path / "out"
    zone = session.conf.get("spark.sql.session.timeZone")
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        client = start(environment(mode), orders.source(mode), out)
        wait_for(client, lambda: final(written(out)) == {f"k{n}": 10 for n in range(5)})
        if mode != "batch":
            stop(client)
            orders.add(range(50, 60))
            client = start(environment(mode), orders.source(mode), out)
            wait_for(client, lambda: final(written(out)) == {f"k{n}": 12 for n in range(5)})
            stop(client)
    finally:
        session.conf.set("spark.sql.session.timeZone", zone)
    assert set(orders.told) == {SourceSwitch(milliseconds(39))}


@pytest.mark.parametrize("while_in", ["history", "live"])
def test_a_savepoint_has_the_switch(
    environment: Environment, tmp_path: Path, while_in: str
) -> None:
    orders, out = Orders(tmp_path, pa.int64()), tmp_path / "out"
    slow = {"execution.live.max-files-per-batch": 1} if while_in == "history" else {}
    client = start(environment("streaming", **slow), orders.source("streaming"), out)
    seen = 20 if while_in == "history" else 50
    wait_for(client, lambda: written(out).total() >= seen)
    path = client.stop_with_savepoint(savepoint_directory=str(tmp_path / "savepoint")).result()
    for number in (1, 2):  # a savepoint of a job that began with one has it too
        # Nobody can find the end of these files any more.
        told = len(orders.told)
        settings = {
            "execution.checkpointing.dir": str(tmp_path / f"job-{number}"),
            "execution.state-recovery.path": path,
        }
        orders.add(range(40 + 10 * number, 50 + 10 * number))
        client = start(environment("streaming", **settings), orders.source("streaming"), out)
        expected = {f"k{n}": 10 + 2 * number for n in range(5)}
        wait_for(client, lambda: final(written(out)) == expected)  # noqa: B023
        assert len(orders.told) > told
        path = client.stop_with_savepoint(
            savepoint_directory=str(tmp_path / f"savepoint-{number}")
        ).result()
    assert set(orders.told) == {SourceSwitch(milliseconds(39))}


WRONG: dict[str, tuple[Callable[..., Any], str]] = {
    "no column": (lambda b, f: b.add_source(f, timestamp="when"), "has no column 'when'"),
    "no time": (lambda b, f: b.add_source(f), "the end of the records of"),
    "no number": (lambda b, f: b.add_source(f, timestamp="key"), "column 'key' of .* has 'k4'"),
}


@pytest.mark.parametrize(("asked", "problem"), WRONG.values(), ids=WRONG)
def test_columns_that_are_no_time_are_told(
    environment: Environment, tmp_path: Path, asked: Callable[..., Any], problem: str
) -> None:
    orders = Orders(tmp_path, pa.int64())
    files = Untyped(FileSource.parquet(str(orders.files)))
    source = asked(HybridSource.builder(files), lambda _: None).build()
    client = start(environment("mixed"), source, tmp_path / "out")
    with pytest.raises(SourceError, match=problem) as told:
        client.get_job_execution_result().result()
    assert told.value.origin is not None
    assert told.value.origin.filename == __file__


def test_positions_of_files_are_found_by_split(environment: Environment, tmp_path: Path) -> None:
    orders = Orders(tmp_path, pa.int64())
    for path in orders.files.iterdir():
        path.unlink()
    columns = {"key": ["k0", "k1", "k2"], "a.b": [1, 1, 0], "offset": [4, 9, 2]}
    pq.write_table(pa.table(columns), orders.files / "0.parquet")

    def live(switch: SourceSwitch) -> AppendedLog:
        orders.told.append(switch)
        return LogOfRows.since(orders.log, milliseconds(40), bounded=False)

    builder = HybridSource.builder(Untyped(FileSource.parquet(str(orders.files))))
    source = builder.add_source(live, position="offset", split="a.b").build()
    client = start(environment("mixed"), source, tmp_path / "out")
    wait_for(client, lambda: sum(final(written(tmp_path / "out")).values()) == 13)
    stop(client)
    assert set(orders.told) == {SourceSwitch(None, ((0, 2), (1, 9)))}


LINES = {
    "json": (FileSource.json, '{{"at": "{}", "n": {}, "odd": [1, 2]}}'),
    "csv": (FileSource.csv, "{},{},x"),
}
MOMENTS = {
    "instants": (Types.INSTANT(), "2026-03-29T00:30:00.123456789Z"),
    "zoned": (Types.TIMESTAMP_LTZ(), "2026-03-29T00:30:00.123456Z"),
    "plain": (Types.SQL_TIMESTAMP(), "2026-03-29T00:30:00.123"),
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("kind", LINES)
def test_a_switch_is_found_in_declared_lines(
    session: Any, tmp_path: Path, kind: str, moment: str
) -> None:
    made, line = LINES[kind]
    type_info, latest = MOMENTS[moment]
    last = Types.LIST(Types.INT()) if kind == "json" else Types.STRING()
    row = Types.ROW_NAMED(
        ["at", "n", "odd", "day"], [type_info, Types.BIG_INT(), last, Types.STRING()]
    )
    for day, times in {
        "a b": ["1969-12-31T23:59:59Z", latest],
        "c": ["2020-01-01T00:00:00Z"],
    }.items():
        (tmp_path / "in" / f"day={day}").mkdir(parents=True)
        lines = [
            line.format(time.removesuffix("Z" * (moment == "plain")), n)
            for n, time in enumerate(times, 5)
        ]
        text = "\n".join(["at,n,odd"] * (kind == "csv") + lines)
        (tmp_path / "in" / f"day={day}" / "0").write_text(text)
    source = made(str(tmp_path / "in"), row)
    pinned = PinnedPart(files=pin_files(session, source, None))

    def switch(asks: SwitchColumns) -> SourceSwitch:
        return switch_behind(session, source, pinned, asks, None)

    found = switch(SwitchColumns(timestamp="at", position="n", split="day"))
    assert found == SourceSwitch(milliseconds(0) + 123, (("a b", 6), ("c", 5)))
    with pytest.raises(SourceError, match="has no column 'line', which the switch"):
        switch(SwitchColumns(timestamp="line"))
    (tmp_path / "in" / "day=c" / "1").write_text(
        "at,n,odd\n2026-01-01T00:00:00Z,1.5,x\n" if kind == "csv" else '{"n": 1.5}'
    )
    pinned = PinnedPart(files=pin_files(session, source, None))
    with pytest.raises(SourceError, match=r"day=c/1, line \d: field '(n|at)'"):
        switch(SwitchColumns(timestamp="at"))
