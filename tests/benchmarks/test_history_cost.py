"""`benchmarks.history_cost`, without a job: its answer, its samples and its end."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from benchmarks import history_cost
from benchmarks.answers import reduce_records
from benchmarks.history_cost import (
    Sample,
    expected,
    report,
    samples_table,
    tenths,
    watched,
)
from benchmarks.model.shape import BATCH, Shape
from benchmarks.reporting.costs import RESULTS

SLEEP = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); time.sleep(60)"
WRITE = "import os, pathlib; pathlib.Path(os.environ['TMPDIR'], 'a').write_bytes(bytes(5_000)); import time; time.sleep(0.4)"


@pytest.mark.parametrize(("records", "keys"), [(10, 3), (1_000, 100), (77, 100)])
def test_the_answer_in_parts_is_that_of_the_benchmark(
    monkeypatch: pytest.MonkeyPatch, records: int, keys: int
) -> None:
    monkeypatch.setattr(history_cost, "_CHUNK", 7)
    shape = Shape(records, 0, keys, 2, BATCH)
    assert expected(shape) == reduce_records.expected(shape)


def test_a_job_that_takes_too_long_is_ended_with_all_that_it_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(history_cost, "_SAMPLE_SECONDS", 0.05)
    began = time.monotonic()
    status, samples = watched([sys.executable, "-c", SLEEP], tmp_path, at_most=1.0)
    assert status is None
    assert samples
    assert time.monotonic() - began < 30


def test_what_a_job_holds_is_sampled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(history_cost, "_SAMPLE_SECONDS", 0.05)
    status, samples = watched([sys.executable, "-c", WRITE], tmp_path, at_most=30)
    assert status == 0
    assert max(each.disk_bytes for each in samples) == 5_000
    assert max(each.driver_bytes for each in samples) > 1_000_000
    found = report(Shape(100, 0, 10, 2, BATCH), samples, {})
    assert found["peaks"]["disk_bytes"] == 5_000
    assert len(found["samples"]) == 10
    assert "disk 0.00 GiB" in str(samples[-1])


def test_tenths_of_few_samples_are_those_there_are() -> None:
    one = Sample(1.0, 0, 0, 0, 0, 0)
    assert tenths([]) == []
    assert tenths([one]) == [one] * 10


def test_the_page_has_the_run_that_is_recorded() -> None:
    line = json.loads((RESULTS / "history" / "billion.jsonl").read_text().splitlines()[-1])
    page = (RESULTS.parents[1] / "docs" / "scale.md").read_text()
    assert line["is_right"]
    assert samples_table(line) in page
    assert f"{line['seconds']:,.0f} s, {line['records_per_ms']:.0f} records/ms" in page
