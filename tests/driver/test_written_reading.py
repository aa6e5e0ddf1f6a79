"""Files that are written beside the epochs: nothing waits for them, and each is read once when all are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from penstock.spark.live.epochs.epoch_journal import EpochPositions, PlannedEpoch
from penstock.spark.live.epochs.epoch_planner import EpochPlanner
from penstock.spark.sources.frame_reads import StreamedReading, WrittenReading
from penstock.spark.sources.listing.file_readings import FileCaps
from penstock.spark.sources.split_advance import Budgets, SplitReading
from tests.driver.test_epoch_parts import parts_of
from tests.driver.test_epoch_planner import events_of, planner_of, rows_of

ENDLESS = SplitReading(1, ((0, None),))


class Writer:
    """A writer that a test lets finish or fail."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.is_done = False
        self.failure: Exception | None = None

    def start(self) -> None:
        self.calls.append("start")

    def check(self) -> bool:
        if self.failure is not None:
            raise self.failure
        return self.is_done

    def stop(self) -> None:
        self.calls.append("stop")


def files_of(count: int) -> Mapping[str, tuple[int, int]]:
    return {f"file:///frame/{n}": (10, n) for n in range(count)}


def planner_beside(
    writer: Writer, count: int, *others: SplitReading, is_history: bool = True
) -> EpochPlanner:
    """Return the planner of a source in written files, with a part by positions behind it if it is history."""
    reading = WrittenReading(
        0, FileCaps(2), writer, lambda: files_of(count), ends=True, is_history=is_history
    )
    later = parts_of(0, [], [3])[1:] if is_history else []
    planner = planner_of(*later, *others, files=(reading,))
    planner.budgets = Budgets(100)
    return planner


def step(planner: EpochPlanner, at: EpochPositions) -> tuple[EpochPositions, PlannedEpoch | None]:
    planned = planner.next(at)
    if planned is None:
        return at, None
    planner.note_recorded(planned.after)
    return planned.after, planned


def live_records(planned: PlannedEpoch) -> int:
    rows = (row for row in rows_of(planned) if row["event"] == "range" and row["source"] == 1)
    return sum(row["last"] - row["first"] for row in rows)


def test_live_input_has_all_of_an_epoch_as_long_as_nothing_is_written() -> None:
    writer = Writer()
    planner = planner_beside(writer, 5, ENDLESS)
    at = planner.begin()
    planner.open(at)
    assert writer.calls == ["start"]
    for _ in range(3):
        at, planned = step(planner, at)
        assert planned is not None
        assert not planned.files
        assert live_records(planned) == 100
        assert planner.is_in_backlog(at)
    writer.is_done = True
    at, planned = step(planner, at)
    assert planned is not None
    assert planned.files == {(0, 0): (0, 1)}, "what the files have is not known yet"
    assert live_records(planned) == 100, "half of the records of both"


def test_every_file_is_read_once_and_then_the_next_part() -> None:
    writer = Writer()
    planner = planner_beside(writer, 5)
    at = planner.begin()
    planner.open(at)
    assert step(planner, at) == (at, None), "there is nothing to do"
    assert planner.seconds_to_next(at) is None
    writer.is_done = True
    spans: list[tuple[int, int]] = []
    told: list[tuple[str, int]] = []
    while not planner.is_complete(at):
        at, planned = step(planner, at)
        assert planned is not None
        spans += planned.files.values()
        told += events_of(planned)
    assert spans == [(0, 2), (2, 4), (4, 5)]
    assert told == [("next", 0), ("end", 0)]


@pytest.mark.parametrize("is_history", [True, False])
def test_no_files_are_an_end_when_they_are_written(is_history: bool) -> None:
    writer = Writer()
    planner = planner_beside(writer, 0, is_history=is_history)
    at = planner.begin()
    planner.open(at)
    assert step(planner, at)[1] is None
    writer.is_done = True
    at, planned = step(planner, at)
    assert planned is not None
    assert events_of(planned) == [("next" if is_history else "end", 0)]


def test_a_driver_that_goes_on_reads_what_is_left() -> None:
    writer = Writer()
    writer.is_done = True
    planner = planner_beside(writer, 5)
    at = replace(planner.begin(), of_splits={0: (4,)})
    planner.open(at)
    _, planned = step(planner, at)
    assert planned is not None
    assert planned.files == {(0, 0): (4, 5)}


def test_what_goes_wrong_is_raised_by_the_next_look() -> None:
    writer = Writer()
    planner = planner_beside(writer, 5, ENDLESS)
    at = planner.begin()
    planner.open(at)
    step(planner, at)
    writer.failure = ValueError("no row")
    with pytest.raises(ValueError, match="no row"):
        planner.next(at)


def test_writing_ends_with_the_run() -> None:
    writer = Writer()
    planner = planner_beside(writer, 5, ENDLESS)
    planner.open(planner.begin())
    planner.close()
    assert writer.calls == ["start", "stop"]


class Stream:
    """A stream whose micro-batches a test writes."""

    def __init__(self) -> None:
        self.calls: list[object] = []
        self.batches: dict[int, Mapping[str, tuple[int, int]]] = {}
        self.failure: Exception | None = None

    def start(self, at: int) -> None:
        self.calls.append(("start", at))

    def check(self) -> None:
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        self.calls.append("stop")

    def forget_before(self, position: int) -> None:
        self.calls.append(("forget", position))

    def write(self, number: int, files: int = 1) -> None:
        self.batches[number] = {f"file:///{number}/{file}": (10, 1) for file in range(files)}


def streamed(stream: Stream, *others: SplitReading) -> EpochPlanner:
    reading = StreamedReading(0, FileCaps(1), stream, stream.batches.get)
    return planner_of(*others, files=(reading,))


def test_micro_batches_of_a_stream_are_read_in_order_of_their_numbers_and_dropped() -> None:
    stream = Stream()
    planner = streamed(stream)
    at = planner.begin()
    planner.open(at)
    assert step(planner, at) == (at, None)
    stream.write(1)
    assert step(planner, at) == (at, None), "micro-batch 0 is not there"
    stream.write(0, files=3)
    (reading,) = planner.files
    at, planned = step(planner, at)
    assert planned is not None
    assert planned.files == {(0, 0): (0, 2)}
    assert at.of_splits[0] == (2,)
    assert stream.calls == [("start", 0), ("forget", 2)]
    stream.write(2, files=2)
    reading.advance(2)
    assert [file.uri for file in reading.files(2, 3)] == ["file:///2/0", "file:///2/1"]
    assert reading.files_left(2) == 1
    assert not planner.is_complete(at)
    planner.close()
    assert stream.calls[-1] == "stop"


def test_a_stream_goes_on_behind_what_was_read_and_fails_behind_what_it_has_written() -> None:
    stream = Stream()
    stream.failure = ValueError("gone")
    planner = streamed(stream)
    at = replace(planner.begin(), of_splits={0: (7,)})
    planner.open(at)
    assert stream.calls == [("start", 7)]
    stream.write(7)
    at, planned = step(planner, at)
    assert planned is not None
    assert planned.files == {(0, 0): (7, 8)}
    with pytest.raises(ValueError, match="gone"):
        planner.next(at)


def test_pending_files_are_those_of_sources_that_count_them() -> None:
    stream = Stream()
    planner = streamed(stream)
    at = planner.begin()
    planner.open(at)
    stream.write(0)
    stream.write(1)
    planner.next(at)
    assert planner.files_left(at) is None
    assert planner.seconds_to_next(at) == 0.0
