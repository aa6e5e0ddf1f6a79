"""The checkpoint at the switch on Spark: behind it, history is never read again (FLIP-327, §2.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq

from penstock.common import TypeInformation, Types, WatermarkStrategy
from penstock.datastream.connectors import CollectionSource, FileSink, HybridSource
from penstock.graph.endpoints import SplitSource
from penstock.observe.events.job_events import JobEvent, Restarting, RunStarted
from penstock.observe.events.listeners import JobListener, also_listening
from tests.spark.conftest import Environment, Failures

PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])


@dataclass(frozen=True, slots=True)
class Noted(SplitSource):
    """Two splits of (position % 7, 1); every read leaves a file."""

    kind: ClassVar[str] = "noted"
    notes: Path

    @property
    def is_bounded(self) -> bool:
        return True

    def get_produced_type(self) -> TypeInformation[Any]:
        return PAIR

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        return [(0, 100), (0, 100)]

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        with (self.notes / f"{split}-{start}").open("a", encoding="utf-8") as file:
            file.write("read\n")
        return [(position % 7, 1) for position in range(start, end)]


class Seen(JobListener):
    def __init__(self) -> None:
        self.started: list[str] = []
        self.reasons: list[str] = []

    def on_event(self, event: JobEvent) -> None:
        if isinstance(event, RunStarted):
            self.started.append(event.name)
        elif isinstance(event, Restarting):
            self.reasons.append(event.reason)


# FLIP-327, rule 5.
def test_a_failure_in_backlog_reads_it_from_the_beginning(
    environment: Environment, tmp_path: Path, failures: Failures
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    env = environment("mixed", **failures.at("batch.ran:1:raise"))
    live = CollectionSource.of([(key, 1) for key in range(7)], PAIR)
    source = HybridSource.builder(Noted(notes)).add_source(live).build()
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    records.key_by(lambda r: r[0]).sum(1).sink_to(FileSink.parquet(tmp_path / "out"))
    seen = Seen()
    with also_listening(seen):
        env.execute("switch")
    failures.check_all_happened()
    assert seen.started == ["history", "history", "live"]
    # The first attempt read everything and was no checkpoint, so everything is read once more.
    assert {path.read_text() for path in notes.iterdir()} == {"read\nread\n"}
    counts = Counter(
        row["f1"]
        for path in (tmp_path / "out").glob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    )
    assert sum(counts.values()) == 207


def test_recovery_behind_the_switch_does_not_read_history_again(
    environment: Environment, tmp_path: Path, failures: Failures
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    # Before the query has run at all, before its first commit, and right behind it.
    places = ["live.started:1:raise", "live.staged:1:raise", "live.committed:1:raise"]
    env = environment("mixed", **failures.at(*places))
    live = CollectionSource.of([(key, 1) for key in range(7)], PAIR)
    source = HybridSource.builder(Noted(notes)).add_source(live).build()
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    counts = records.key_by(lambda r: r[0]).sum(1)
    counts.sink_to(FileSink.parquet(tmp_path / "out"))
    seen = Seen()
    with also_listening(seen):
        env.execute("switch")
    failures.check_all_happened()
    assert len(seen.reasons) == 3
    assert seen.started == ["history", *["live"] * 4]
    assert {path.name: path.read_text() for path in notes.iterdir()} == {
        "0-0": "read\n",
        "1-0": "read\n",
    }
    found = Counter(
        tuple(row.values())
        for path in (tmp_path / "out").glob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    )
    totals = Counter(position % 7 for position in [*range(100), *range(100), *range(7)])
    assert found == Counter(
        (key, number) for key, total in totals.items() for number in range(1, total + 1)
    )
