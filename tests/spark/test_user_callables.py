"""Whatever a callable raises in a worker of Spark fails the job, in seconds, and says whose it was.

Finds what only Spark does: a worker that cannot encode its error hangs, and a task that ends in
silence gives the records it had. `tests/runtime/test_user_callables.py` has every callable.

A job costs seconds here, and Spark tries a task four times. So each attempt raises something else:
one job asks a route for all of it, and the routes take turns in what the job ends with.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, ClassVar

import pytest

from penstock.common import TypeInformation, Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import SinkFunction, StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource, Committer, HybridSource, SplitSource
from penstock.errors import PenstockError
from tests.spark.conftest import Environment
from tests.spark.epoch_sink import EpochSink

RECORDS = 20_000
BAD = 12_345
PATIENCE_SECONDS = 300
TASK_ATTEMPTS = 4


class Oddity(BaseException):
    """Of the user's own, and no `Exception`."""


RAISED = (StopIteration, SystemExit, KeyboardInterrupt, Oddity)
assert len(RAISED) == TASK_ATTEMPTS


@dataclass(frozen=True, slots=True)
class Failing:
    """Returns records as they are; at one place the bad one raises, every time something else.

    Attributes:
        place: Where it raises.
        last: What it raises the last time, a number of `RAISED`.
        calls: File with a line per time.
    """

    place: str
    last: int
    calls: Path

    def at(self, place: str) -> Callable[..., int]:
        def same(number: int, *_: Any) -> int:
            if number == BAD and place == self.place:
                self.fail()
            return number

        return same

    def fail(self) -> None:
        with self.calls.open("a") as file:
            file.write("called\n")
        called = len(self.calls.read_text().split())
        raise RAISED[(self.last + called) % TASK_ATTEMPTS]


@dataclass(frozen=True, slots=True)
class Numbers(SplitSource):
    """The numbers below `count` behind `first`."""

    kind: ClassVar[str] = "numbers"
    first: int
    count: int
    failing: Failing

    @property
    def is_bounded(self) -> bool:
        return True

    def get_produced_type(self) -> TypeInformation[int]:
        return Types.LONG()

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        return [(0, self.count)]

    def read(self, split: int, start: int, end: int) -> Sequence[int]:
        return [self.failing.at("read")(self.first + n) for n in range(start, end)]


class Invoking(SinkFunction):
    def __init__(self, failing: Failing) -> None:
        self._invoke = failing.at("sink")

    def invoke(self, value: int, context: Any) -> None:
        self._invoke(value)


def build(env: StreamExecutionEnvironment, failing: Failing, history: int) -> None:
    """Make a program with every route by which a function is called."""
    source: Any = Numbers(history, RECORDS - history, failing)
    if history:
        source = HybridSource.builder(Numbers(0, history, failing)).add_source(source).build()
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        failing.at("timestamp")
    )
    numbers = env.from_source(source, by_time, "numbers").map(failing.at("chained"))
    keyed = numbers.name("chained").key_by(failing.at("key")).map(failing.at("keyed")).name("keyed")
    keyed.add_sink(Invoking(failing)).name("written")


def half_a_character(number: int) -> int:
    if number == BAD:
        raise ValueError("bad \ud800")
    return number


def failure_of(env: StreamExecutionEnvironment) -> PenstockError:
    """Run a program that fails and return its failure; it must not hang."""
    caught: list[BaseException] = []

    def run() -> None:
        try:
            env.execute()
        except BaseException as error:  # noqa: BLE001 - looked at below
            caught.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive(), "the job hangs"
    (failure,) = caught
    assert isinstance(failure, PenstockError), repr(failure)
    return failure


PLACES = {
    "read": ("SOURCE", "numbers failed on positions ["),
    "timestamp": ("USER_FUNCTION", "operator 'timestamps' failed on record {bad} "),
    "chained": ("USER_FUNCTION", "operator 'chained' failed on record {bad} "),
    "key": ("USER_FUNCTION", "the key selector failed on record {bad} "),
    "keyed": ("USER_FUNCTION", "operator 'keyed' failed on record {bad} "),
    "sink": ("USER_FUNCTION", "sink 'written' failed on record {bad} "),
}
"""Each route by which a function is called, the code of its error, and what that begins with."""

