"""The hour of the proposal's job without Spark: its feed, what is heard of a job, its record, and the page."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks.coded_hour.command import joined, main
from benchmarks.coded_hour.feed import BinlogFeed
from benchmarks.coded_hour.job import HEARD, KINDS, Heard, OfKinds, offsets, query
from benchmarks.coded_hour.record import JOBS, HourRecord, table
from benchmarks.coded_hour.rows import ENCODINGS, row_table, weights
from benchmarks.coded_hour.samples import JobSampler, cpu_seconds, disk_bytes
from benchmarks.inputs.binlog import ORDERS
from benchmarks.soak.driver import Drivers
from penstock.common import Row, RowKind
from penstock.observe.events.job_events import MetricsReported, MicroBatch

TOP = Path(__file__).parents[2]
RECORD = TOP / "benchmarks" / "results" / "coded-hour" / "minutes-60.jsonl"


def sample(job: str, seconds: float, **state: int) -> dict[str, Any]:
    parts = {"driver": 1.0, "jvm": seconds / 2, "workers": seconds / 4}
    return {
        "job": job,
        "seconds": seconds,
        "cpu_seconds": parts,
        "resident_bytes": {"driver": 1 << 20, "jvm": 2 << 20, "workers": 3 << 20},
        "local_bytes": 4 << 20,
        "records": 10,
        "micro_batches": 2,
        "checkpoint_bytes": 5 << 20,
        "state": state,
    }


def record(tmp_path: Path, **end: Any) -> Path:
    lines: list[dict[str, Any]] = [{"begin": {"minutes": 1}}]
    for seconds in range(0, 600, 10):
        lines += [{"sample": sample(job, float(seconds), copy_hits=3)} for job in JOBS]
    lines.append({"end": {"records": 10, "expected": [1, "a"], **end}})
    path = tmp_path / "hour.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_feed_numbers_records_of_both_tables_alike(tmp_path: Path) -> None:
    feed = BinlogFeed(tmp_path, records_per_second=4, keys=7)
    files = sorted(path.name for path in (tmp_path / "orders").iterdir())
    assert (feed.records, files) == (10, ["000000.json"])
    lines = (tmp_path / "orders" / files[0]).read_text(encoding="utf-8").splitlines()
    assert lines == [ORDERS.line(index, 7) for index in range(10)]
    assert len((tmp_path / "refunds" / files[0]).read_text(encoding="utf-8").splitlines()) == 10


def test_what_a_job_says_of_itself_is_in_a_sample(tmp_path: Path) -> None:
    drivers = Drivers(tmp_path, {})
    (tmp_path / "out").mkdir()
    drivers._process = type("Process", (), {"pid": os.getsid(0)})()
    sampler = JobSampler("on", drivers)
    assert sampler.heard() == {}
    heard = Heard(tmp_path / "out" / HEARD)
    heard.on_event(MicroBatch(number=4, records=3, total_records=9, seconds=0.1, lag_ms=None))
    state = {"copy_hits": 8, "copy_rebuilds": 2}
    heard.on_event(MetricsReported({}, state, sources={"a": 5, "b": 4}, state_bytes={"join": 70}))
    found = sampler.sample(1.0)
    assert (found.records, found.micro_batches, found.checkpoint_bytes) == (9, 5, 70)
    assert found.to_json()["state"] == state
    assert sum(found.resident_bytes.values()) > 0
    assert cpu_seconds(os.getpid()) > 0
    assert cpu_seconds(1 << 30) == 0


def test_local_copies_are_weighed_wherever_they_are(tmp_path: Path) -> None:
    copy = tmp_path / "a" / "penstock-state" / "b"
    copy.mkdir(parents=True)
    (copy / "data.mdb").write_bytes(b"x" * 10_000)
    (tmp_path / "other").write_bytes(b"x" * 10_000)
    assert 10_000 <= disk_bytes(tmp_path) < 20_000


def test_the_join_is_what_was_made_without_what_is_gone(tmp_path: Path) -> None:
    def line(count: int, digest: int) -> str:
        return json.dumps({"epoch": "0-1", "count": count, "digest": digest}) + "\n"

    (tmp_path / "made.jsonl").write_text(line(5, 9))
    (tmp_path / "gone.jsonl").write_text(line(2, 4))
    assert joined(tmp_path) == [3, "0000000000000005"]
    assert OfKinds(KINDS["made"])(Row(1))
    taken = Row(1)
    taken.set_row_kind(RowKind.DELETE)
    assert OfKinds(KINDS["gone"])(taken)
    assert offsets(Row(o_offset=3, r_offset=None)) == (3, -1)
    assert "o.`order_id` AS o_order_id" in query()


def test_a_record_is_drawn_and_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right = {job: [1, "a"] for job in JOBS}
    path = record(tmp_path, results=right)
    arguments = ["--draw", "--record", str(path), "--plot", str(tmp_path / "hour.svg")]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "| cores in use, second half | 0.75 | 0.75 |" in shown
    assert "cores in use" in (tmp_path / "hour.svg").read_text()
    record(tmp_path, results=right | {"off": [2, "b"]})
    assert main(arguments) == 1
    assert "WRONG: off" in capsys.readouterr().out
    assert HourRecord().differences == ["it did not run to its end"]


def test_a_record_keeps_its_table_when_its_samples_become_columns(tmp_path: Path) -> None:
    whole = HourRecord.read(record(tmp_path, results={job: [1, "a"] for job in JOBS}))
    path = tmp_path / "thin.jsonl"
    whole.write(path)
    thin = HourRecord.read(path)
    assert table(thin) == table(whole)
    assert thin.end == whole.end
    assert len(thin.of("on")) == 16
    assert thin.of("off")[-1] == whole.of("off")[-1]


def test_rows_are_weighed_in_every_encoding(tmp_path: Path) -> None:
    BinlogFeed(tmp_path, records_per_second=40, keys=7)
    found = weights(tmp_path, 50)
    assert found["orders"]["rows"] == 50
    for of_table in found.values():
        assert of_table["coded rows"] < of_table["slots of 8 bytes (BinaryRowData)"]
    assert row_table(found).count("\n") == 2 + len(ENCODINGS)


def test_the_page_has_the_table_of_the_record() -> None:
    found = HourRecord.read(RECORD)
    assert found.differences == []
    page = (TOP / "docs" / "decisions" / "0010-coded-rows.md").read_text(encoding="utf-8")
    assert table(found) in page
    assert row_table(found.rows) in page
