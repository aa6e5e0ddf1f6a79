"""The soak without Spark: a job in this process that answers rightly, wrongly, or ends."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.model.errors import SystemFailedError
from benchmarks.soak import command
from benchmarks.soak.driver import STATUSES, Drivers
from benchmarks.soak.feed import HISTORY_FILES, Feed, replayed
from benchmarks.soak.plot import draw
from benchmarks.soak.record import MEASURES, Growth, SoakRecord, growths, table
from benchmarks.soak.results import Results, differences
from benchmarks.soak.samples import quantiles

MIB = 1 << 20
TOP = Path(__file__).parents[2]


@dataclass
class FakeDrivers(Drivers):
    """A job that works whenever it is looked after, and knows its totals across restarts."""

    work: Path
    settings: dict[str, str] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)
    totals: dict[int, tuple[int, int]] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)

    def start(self) -> None:
        for directory in (self.job, self.temporary, self.work / "out"):
            directory.mkdir(exist_ok=True)
        self.started += 1

    @property
    def session(self) -> int:
        return 0

    def check_alive(self) -> None:
        for path in sorted((self.work / "data").glob("*/*.json")):
            if path.name not in self.read:
                self.read.add(path.name)
                self.answer(path)

    def answer(self, path: Path) -> None:
        rows = []
        for record in map(json.loads, path.read_text().splitlines()):
            count, total = self.totals.get(record["key"], (0, 0))
            self.totals[record["key"]] = count + 1, total + record["amount"]
            count, total = self.totals[record["key"]]
            rows.append(
                {"key": record["key"], "count": count, "total": total, "at_ms": record["at_ms"]}
            )
        pq.write_table(pa.Table.from_pylist(rows), self.work / "out" / f"{path.stem}.parquet")

    def stop(self, number: signal.Signals) -> float:
        self.stopped.append(number.name)
        return 0.5


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr("benchmarks.soak.feed.PERIOD_SECONDS", 0.02)
    monkeypatch.setattr(command, "LOOK_SECONDS", 0.01)


def soaked(tmp_path: Path) -> tuple[FakeDrivers, Feed, SoakRecord]:
    drivers, record = FakeDrivers(tmp_path), SoakRecord(begin={"sample_seconds": 0.05})
    feed = Feed(tmp_path / "data", records_per_second=1000)
    soak = command.Soak(drivers, feed, Results(tmp_path / "out"), record.add, 0.05)
    soak.run(1.0, 0.3)
    return drivers, feed, record


def test_a_soak_samples_restarts_and_waits_for_all_results(tmp_path: Path, quick) -> None:
    drivers, feed, record = soaked(tmp_path)
    restarts = drivers.stopped[:-1]
    assert restarts == [("SIGTERM", "SIGKILL")[number % 2] for number in range(len(restarts))]
    assert [each["signal"] for each in record.stopped] == restarts
    assert drivers.stopped[-1] == "SIGTERM"
    assert drivers.started == len(drivers.stopped) > 1
    assert feed.records > HISTORY_FILES * 20
    assert differences(tmp_path / "out", feed.records) == []
    assert sum(sample["results"] for sample in record.samples) <= feed.records
    assert [sample["driver"] for sample in record.samples] == sorted(
        sample["driver"] for sample in record.samples
    )
    assert all(
        sample["latency_ms"]["max"] < 5_000 for sample in record.samples if sample["results"]
    )
    draw(record, tmp_path / "soak.svg")
    assert "latency, ms" in (tmp_path / "soak.svg").read_text()
    assert table(record).count("\n") == 2 + len(MEASURES) + 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[1:], "results of"),
        (lambda rows: [rows[0], *rows], "once"),
        (lambda rows: [rows[0] | {"total": rows[0]["total"] + 1}, *rows[1:]], "has total"),
        (lambda rows: [rows[0] | {"count": 2}, *rows[1:]], "does not have each count"),
    ],
    ids=["lost", "doubled", "total", "count"],
)
def test_wrong_results_are_noticed(tmp_path: Path, change: Any, said: str) -> None:
    totals = replayed(50)
    rows = [
        {"key": key, "count": n, "total": total, "at_ms": 0}
        for key, (count, total) in totals.items()
        for n in range(1, count + 1)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "0.parquet")
    assert differences(tmp_path, 50) == []
    alone = [row for row in rows if totals[row["key"]][0] == 1]
    assert alone
    rows = [*alone, *(row for row in rows if totals[row["key"]][0] > 1)]
    pq.write_table(pa.Table.from_pylist(change(rows)), tmp_path / "0.parquet")
    assert said in " ".join(differences(tmp_path, 50))


def samples(**last: int) -> list[dict[str, Any]]:
    flat = dict.fromkeys(MEASURES, 1000)
    return [flat] * 15 + [flat | last] * 5


def test_what_is_flat_has_not_grown_and_what_leaks_has() -> None:
    assert [each for each in growths(samples()) if each.is_too_much] == []
    (grown,) = [each for each in growths(samples(job_files=1300)) if each.is_too_much]
    assert grown == Growth("job_files", 1000, 1300)


def test_small_numbers_may_change_by_chance() -> None:
    assert not Growth("descriptors", 10, 49).is_too_much
    assert Growth("descriptors", 10, 51).is_too_much
    assert not Growth("jvm_bytes", 100 * MIB, 160 * MIB).is_too_much


def test_a_record_is_read_again_and_judged(tmp_path: Path, capsys) -> None:
    sample = dict.fromkeys(MEASURES, 7) | {"seconds": 1.0, "results": 1, "latency_ms": {}}
    sample["latency_ms"] = {"p50": 1.0, "p99": 2.0, "max": 2.0}
    lines = [
        {"begin": {"sample_seconds": 10.0}},
        *[{"sample": sample}] * 8,
        {"stopped": {"seconds": 3.0, "signal": "SIGKILL", "took_seconds": 0.1}},
    ]
    end = {"end": {"records": 5, "drivers": 2, "differences": []}}
    path = tmp_path / "soak.jsonl"
    arguments = ["--draw", "--record", str(path), "--plot", str(tmp_path / "soak.svg")]
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, end]))
    assert command.main(arguments) == 0
    assert "5 records, each counted once, by 2 drivers" in capsys.readouterr().out
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert command.main(arguments) == 1
    assert "it did not run to its end" in capsys.readouterr().out


def test_a_driver_that_ends_by_itself_is_told_with_its_last_words(tmp_path: Path) -> None:
    drivers = Drivers(tmp_path, {"no.such.option": "1"})
    drivers.start()
    try:
        with pytest.raises(SystemFailedError, match="driver 0 ended with 1"):
            wait_for_end(drivers)
    finally:
        drivers.close()


def wait_for_end(drivers: Drivers) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        drivers.check_alive()
        time.sleep(0.05)


def test_a_killed_driver_and_a_stopped_one_have_a_status_each() -> None:
    assert STATUSES == {signal.SIGTERM: 143, signal.SIGKILL: -9}


def test_quantiles_of_nothing_are_nothing() -> None:
    assert quantiles(np.array([])) == {}
    assert quantiles(np.arange(101)) == {"p50": 50.0, "p99": 99.0, "max": 100.0}


def test_the_page_has_the_table_of_the_record() -> None:
    record = SoakRecord.read(TOP / "benchmarks" / "results" / "soak" / "hours-2.jsonl")
    assert record.end["differences"] == []
    page = (TOP / "docs" / "scale.md").read_text()
    assert table(record) in page
    assert f"{record.end['records']:,} records by {record.end['drivers']} drivers" in page


def test_a_record_keeps_its_table_when_its_samples_become_columns(tmp_path: Path) -> None:
    sizes = dict.fromkeys(MEASURES, 7) | {"driver_bytes": 3 * 4096}
    lines: list[dict[str, Any]] = [
        sizes | {"seconds": float(n), "workers": 2, "latency_ms": {}} for n in range(8)
    ]
    lines[-1]["latency_ms"] = {"p50": 1.5, "p99": 2.0, "max": 2.5}
    record = SoakRecord({"sample_seconds": 10.0}, lines, [{"signal": "SIGKILL"}], {"drivers": 2})
    path = tmp_path / "soak.jsonl"
    record.write(path)
    found = SoakRecord.read(path)
    assert table(found) == table(record)
    assert (found.begin, found.stopped, found.end) == (record.begin, record.stopped, record.end)
    assert found.samples[-1] == {name: lines[-1][name] for name in lines[-1] if name != "workers"}
    assert '"driver_bytes/pages":[3,' in path.read_text()