JOBS = [
    *(("streaming", place, n % TASK_ATTEMPTS, 0) for n, place in enumerate(PLACES)),
    ("batch", "chained", 0, 0),
    ("batch", "keyed", 1, 0),
    ("mixed", "key", 2, BAD + 1),  # in the history
    ("mixed", "keyed", 3, BAD),  # behind the switch
]


@pytest.mark.parametrize(("mode", "place", "last", "history"), JOBS)
def test_whatever_is_raised_fails_every_attempt(
    environment: Environment, tmp_path: Path, mode: str, place: str, last: int, history: int
) -> None:
    env = environment(mode)
    failing = Failing(place, last, tmp_path / "calls")
    build(env, failing, history)
    failure = failure_of(env)
    code, begins = PLACES[place]
    assert failure.code == code, str(failure)
    assert failure.problem.startswith(begins.format(bad=BAD)), failure.problem
    assert RAISED[last].__name__ in failure.problem.partition("\n")[0]
    assert failure.origin is not None
    assert (failure.origin.filename, failure.origin.function) == (__file__, "fail")
    attempts = failing.calls.read_text().split()
    assert len(attempts) == TASK_ATTEMPTS, "an attempt swallowed what was raised"


class FailingSink(EpochSink):
    """Its committer fails in one of the calls that only a driver makes."""

    call: ClassVar[str] = ""
    raised: ClassVar[type[BaseException]] = ValueError

    def create_committer(self, context: Any) -> Committer:
        committer = super().create_committer(context)

        def fail() -> None:
            raise self.raised("no place")

        vars(committer)[self.call] = fail
        return committer


@pytest.mark.parametrize(
    ("call", "mode", "raised"),
    [
        ("publish", "batch", SystemExit),
        ("publish", "streaming", StopIteration),
        ("publish", "mixed", ValueError),
        ("check_background", "streaming", GeneratorExit),
        ("check_background", "mixed", KeyboardInterrupt),
    ],
)
def test_a_committer_that_raises_fails_the_job(
    environment: Environment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    mode: str,
    raised: type[BaseException],
) -> None:
    monkeypatch.setattr(FailingSink, "call", call)
    monkeypatch.setattr(FailingSink, "raised", raised)
    env = environment(mode)
    source: Any = Numbers(0, RECORDS, Failing("nowhere", 0, tmp_path / "calls"))
    if mode == "mixed":
        source = HybridSource.until_position(source, BAD)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.sink_to(FailingSink(tmp_path / "out")).name("written")
    failure = failure_of(env)
    assert failure.code == "SINK", str(failure)
    assert failure.problem.startswith(
        f"sink 'written' failed on {call}: {raised.__name__}: no place"
    )


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_half_a_character_in_what_is_raised_fails_the_job(
    environment: Environment, mode: str
) -> None:
    env = environment(mode)
    source = CollectionSource.of(range(RECORDS))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.map(half_a_character).sink_to(DiscardingSink())
    failure = failure_of(env)
    assert failure.code == "USER_FUNCTION", str(failure)
    assert f"record {BAD} " in failure.problem
    assert "ValueError: bad \\ud800" in failure.problem
    assert failure.origin is not None
    assert (failure.origin.filename, failure.origin.function) == (__file__, "half_a_character")


def test_half_a_character_is_not_printed_but_told(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = TextIOWrapper(BytesIO(), encoding="utf-8")  # pytest's own prints a question mark
    monkeypatch.setattr(sys, "stdout", strict)
    env = environment("streaming")
    env.from_collection(["good", "bad \ud800"], Types.STRING()).print().name("shown")
    failure = failure_of(env)
    assert failure.code == "SINK", str(failure)
    assert "sink 'shown' cannot print the record" in failure.problem
    assert "bad \\ud800" in failure.problem
    assert failure.origin is not None
    assert failure.origin.filename == __file__
