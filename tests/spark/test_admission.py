"""Micro-batches of files become larger and smaller while a live run goes on."""

from __future__ import annotations

import threading
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import WatermarkStrategy
from penstock.datastream.connectors import FileSource
from penstock.events.job_events import AdmissionChanged, JobEvent
from penstock.events.listeners import JobListener, also_listening
from penstock.spark.live import pending_input as pending
from penstock.spark.live.admission import FileAdmission
from tests.spark.conftest import Environment

FIRST, BURST, LAST = 1, 9, 1


def begun(**files: int) -> FileAdmission:
    made = FileAdmission(usual=8)
    made.begin({int(source[1:]): most for source, most in files.items()})
    return made


def test_the_first_query_says_only_what_is_not_usual() -> None:
    assert FileAdmission(usual=8).begin({1: 8, 2: 20}) == {2: 20}


@pytest.mark.parametrize(
    ("now", "waiting", "wanted", "is_due"),
    [
        (8, 64, 16, True),
        (8, 63, 15, False),
        (8, 8, 8, False),
        (32, 8, 8, True),
        (32, 0, 8, True),
        (32, 9, 8, False),
        (32, 64, 16, False),
        (16, 128, 32, True),
    ],
)
def test_it_is_worth_to_double_or_to_have_caught_up(
    now: int, waiting: int, wanted: int, is_due: bool
) -> None:
    made = begun(s1=now, s2=8)
    made.note({1: wanted, 2: 8}, {1: waiting, 2: 0})
    assert not made.is_due, "one look says little"
    made.note({1: wanted, 2: 8}, {1: waiting, 2: 0})
    assert made.is_due is is_due


def test_looks_that_do_not_agree_change_nothing() -> None:
    made = begun(s1=8, s2=8)
    made.note({1: 32, 2: 8}, {1: 200, 2: 0})
    made.note({1: 8, 2: 32}, {1: 20, 2: 200})
    assert not made.is_due
    made.note({1: 8, 2: 32}, {1: 20, 2: 200})
    assert made.is_due
    assert made.begin({1: 8, 2: 32}) == {2: 32}
    assert not made.is_due
    made.note({1: 8, 2: 32}, {1: 20, 2: 200})
    assert not made.is_due


class Bursts(JobListener):
    """Has files arrive: many at once when the run has begun, a few when it has caught up."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.taken: list[int] = []
        self._written = 0

    def write(self, count: int) -> None:
        for number in range(self._written, self._written + count):
            made = self.directory / f".{number}"
            pq.write_table(pa.table({"n": [number]}), made)
            made.rename(self.directory / f"{number}.parquet")
        self._written += count

    def on_event(self, event: JobEvent) -> None:
        if isinstance(event, AdmissionChanged):
            self.taken.append(event.files)
            if event.files == 1:
                self.write(LAST)


def test_a_burst_of_files_is_taken_in_larger_micro_batches_until_few_wait(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "MEASURE_SECONDS", 0.0)
    monkeypatch.setattr(pending, "_MEASURE_SHARE", 0)
    (tmp_path / "in").mkdir()
    env = environment(
        "streaming",
        **{
            "execution.live.engine": "query",
            "execution.live.max-files-per-batch": 1,
            "execution.live.catch-up-factor": 2,
        },
    )
    source = FileSource.parquet(tmp_path / "in").monitor_continuously()
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    sums = rows.map(lambda row: (row.n % 3, row.n)).key_by(lambda pair: pair[0])
    counted = sums.reduce(lambda a, b: (a[0], a[1] + b[1]))
    bursts = Bursts(tmp_path / "in")
    bursts.write(FIRST)
    total = FIRST + BURST + LAST
    late = threading.Timer(120, bursts.write, (LAST,))  # ends a test that has failed
    late.start()
    with also_listening(bursts), counted.execute_and_collect() as collected:
        results = iter(collected)
        found = [next(results)]
        bursts.write(BURST)
        found += islice(results, total - 1)
    late.cancel()
    assert bursts.taken == [2, 1]
    last = {key: max(value for other, value in found if other == key) for key in range(3)}
    assert last == {key: sum(range(key, total, 3)) for key in range(3)}
    assert len(found) == total
