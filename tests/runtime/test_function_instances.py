"""One function object per operator and subtask, opened once and closed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import (
    CoMapFunction,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    OneInputStreamOperator,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors import DiscardingSink, NumberSequenceSource
from penstock.errors import UserFunctionError
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import BATCH, MODE_IDS, MODES, STREAMING, environment

CALLS: Counter[tuple[str, int]] = Counter()
"""(what happened, identity of the object) to how often; the jobs run in this process."""
KEPT: list[object] = []
"""Keeps objects alive, so that identities stay different."""


class Told:
    """Tells when it is opened and closed, and refuses records when it is not open."""

    is_open = False
    calls = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        KEPT.append(self)
        CALLS["open", id(self)] += 1
        self.is_open = True

    def close(self) -> None:
        CALLS["close", id(self)] += 1
        self.is_open = False

    def told(self, value: Any) -> tuple[Any, int]:
        assert self.is_open
        self.calls += 1
        return value, self.calls


class Mapped(Told, MapFunction):
    def map(self, value: Any) -> Any:
        return self.told(value)


class Processed(Told, ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield self.told(value)


class Keyed(Told, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield self.told(value)


class Both(Told, CoMapFunction):
    def map1(self, value: Any) -> Any:
        return self.told(value)

    map2 = map1


@pytest.fixture(autouse=True)
def _forget() -> None:
    CALLS.clear()
    KEPT.clear()


def numbers(env: StreamExecutionEnvironment, first: int = 1, last: int = 20) -> DataStream[int]:
    source = NumberSequenceSource(first, last)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


def run(stream: DataStream[Any], schedule: Schedule | None = None) -> list[Any]:
    stream.sink_to(DiscardingSink()).name("out")
    return run_in_process(stream.get_execution_environment(), schedule).of("out")


def opened() -> int:
    """Return the number of objects, each opened and closed exactly once."""
    assert set(CALLS.values()) <= {1}
    identities = {what: {i for w, i in CALLS if w == what} for what in ("open", "close")}
    assert identities["open"] == identities["close"]
    return len(identities["open"])


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("sizes", [(100,), (3,)])
def test_every_object_is_opened_once_and_closed_once(
    settings: dict[str, str], sizes: tuple[int, ...]
) -> None:
    env = environment(settings)
    stream = numbers(env).map(Mapped()).process(Processed()).key_by(lambda _: 0).process(Keyed())
    assert len(run(stream, Schedule(batch_sizes=sizes))) == 20
    assert opened() >= 3


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_a_union_before_the_first_exchange_shares_the_object(settings: dict[str, str]) -> None:
    env = environment(settings, 1)
    united = numbers(env).map(Mapped()).union(numbers(env, 21, 30).map(str)).map(Mapped())
    united = united.process(Processed())
    results = run(united)
    assert sorted(calls for _, calls in results) == list(range(1, 31))
    assert opened() % 3 == 0


def test_a_closing_function_of_a_union_fails_as_any_other() -> None:
    class Fails(Mapped):
        def close(self) -> None:
            super().close()
            raise RuntimeError("cannot close")

    env = environment(BATCH, 1)
    with pytest.raises(UserFunctionError, match="cannot close"):
        run(numbers(env).union(numbers(env)).map(Fails()))
    assert opened() == 1


class Failing(Told, MapFunction):
    """Fails at a place."""

    def __init__(self, place: str) -> None:
        self.place = place

    def open(self, runtime_context: RuntimeContext) -> None:
        if self.place == "open":
            raise RuntimeError("cannot open")
        super().open(runtime_context)

    def map(self, value: Any) -> Any:
        if self.place == "map":
            raise RuntimeError("cannot map")
        return self.told(value)

    def close(self) -> None:
        super().close()
        if self.place == "close":
            raise RuntimeError("cannot close")


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("place", ["open", "map", "close"])
@pytest.mark.parametrize("is_keyed", [False, True])
def test_what_was_opened_is_closed_wherever_a_function_fails(
    settings: dict[str, str], place: str, *, is_keyed: bool
) -> None:
    """Before it and behind it, also at another level."""
    env = environment(settings, 1)
    stream: DataStream[Any] = numbers(env).map(Mapped())
    if is_keyed:
        stream = stream.key_by(lambda _: 0).process(Keyed())
    stream = stream.map(Failing(place)).process(Processed())
    with pytest.raises(UserFunctionError, match=f"cannot {place}"):
        run(stream)
    assert opened() >= 1


def test_the_failure_of_a_record_is_told_and_that_of_closing_is_a_note() -> None:
    class FailsTwice(Failing):
        def close(self) -> None:
            super().close()
            raise RuntimeError("cannot close")

    with pytest.raises(UserFunctionError, match="cannot map") as told:
        run(numbers(environment(STREAMING, 1)).map(FailsTwice("map")))
    assert any("cannot close" in note for note in told.value.__notes__)


class Buffering(OneInputStreamOperator):
    """Has an object per key group of a batch run, and fails at a record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        CALLS["open", id(self)] += 1
        KEPT.append(self)

    def process_element(self, value: Any, ctx: Any) -> None:
        raise RuntimeError("cannot process")

    def close(self) -> None:
        CALLS["close", id(self)] += 1


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_an_operator_of_the_user_is_closed_when_it_fails(settings: dict[str, str]) -> None:
    stream = numbers(environment(settings, 1)).key_by(lambda n: n)
    with pytest.raises(UserFunctionError, match="cannot process"):
        run(stream.transform("fails", Types.LONG(), Buffering()))
    assert opened() == 1


def test_subtasks_have_objects_of_their_own() -> None:
    env = environment(STREAMING, 3)
    results = run(numbers(env).key_by(lambda n: n).process(Keyed()))
    assert len(results) == 20
    assert opened() == 3


def test_attributes_survive_micro_batches_behind_an_exchange() -> None:
    env = environment(STREAMING, 1)
    results = run(numbers(env).key_by(lambda n: n).process(Keyed()), Schedule(batch_sizes=(4,)))
    assert sorted(calls for _, calls in results) == list(range(1, 21))


def test_attributes_survive_micro_batches_beside_the_source() -> None:
    env = environment(STREAMING, 1)
    results = run(numbers(env).map(Mapped()), Schedule(batch_sizes=(4,)))
    assert sorted(calls for _, calls in results) == list(range(1, 21))
    assert opened() == 1


def test_attributes_are_lost_with_the_worker() -> None:
    env = environment(STREAMING, 1)
    schedule = Schedule(batch_sizes=(4,), restart_every=2)
    results = run(numbers(env).map(Mapped()), schedule)
    assert sorted(calls for _, calls in results) == sorted(
        [*range(1, 9), *range(1, 9), *range(1, 5)]
    )


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_two_inputs_have_one_object(settings: dict[str, str]) -> None:
    env = environment(settings, 1)
    results = run(numbers(env).connect(numbers(env, 21, 30)).map(Both()))
    assert sorted(calls for _, calls in results) == list(range(1, 31))
    assert opened() == 1
