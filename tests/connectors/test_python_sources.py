"""Sources written in Python: timestamps of their own, iterators, and push sources."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from penstock.api.functions import endpoint_functions
from penstock.common import TypeInformation, Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream.connectors import DataGeneratorSource, IteratorSource, SplitSource
from penstock.datastream.functions import KeyedProcessFunction, ProcessFunction, SourceFunction
from penstock.errors import ArgumentError, PenstockError, SourceError
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import BATCH, MIN, MODE_IDS, MODES, STREAMING, environment

NO_TIME = WatermarkStrategy.no_watermarks()


@dataclass(frozen=True, slots=True)
class Readings(SplitSource):
    """Two splits of (split, n), n seconds after the epoch."""

    kind: ClassVar[str] = "readings"
    count: int | None = 4
    stamp: Any = 1000

    @property
    def is_bounded(self) -> bool:
        return self.count is not None

    def get_produced_type(self) -> TypeInformation:
        return Types.PICKLED_BYTE_ARRAY()

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        return [(0, self.count), (0, self.count)]

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        return self.read_timestamped(split, start, end)[0]

    def read_timestamped(
        self, split: int, start: int, end: int
    ) -> tuple[Sequence[Any], Sequence[int] | None]:
        numbers = range(start, end)
        return [(split, n) for n in numbers], [n * self.stamp for n in numbers]


class Stamps(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any]:
        yield value, ctx.timestamp()


def stamps(settings: dict[str, str], strategy: WatermarkStrategy, **schedule: Any) -> list[Any]:
    env = environment(settings)
    stream = env.from_source(Readings(), strategy, "readings")
    stream.process(Stamps()).sink_to(DiscardingSink())
    return sorted(run_in_process(env, Schedule(**schedule)).of())


EXPECTED = [((split, n), n * 1000) for split in (0, 1) for n in range(4)]


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_a_source_may_give_its_records_timestamps(settings: dict[str, str]) -> None:
    assert stamps(settings, NO_TIME, batch_sizes=(1, 3)) == EXPECTED


def test_an_assigner_gets_them_as_previous_timestamps_and_may_replace_them() -> None:
    later = NO_TIME.with_timestamp_assigner(lambda _, previous: previous + 7)
    assert stamps(STREAMING, later) == [(value, stamp + 7) for value, stamp in EXPECTED]


def test_watermarks_follow_them_per_split() -> None:
    class Fires(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            yield value[1], ctx.timer_service().current_watermark()

    env = environment(STREAMING)
    stream = env.from_source(Readings(), WatermarkStrategy.for_monotonous_timestamps(), "readings")
    stream.key_by(lambda r: r[0]).process(Fires()).sink_to(DiscardingSink())
    found = run_in_process(env, Schedule(batch_sizes=(1,))).of()
    assert set(found) == {(0, MIN), (1, -1), (2, 999), (3, 1999)}


@pytest.mark.parametrize("stamp", [0.5, None])
def test_timestamps_that_are_none_are_refused(stamp: Any) -> None:
    with pytest.raises((SourceError, TypeError)):
        Readings(stamp=stamp).read_exactly(0, 0, 2)


def test_too_few_timestamps_are_refused() -> None:
    class Short(Readings):
        def read_timestamped(self, split: int, start: int, end: int) -> Any:
            return [1] * (end - start), [1]

    with pytest.raises(SourceError, match="1 timestamps for 3 records"):
        Short().read_exactly(0, 0, 3)


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_an_iterator_source_reads_each_position_once(settings: dict[str, str]) -> None:
    source = IteratorSource(
        lambda split, start: ((split, n) for n in itertools.count(start)), (3, 5)
    )
    env = environment(settings)
    env.from_source(source, NO_TIME, "records").sink_to(DiscardingSink())
    found = run_in_process(env, Schedule(batch_sizes=(2,), frame_records=2)).of()
    assert sorted(found) == [(0, n) for n in range(3)] + [(1, n) for n in range(5)]


def squares() -> Iterator[int]:
    for n in itertools.count():
        if n == 6:
            return
        yield n * n


def test_a_generator_function_is_a_source() -> None:
    source = IteratorSource.of_generator(squares, type_info=Types.LONG())
    assert source.is_bounded
    env = environment(STREAMING)
    env.from_source(source, NO_TIME, "squares").sink_to(DiscardingSink())
    assert run_in_process(env, Schedule(batch_sizes=(4,))).of() == [0, 1, 4, 9, 16, 25]


def test_an_endless_generator_is_read_as_far_as_asked() -> None:
    source = IteratorSource.of_generator(itertools.count, bounded=False, records_per_second=5)
    assert (source.is_bounded, source.records_per_second) == (False, 5)
    assert source.read_exactly(0, 10, 13) == ([10, 11, 12], None)


def test_a_generator_is_not_run_from_its_start_for_every_read() -> None:
    made = 0

    def counting() -> Iterator[int]:
        nonlocal made
        for n in range(1000):
            made += 1
            yield n

    source = IteratorSource.of_generator(counting)
    made = 0
    for start in range(0, 1000, 10):
        assert source.read(0, start, start + 10) == list(range(start, start + 10))
    assert made == 1000
    assert source.read(0, 5, 7) == [5, 6], "a task that is repeated"
    squared = IteratorSource.of_generator(squares)
    squared.read(0, 0, 3)
    assert pickle.loads(pickle.dumps(squared)).read(0, 2, 4) == [4, 9], "the iterator stays here"


@pytest.mark.parametrize("objects", [1, 2, 3])
@pytest.mark.parametrize("chunk", [1, 2, 3, 12])
def test_a_generator_may_give_its_objects_again(objects: int, chunk: int) -> None:
    def again() -> Iterator[list[int]]:
        buffers: list[list[int]] = [[] for _ in range(objects)]
        for n in range(12):
            buffers[n % objects][:] = [n]
            yield buffers[n % objects]

    source = IteratorSource.of_generator(again)
    reads = [source.read(0, start, start + chunk) for start in range(0, 12, chunk)]
    assert [value for read in reads for value in read] == [[n] for n in range(12)]


@pytest.mark.parametrize("objects", [1, 2, 3])
@pytest.mark.parametrize("chunk", [1, 2, 3, 12])
def test_the_function_of_a_generator_may_give_its_objects_again(objects: int, chunk: int) -> None:
    buffers: list[list[int]] = [[] for _ in range(objects)]

    def again(index: int) -> list[int]:
        buffers[index % objects][:] = [index]
        return buffers[index % objects]

    source = DataGeneratorSource(again, 12)
    # A batch is copied before the next one is read.
    reads = [list(map(list, source.read(0, start, start + chunk))) for start in range(0, 12, chunk)]
    assert [value for read in reads for value in read] == [[n] for n in range(12)]


def test_an_iterator_that_ends_early_is_noticed() -> None:
    with pytest.raises(SourceError, match="6 records for the 9 positions"):
        IteratorSource.of_generator(squares, bounded=False).read_exactly(0, 0, 9)


def test_an_iterator_that_fails_names_the_position() -> None:
    def fails() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    with pytest.raises(SourceError, match=r"position 1.*no more"):
        IteratorSource.of_generator(fails)
    with pytest.raises(SourceError, match=r"position 1 .*no more"):
        IteratorSource.of_generator(fails, bounded=False).read(0, 0, 2)


@pytest.mark.parametrize(
    "arguments",
    [(3,), (squares, ()), (squares, (-1,)), (squares, (1,), 0), (squares, (True,))],
)
def test_wrong_arguments_of_an_iterator_source(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ArgumentError):
        IteratorSource(*arguments)


class Three(SourceFunction):
    def __init__(self) -> None:
        self.cancelled = False

    def run(self, ctx: Any) -> None:
        for n in range(3):
            ctx.collect_with_timestamp(n, n * 10)

    def cancel(self) -> None:
        self.cancelled = True


class Endless(Three):
    def run(self, ctx: Any) -> None:
        while not self.cancelled:
            ctx.collect(1)


class Mixed(Three):
    def run(self, ctx: Any) -> None:
        ctx.collect(1)
        ctx.collect_with_timestamp(2, 2)


class Broken(Three):
    def run(self, ctx: Any) -> None:
        ctx.collect(1)
        raise ValueError("no more")


@pytest.mark.parametrize("settings", [BATCH, STREAMING], ids=["batch", "streaming"])
def test_a_push_source_is_run_to_its_end(settings: dict[str, str]) -> None:
    env = environment(settings)
    env.add_source(Three(), "three", Types.LONG()).process(Stamps()).sink_to(DiscardingSink())
    assert run_in_process(env).of() == [(0, 0), (1, 10), (2, 20)]


def test_one_that_does_not_end_is_cancelled_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_functions, "MAX_RECORDS", 100)
    endless = Endless()
    with pytest.raises(SourceError, match="SplitSource"):
        environment(STREAMING).add_source(endless)
    assert endless.cancelled


@pytest.mark.parametrize(
    ("function", "code"),
    [(Mixed(), "SOURCE"), (Broken(), "SOURCE"), (Three, "GRAPH_ARGUMENT"), (3, "GRAPH_ARGUMENT")],
)
def test_push_sources_that_are_refused(function: Any, code: str) -> None:
    with pytest.raises(PenstockError) as caught:
        environment(STREAMING).add_source(function)
    assert caught.value.code == code
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__
