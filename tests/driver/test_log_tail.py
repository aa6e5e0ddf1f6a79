"""The driver's part in reading a log: budgets over holes, the pace of discovery, new splits, confirmations."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from penstock.datastream.connectors import LogSplit
from penstock.errors import JobCancelledError, SourceError
from penstock.observe.events.job_events import ConfirmFailed, JobEvent
from penstock.observe.events.listeners import JobEvents, JobListener, also_listening
from penstock.spark.driver.confirmations import Confirmations, ends_read
from penstock.spark.driver.run_context import until_cancelled
from penstock.spark.live.epochs.epoch_journal import EpochPositions, PlannedEpoch
from penstock.spark.live.epochs.epoch_pace import EpochPace
from penstock.spark.live.epochs.epoch_planner import EpochPlanner, answer_of
from penstock.spark.live.epochs.split_readings import LogTail
from penstock.spark.live.live_progress import PendingEstimates
from penstock.spark.sources.read_context import Pinned
from penstock.spark.sources.source_row import PartReading
from penstock.spark.sources.split_advance import Budgets, SplitReading
from penstock.spark.sources.split_reads import SplitRange, cut_ranges, position_of_log, resume_log
from tests.driver.test_epoch_planner import Clock, rows_of
from tests.log_world import World, WorldLog


def reading_of(log: WorldLog, clock: Clock, **how: Any) -> SplitReading:
    start = log.exact_start(2)
    tail = LogTail(log, start.ranges, clock)
    return SplitReading(
        7, start.ranges, log.records_per_second, names=start.names, tail=tail, **how
    )


def planner_of(log: WorldLog, clock: Clock, most: int = 10, **how: Any) -> EpochPlanner:
    return EpochPlanner(
        (reading_of(log, clock, **how),), False, Budgets(most), 2, now_seconds=clock
    )


def read(log: WorldLog, planned: PlannedEpoch) -> list[Any]:
    """Return the records of an epoch."""
    ranges = [row for row in rows_of(planned) if row["event"] == "range"]
    batches = [log.exact_batches(r["name"], r["first"], r["last"], 10) for r in ranges]
    return [record for each in batches for records, _ in each for record in records]


def epochs(
    log: WorldLog, planner: EpochPlanner, at: EpochPositions, clock: Clock
) -> Iterator[tuple[EpochPositions, list[Any]]]:
    """Yield positions and records of each epoch until nothing is planned."""
    while True:
        planned = planner.next(at)
        if planned is None:
            return
        found = read(log, planned)
        at = EpochPositions.from_json(planned.after.to_json())
        assert at == planned.after
        planner.note_read({7: len(found)})
        clock.now += 0.1
        yield at, found


@dataclass(frozen=True)
class LatestLog(WorldLog):
    """One that begins behind what there is at the first call."""

    def discover(self, known: Mapping[str, int]) -> list[LogSplit]:
        found = super().discover(known)
        return [split if known else replace(split, start=split.head) for split in found]


def test_a_log_without_splits_has_begun_all_the_same() -> None:
    log, clock = LatestLog.of({}), Clock()
    planner = planner_of(log, clock)
    at = EpochPositions.before(planner.readings)
    assert planner.next(at) is None
    log.world.splits["a"] = {n: ("k", n, n) for n in range(5)}
    clock.now += 60
    assert [record[1] for _, found in epochs(log, planner, at, clock) for record in found] == [
        *range(5)
    ]


@pytest.mark.parametrize("gap", [1, 7, 1000, 1 << 20])
def test_a_budget_of_records_becomes_positions_by_what_was_measured(gap: int) -> None:
    content = {n * gap: ("k", n, n) for n in range(400)}
    log, clock = WorldLog.of({"a": content}), Clock()
    planner = planner_of(log, clock)
    sizes = [
        len(found)
        for _, found in epochs(log, planner, EpochPositions.before(planner.readings), clock)
    ]
    assert sum(sizes) == 400
    assert max(sizes) <= (10 if gap == 1 else 64)
    settled = [size for size in sizes[-12:-1] if size]
    assert all(5 <= size <= 20 for size in settled)


def test_a_cost_says_at_once_how_much_there_is() -> None:
    class Counted(WorldLog):
        def cost(self, split: str, start: int, end: int) -> int:
            return sum(start <= at < end for at in self.world.splits[split])

    content = {n * n * 1000: ("k", n, n) for n in range(300)}
    log, clock = Counted(WorldLog.of({"a": content}).world_name), Clock()
    planner = planner_of(log, clock)
    at = EpochPositions.before(planner.readings)
    planned = planner.next(at)
    assert planned is not None
    assert planner.records_left(planned.after) == 300 - len(read(log, planned))
    sizes = [len(found) for _, found in epochs(log, planner, at, clock)]
    assert sum(sizes) == 300
    assert max(sizes) <= 20


def test_the_time_until_a_log_has_caught_up_follows_the_records_and_not_the_positions() -> None:
    content = {n * 1000: ("k", n, n) for n in range(2000)}
    log, clock = WorldLog.of({"a": content}), Clock()
    planner, estimates = planner_of(log, clock, most=20), PendingEstimates()
    measured, done = [], 0
    before = EpochPositions.before(planner.readings)
    for number, (at, found) in enumerate(epochs(log, planner, before, clock)):
        done += len(found)
        if number % 10 == 9:  # a second has passed: an epoch takes 0.1 s, and has about 20 records
            left = planner.records_left(at)
            measured.append((2000 - done, estimates.note(clock.now, left, None, None)))
    settled = [each for each in measured if 100 < each[0] < 1500]
    assert len(settled) >= 4
    for left, pending in settled:
        assert pending.records == pytest.approx(left, rel=0.2)
        assert pending.seconds == pytest.approx(left / 200, rel=0.5)
    assert estimates.note(clock.now, planner.records_left(at), None, None).seconds == 0.0


def test_a_rate_counts_records_and_not_positions() -> None:
    content = {n * 50: ("k", n, n) for n in range(2000)}
    log, clock = WorldLog.of({"a": content}, records_per_second=100), Clock()
    planner = planner_of(log, clock, most=1000)
    at, total = EpochPositions.before(planner.readings), 0
    for _ in range(100):
        clock.now += 0.1
        planned = planner.next(at)
        if planned is not None:
            found = read(log, planned)
            planner.note_read({7: len(found)})
            at, total = planned.after, total + len(found)
    assert 800 <= total <= 1100


def test_discovery_is_paced_by_its_cost_and_an_idle_log_plans_nothing() -> None:
    clock = Clock()

    class Slow(WorldLog):
        def discover(self, known: Mapping[str, int]) -> Any:
            clock.now += 0.2
            return super().discover(known)

    log = Slow(WorldLog.of({"a": {0: ("k", 0, 0)}}).world_name)
    planner = planner_of(log, clock)
    at = EpochPositions.before(planner.readings)
    planned = planner.next(at, is_first=True)
    assert planned is not None
    asked = len(log.world.known)
    for _ in range(100):
        clock.now += 0.05
        assert planner.next(planned.after) is None
        assert planner.seconds_to_next(planned.after) is None
    assert 2 <= len(log.world.known) - asked <= 3
    assert log.world.known[-1] == {"a": 1}


def test_an_idle_job_asks_a_cheap_log_some_times_a_second_only() -> None:
    clock = Clock()
    log = WorldLog.of({"a": {0: ("k", 0, 0)}})
    planner = planner_of(log, clock)
    begin = planner.begin()
    planner.open(begin)
    at, _ = list(epochs(log, planner, begin, clock))[-1]
    pace = EpochPace(0.0, clock, clock.sleep)
    pace.begin()
    before, until = len(log.world.known), clock.now + 10
    while clock.now < until:
        answer = answer_of(planner, at)
        assert answer.planned is None
        pace.idle(answer.seconds_to_next, None)
    asked = len(log.world.known) - before
    assert 100 <= asked <= 120, (
        "a look takes no time here, so only the pace of the loop limits them"
    )


def test_new_splits_are_behind_the_others_and_stay_there() -> None:
    log, clock = WorldLog.of({"m": {0: ("k", 0, 0)}}), Clock()
    planner = planner_of(log, clock)
    at = EpochPositions.before(planner.readings)
    assert at.names == {7: ("m",)}
    found = list(epochs(log, planner, at, clock))
    log.world.splits = {"a": {4: ("k", 4, 4)}, **log.world.splits, "z": {}}
    log.world.earliest["a"] = 3
    found += list(epochs(log, planner, found[-1][0], clock))
    last, records = found[-1]
    assert records == [("k", 4, 4)]
    assert last.names == {7: ("m", "a", "z")}
    assert planner.by_name(last) == {(7, 0): {"m": 1, "a": 5, "z": 0}}
    again = planner_of(log, clock)
    assert again.next(last) is None
    assert log.world.known[-1] == {"m": 1, "a": 5, "z": 0}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda world: world.splits.pop("a"), "is gone"),
        (lambda world: world.heads.update(a=3), "has records up to position 3"),
        (lambda world: world.earliest.update(a=6), "begins at position 6"),
    ],
)
def test_what_is_gone_is_told_also_after_a_restart(
    change: Callable[[World], None], problem: str
) -> None:
    log, clock = WorldLog.of({"a": {4: ("k", 0, 0), 9: ("k", 1, 1)}}), Clock()
    planner = planner_of(log, clock)
    at = EpochPositions({7: (5,)}, names={7: ("a",)})
    change(log.world)
    with pytest.raises(SourceError, match=problem):
        planner.next(at)


def test_a_bounded_log_ends_where_its_heads_were() -> None:
    log, clock = WorldLog.of({"a": {0: ("k", 0, 0)}, "b": {}}, bounded=True), Clock()
    planner = planner_of(log, clock, ends=True)
    log.world.splits["a"][5] = ("k", 5, 5)
    log.world.splits["c"] = {0: ("k", 0, 0)}
    planned = planner.next(EpochPositions.before(planner.readings), is_first=True)
    assert planned is not None
    assert read(log, planned) == [("k", 0, 0)]
    assert planner.is_complete(planned.after)
    assert planner.by_name(planned.after) == {(7, 0): {"a": 1, "b": 0}}


def test_a_log_without_splits_is_not_at_its_end() -> None:
    log, clock = WorldLog.of({}), Clock()
    planner = planner_of(log, clock, ends=True)
    planned = planner.next(EpochPositions.before(planner.readings), is_first=True)
    assert planned is not None
    assert not planner.is_complete(planned.after)


def test_records_of_epochs_without_names_are_read_as_before() -> None:
    recorded = {"at": {"1": [3, 4]}, "ended": [1], "handed_over": False}
    assert EpochPositions.from_json(recorded).to_json() == recorded


def test_a_savepoint_has_the_names_and_goes_on_from_them() -> None:
    pinned = Pinned(splits={(7, 0): [(0, None)]}, names={(7, 0): ("a",)})
    for at, given, splits, names in (
        (None, None, [[0, None]], ["a"]),
        ((5, 9), ("a", "b"), [[5, None], [9, None]], ["a", "b"]),
    ):
        reading = PartReading(7, 0, pinned, Path(), at, given)
        position, files = position_of_log(reading)
        assert (position, files) == ({"splits": splits, "names": names}, {})
    resumed = resume_log(position)
    assert resumed.splits == [(5, None), (9, None)]
    assert resumed.names == ("a", "b")
    written = {"files": {}, "splits": {"7.0": [[5, None]]}, "names": {"7.0": ["a"]}}
    assert Pinned.from_json(written).names == {(7, 0): ("a",)}


def range_of(first: int, last: int, cost: int | None = None, split: int = 0) -> SplitRange:
    price = None if cost is None else lambda start, end: cost * (end - start) // (last - first or 1)
    return SplitRange(1, split, first, last, name="s", cost=price)


def test_ranges_that_cost_much_are_cut_and_others_are_not() -> None:
    whole = [range_of(0, 10, None), range_of(5, 905, 900_000, 1), range_of(0, 7, 100, 2)]
    parts = cut_ranges(whole, 11)
    assert [(each.split, each.first, each.last) for each in parts] == [
        (0, 0, 10),
        *((1, 5 + n * 90, 95 + n * 90) for n in range(10)),
        (2, 0, 7),
    ]
    assert all(each.finished for each in parts)
    assert len(cut_ranges([range_of(0, 100, 5_000)], 8)) == 1
    assert len(cut_ranges([range_of(0, 3, 10**9)], 8)) == 3
    assert cut_ranges([range_of(4, 4, 0)], 8)[0].row() == ("range", 1, 0, 4, 4, True, "s")


class Told(JobListener):
    def __init__(self) -> None:
        self.problems: list[str] = []

    def on_event(self, event: JobEvent) -> None:
        if isinstance(event, ConfirmFailed):
            self.problems.append(f"{event.source}: {event.problem.splitlines()[0]}")


def no_check() -> None:
    pass


def confirmations(log: WorldLog, check: Callable[[], None] = no_check) -> Confirmations:
    return Confirmations(JobEvents("id", "job"), {(7, 0): ("orders", log)}, check)


def test_the_newest_positions_are_confirmed_before_the_run_ends() -> None:
    log = WorldLog.of({"a": {}})
    with confirmations(log) as confirmed:
        for at in range(50):
            confirmed.note({(7, 0): {"a": at}})
    assert log.world.confirmed[-1] == {"a": 49}
    assert log.world.confirmed == sorted(log.world.confirmed, key=lambda each: each["a"])


class Refusing(WorldLog):
    def confirm(self, positions: Mapping[str, int]) -> None:
        super().confirm(positions)
        if len(self.world.confirmed) <= self.world.heads["fails"]:
            raise ConnectionError("no answer")


@pytest.mark.parametrize(("failures", "calls"), [(1, 2), (2, 3), (99, 3)])
def test_what_cannot_be_confirmed_is_told_once_and_tried_again(failures: int, calls: int) -> None:
    log = Refusing(WorldLog.of({"a": {}}).world_name)
    log.world.heads["fails"] = failures
    told = Told()
    with also_listening(told), confirmations(log) as confirmed:
        confirmed.note({(7, 0): {"a": 3}})
    assert calls <= len(log.world.confirmed) <= calls + 1
    assert told.problems == ["orders: world failed on confirm: ConnectionError: no answer"]


def test_a_run_that_failed_confirms_nothing_more() -> None:
    log, went_on = WorldLog.of({"a": {}}), threading.Event()

    class Slow(WorldLog):
        def confirm(self, positions: Mapping[str, int]) -> None:
            went_on.wait(5)
            super().confirm(positions)

    slow = Slow(log.world_name)

    def fail() -> None:
        with confirmations(slow) as confirmed:
            confirmed.note({(7, 0): {"a": 1}})
            time.sleep(0.05)
            confirmed.note({(7, 0): {"a": 2}})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    went_on.set()
    time.sleep(0.1)
    assert log.world.confirmed in ([], [{"a": 1}])


def test_a_log_that_never_answers_does_not_keep_a_job_from_being_cancelled() -> None:
    stuck = threading.Event()

    def cancelled() -> None:
        raise JobCancelledError("the job was cancelled", hint="Start it again.")

    with pytest.raises(JobCancelledError):
        until_cancelled(stuck.wait, cancelled)
    assert until_cancelled(lambda: 7, cancelled) == 7

    class Stuck(WorldLog):
        def confirm(self, positions: Mapping[str, int]) -> None:
            stuck.wait()

    log = Stuck(WorldLog.of({"a": {}}).world_name)
    with pytest.raises(JobCancelledError), confirmations(log, cancelled) as confirmed:
        confirmed.note({(7, 0): {"a": 1}})
    stuck.set()


def test_the_end_of_a_run_waits_for_a_confirmation_as_long_as_the_log_says() -> None:
    stuck = threading.Event()

    class Late(WorldLog):
        confirm_timeout_seconds = 0.2

        def confirm(self, positions: Mapping[str, int]) -> None:
            stuck.wait(20)

    told, begun = Told(), time.monotonic()
    log = Late(WorldLog.of({"a": {}}).world_name)
    with also_listening(told), confirmations(log) as confirmed:
        confirmed.note({(7, 0): {"a": 1}})
    assert 0.2 <= time.monotonic() - begun < 5
    assert told.problems == [
        "orders: confirm() has not returned within 0.2 s: the run ends without it"
    ]
    stuck.set()


def test_the_planner_answers_all_that_asks_a_log_in_one_call() -> None:
    clock = Clock()
    log = WorldLog.of({"a": dict.fromkeys(range(12), (1, 1))})
    planner = planner_of(log, clock, most=10)
    at = EpochPositions.before(planner.readings)
    log.world.heads["a"] = 12
    answer = answer_of(planner, at, is_first=True)
    assert answer.planned is not None
    assert (answer.records_left, answer.seconds_to_next) == (2, None)
    assert answer.waiting == {7: {"a": 2}}
    last = answer_of(planner, answer.planned.after)
    assert last.planned is not None
    idle = answer_of(planner, last.planned.after)
    assert (idle.planned, idle.records_left) == (None, 0)
    assert idle.waiting == {}
    assert idle.seconds_to_next is None


def test_what_waits_in_splits_is_looked_up_once_a_second() -> None:
    clock = Clock()
    log = WorldLog.of({"a": dict.fromkeys(range(12), (1, 1)), "b": dict.fromkeys(range(3), (1, 1))})
    planner = planner_of(log, clock, most=10)
    at = EpochPositions.before(planner.readings)
    log.world.heads.update(a=12, b=3)
    planned = planner.next(at, is_first=True)
    assert planned is not None
    assert planner.records_waiting(at) == {7: {"a": 12, "b": 3}}
    assert planner.records_waiting(planned.after) == {7: {"a": 12, "b": 3}}
    clock.now += 1.5
    assert planner.records_waiting(planned.after) == {7: {"a": 7}}


def test_an_error_of_a_call_is_raised_where_it_is_waited_for() -> None:
    def fails() -> None:
        raise SourceError("no", hint="yes")

    with pytest.raises(SourceError, match="no"):
        until_cancelled(fails, no_check)


def test_a_batch_run_confirms_its_ends() -> None:
    pinned = Pinned(splits={(7, 0): [(0, 5), (2, 9)]}, names={(7, 0): ("a", "b")})
    assert ends_read(pinned) == {(7, 0): {"a": 5, "b": 9}}


@dataclass(frozen=True)
class LogOfBytes(WorldLog):
    counts_records: ClassVar[bool] = False


def test_bytes_are_not_called_records() -> None:
    """Nobody knows how many records pending bytes are before some were read."""
    content = {at * 1_000: ("k", at, at) for at in range(40)}
    log, clock = LogOfBytes.of({"a": content}), Clock()
    planner = planner_of(log, clock, most=10)
    at = EpochPositions.before(planner.readings)
    planned = planner.next(at, is_first=True)
    assert planned is not None
    assert planner.records_left(at) is None
    assert planner.records_waiting(at) == {}
    told = [planner.records_left(position) for position, _ in epochs(log, planner, at, clock)]
    counted = [records for records in told if records is not None]
    assert len(counted) > 2
    assert max(counted) <= 40
    assert told[-1] == 0
