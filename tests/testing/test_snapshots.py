"""Snapshots of logs, in process: three modes give one answer, and what is no snapshot is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Types
from penstock.datastream.connectors import (
    CollectionSource,
    HybridSource,
    LogBatch,
    LogSnapshot,
    LogSource,
)
from penstock.errors import GraphError, SourceError
from penstock.graph.log_values import LogSplit
from penstock.testing import Schedule, check_log_source, run_in_process
from tests.log_world import CapturedLog
from tests.runtime.jobs import BATCH, MIXED, STREAMING, job

MODES = [BATCH, STREAMING, MIXED]
NAMES = ["batch", "streaming", "mixed"]


@pytest.fixture
def log(tmp_path: Path) -> CapturedLog:
    return CapturedLog(str(tmp_path), bounded=True)


def run(source: Any, mode: dict[str, str], schedule: Schedule | None = None) -> list[Any]:
    return run_in_process(job(mode, source, lambda stream: stream), schedule).of("out")


@pytest.mark.parametrize("mode", MODES, ids=NAMES)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_what_is_there_is_captured_and_read_once(
    log: CapturedLog, mode: dict[str, str], size: int
) -> None:
    lines = [("xyz"[n % 3], n, n) for n in range(1200)]
    log.add("a", *lines[:1100])
    log.add("b", *lines[1100:])
    assert Counter(run(log, mode, Schedule(batch_sizes=(size,)))) == Counter(lines)
    assert log.captures() == ["[]"]


class GrowsLog(CapturedLog):
    """Gets records as soon as its snapshot is taken, in a split that it has and in a new one."""

    kind = "grows"

    def snapshot(self, directory: Path) -> LogSnapshot:
        taken = super().snapshot(directory)
        self.add("a", ("x", 100, 100))
        self.add("c", ("z", 101, 101), ("z", 102, 102))
        return taken


@pytest.mark.parametrize("mode", MODES[1:], ids=NAMES[1:])
def test_what_comes_behind_the_snapshot_is_read_once(tmp_path: Path, mode: dict[str, str]) -> None:
    log = GrowsLog(str(tmp_path))
    log.add("a", *[("x", n, n) for n in range(20)])
    seen = run(log, mode, Schedule(batch_sizes=(3,)))
    times = [*range(20), 100, 101, 102]
    assert sorted(time for _, time, _ in seen) == times
    files = log.confirmed()
    assert files == {split.id: split.head for split in log.discover({})}


def test_a_bounded_source_ends_at_the_heads_behind_its_snapshot(tmp_path: Path) -> None:
    log = GrowsLog(str(tmp_path), bounded=True)
    log.add("a", ("x", 1, 1))
    assert sorted(run(log, BATCH)) == [
        ("x", 1, 1),
        ("x", 100, 100),
        ("z", 101, 101),
        ("z", 102, 102),
    ]


@given(
    records=st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 50)), max_size=60),
    size=st.integers(1, 70),
    splits=st.integers(1, 3),
)
@settings(max_examples=15)
def test_three_modes_give_one_answer(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[tuple[str, int]],
    size: int,
    splits: int,
) -> None:
    answers = []
    for mode in MODES:
        log = CapturedLog(str(tmp_path_factory.mktemp("log")), bounded=True)
        for number, (key, time) in enumerate(records):
            log.add(f"s{number % splits}", (key, time, number))
        counted = job(mode, log, lambda stream: stream.key_by(_key).reduce(_newer))
        found = run_in_process(counted, Schedule(batch_sizes=(size,))).of("out")
        answers.append({key: (key, time, n) for key, time, n in sorted(found, key=_number)})
    assert answers[0] == answers[1] == answers[2]


def _key(record: Any) -> str:
    return str(record[0])


def _newer(one: Any, other: Any) -> Any:
    return max(one, other, key=_number)


def _number(record: Any) -> int:
    return int(record[2])


def test_history_in_files_is_followed_by_a_snapshot_and_by_what_comes(tmp_path: Path) -> None:
    log = GrowsLog(str(tmp_path))
    log.add("a", ("x", 1, 1))
    first = CollectionSource((("w", 0, 0),), Types.PICKLED_BYTE_ARRAY())
    both = HybridSource.builder(first).add_source(log).build()
    seen = run(both, MIXED)
    assert [time for _, time, _ in sorted(seen, key=_number)] == [0, 1, 100, 101, 102]


class NoHistory(CapturedLog):
    kind = "no history"

    def snapshot(self, directory: Path) -> None:  # type: ignore[override]
        return None


def test_a_log_without_history_is_read_from_its_start(tmp_path: Path) -> None:
    log = NoHistory(str(tmp_path))
    log.add("a", ("x", 1, 1))
    assert run(log, MIXED) == [("x", 1, 1)]


def test_the_backlog_of_a_log_with_a_snapshot_ends_nowhere_else(log: CapturedLog) -> None:
    with pytest.raises(GraphError, match="is its snapshot, and cannot end elsewhere"):
        HybridSource.until_head(log)


def test_the_kit_checks_the_snapshot_and_the_tail(log: CapturedLog, tmp_path: Path) -> None:
    log.add("a", *[("x", n, n) for n in range(20)])
    check_log_source(log)
    assert len(log.captures()) == 1
    with pytest.raises(SourceError, match="gave other records for positions"):
        check_log_source(Forgets(str(tmp_path)))
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="has no records to check"):
        check_log_source(CapturedLog(str(tmp_path / "empty")))


class Forgets(CapturedLog):
    """Reads a file of its snapshot differently when it is cut."""

    kind = "forgets"

    def read_snapshot(self, file: Path, start: int, end: int) -> LogBatch:
        found = super().read_snapshot(file, start, end)
        return LogBatch(list(found.records)[: 1 if start else None], found.next_position)


def gives(value: Any) -> Callable[..., Any]:
    def snapshot(self: Any, directory: Path) -> Any:
        (directory / "there").touch()
        return value

    return snapshot


WRONG = [
    (7, "returned 7"),
    (LogSnapshot({"gone": 1}, {}), "named 'gone', which it has not written"),
    (LogSnapshot({"../x": 1}, {}), "Name files in the directory"),
    (LogSnapshot({"there": -1}, {}), "numbers of records"),
    (LogSnapshot({"there": True}, {}), "numbers of records"),
    (LogSnapshot({}, {"a": 1.5}), "numbers of records"),  # type: ignore[dict-item]
    (LogSnapshot({"there": 1}, {"lost": 0}), "is gone"),
    (LogSnapshot({"there": 1}, {"a": 99}), "has records up to position"),
]


@pytest.mark.parametrize(("found", "problem"), WRONG, ids=[str(n) for n in range(len(WRONG))])
def test_what_is_no_snapshot_is_refused(tmp_path: Path, found: Any, problem: str) -> None:
    made: Any = type("Changed", (CapturedLog,), {"snapshot": gives(found), "kind": "changed"})
    log: LogSource = made(str(tmp_path))
    CapturedLog(str(tmp_path)).add("a", ("x", 1, 1))
    with pytest.raises(SourceError, match="changed") as error:
        run(log, MIXED)
    assert problem in f"{error.value.problem} {error.value.hint}"


def test_a_snapshot_that_fails_is_our_error(tmp_path: Path) -> None:
    class Fails(CapturedLog):
        def snapshot(self, directory: Path) -> LogSnapshot:
            raise ConnectionError("nobody answers")

    with pytest.raises(SourceError, match=r"failed on snapshot.*nobody answers"):
        run(Fails(str(tmp_path)), MIXED)


class Together(LogSource):
    """Has transactions, whose records are all at one position."""

    kind = "together"
    is_single = False
    is_bounded = True

    def get_produced_type(self) -> Any:
        return Types.PICKLED_BYTE_ARRAY()

    def discover(self, known: Any) -> list[LogSplit]:
        return [LogSplit("all", 0, 10)]

    def read(self, split: str, start: int, end: int) -> LogBatch:
        ends = [at for at in (3, 4, 9) if start <= at < end]
        return LogBatch([(at, n) for at in ends for n in range(20)], end)


@pytest.mark.parametrize("mode", MODES, ids=NAMES)
def test_records_of_one_position_stay_together(mode: dict[str, str]) -> None:
    source = Together()
    check_log_source(source)
    env = job(mode, source, lambda stream: stream)
    seen = run_in_process(env, Schedule(batch_sizes=(2,))).of("out")
    assert sorted(seen) == [(at, n) for at in (3, 4, 9) for n in range(20)]
