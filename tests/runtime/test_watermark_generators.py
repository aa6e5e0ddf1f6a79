"""Watermark generators of the user: per record, periodic, idle, and where they fail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from penstock.common import Watermark, WatermarkGenerator, WatermarkOutput
from penstock.datastream import DataStream, WatermarkStrategy
from penstock.datastream.functions import KeyedProcessFunction, ProcessFunction
from penstock.errors import PenstockError
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import (
    BATCH,
    MAX,
    MIN,
    MODE_IDS,
    MODES,
    STREAMING,
    Splits,
    history_then_live,
    job,
)


class PerRecord(WatermarkGenerator):
    """The timestamp of every record is a watermark."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class Periodic(WatermarkGenerator):
    """The greatest timestamp, at the end of each piece."""

    def __init__(self) -> None:
        self.greatest = MIN

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self.greatest = max(self.greatest, event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(self.greatest))


class SeesWatermark(KeyedProcessFunction):
    """Pairs each record with the watermark it was processed under."""

    def process_element(
        self, value: Any, ctx: KeyedProcessFunction.Context
    ) -> Iterable[tuple[int, int]]:
        yield value[1], ctx.timer_service().current_watermark()


def by(supplier: Any) -> WatermarkStrategy:
    return WatermarkStrategy.for_generator(supplier).with_timestamp_assigner(lambda r, _: r[1])


def seen(strategy: WatermarkStrategy, *splits: list[Any], **schedule: Any) -> list[Any]:
    def then(stream: DataStream) -> DataStream:
        return stream.key_by(lambda r: r[0]).process(SeesWatermark())

    source = Splits(tuple(map(tuple, splits)))
    env = job(STREAMING, source, then, strategy=strategy, parallelism=2)
    return run_in_process(env, Schedule(**schedule)).of("out")


ONE_KEY = [("a", 5), ("a", 3), ("a", 9), ("a", 7)]


def test_a_watermark_takes_effect_between_two_records_of_a_micro_batch() -> None:
    assert seen(by(PerRecord), ONE_KEY) == [(5, MIN), (3, 5), (9, 5), (7, 9)]


def test_without_watermarks_between_records_all_see_the_one_before_the_micro_batch() -> None:
    assert seen(by(Periodic), ONE_KEY, batch_sizes=(2,)) == [(5, MIN), (3, MIN), (9, 5), (7, 5)]


@pytest.mark.parametrize("sizes", [(1,), (3,), (100,)])
def test_it_takes_effect_at_the_same_record_however_micro_batches_are_cut(
    sizes: tuple[int, ...],
) -> None:
    found = seen(by(PerRecord), ONE_KEY, batch_sizes=sizes, restart_every=2, workers=2)
    assert found == [(5, MIN), (3, 5), (9, 5), (7, 9)]


def test_a_split_that_has_not_spoken_holds_back_what_another_says_between_records() -> None:
    found = seen(by(PerRecord), ONE_KEY, [("a", 100), ("a", 101)])
    assert dict(found)[9] == MIN
    # The second task's records follow those of the first.
    assert dict(found)[101] == 9


def test_it_crosses_a_second_exchange_between_the_records() -> None:
    def then(stream: DataStream) -> DataStream:
        once = stream.key_by(lambda r: r[0]).process(Same())
        return once.key_by(lambda r: r[1] % 2).process(SeesWatermark())

    env = job(STREAMING, Splits((tuple(ONE_KEY),)), then, strategy=by(PerRecord), parallelism=1)
    assert run_in_process(env).of("out") == [(5, MIN), (3, 5), (9, 5), (7, 9)]


def test_two_splits_that_one_task_reads_have_watermarks_of_their_own() -> None:
    def then(stream: DataStream) -> DataStream:
        return stream.map(lambda r: r).key_by(lambda r: r[0]).process(SeesWatermark())

    source = Splits(((("a", 100), ("a", 110), ("a", 120)), (("a", 50), ("a", 60), ("a", 70))))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda r, _: r[1]
    )
    env = job(STREAMING, source, then, strategy=strategy, parallelism=1)
    found = dict(run_in_process(env, Schedule(batch_sizes=(1,))).of("out"))
    assert found == {100: MIN, 50: MIN, 110: 49, 60: 49, 120: 59, 70: 59}


class Same(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        yield value


class FiresAtOwnTime(KeyedProcessFunction):
    """Emits how many records lay at or before each record's time, by timer."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterable[tuple[str, int]]:
        yield ctx.get_current_key(), timestamp


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("supplier", [PerRecord, Periodic])
def test_timers_fire_alike_in_all_modes(settings: dict[str, str], supplier: Any) -> None:
    env = job(
        settings,
        history_then_live([("a", 5), ("b", 3)], [("a", 9), ("b", 7)]),
        lambda s: s.key_by(lambda r: r[0]).process(FiresAtOwnTime()),
        strategy=by(supplier),
    )
    assert sorted(run_in_process(env).of("out")) == [("a", 5), ("a", 9), ("b", 3), ("b", 7)]


def test_functions_chained_to_the_source_see_watermarks_between_records() -> None:
    class Sees(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any]:
            yield value[1], ctx.timer_service().current_watermark()

    env = job(
        STREAMING, Splits((tuple(ONE_KEY),)), lambda s: s.process(Sees()), strategy=by(PerRecord)
    )
    assert run_in_process(env).of("out") == [(5, MIN), (3, 5), (9, 5), (7, 9)]


def test_behind_an_exchange_one_generator_serves_a_subtask_over_all_micro_batches() -> None:
    class EveryOther(WatermarkGenerator):
        def __init__(self) -> None:
            self.records = 0

        def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
            self.records += 1
            if self.records % 2 == 0:
                output.emit_watermark(Watermark(event_timestamp))

        def on_periodic_emit(self, output: WatermarkOutput) -> None:
            pass

    def then(stream: DataStream) -> DataStream:
        marked = stream.rebalance().assign_timestamps_and_watermarks(by(EveryOther))
        return marked.key_by(lambda r: r[0]).process(SeesWatermark())

    source = Splits(((("a", 1), ("a", 2), ("a", 3), ("a", 4)),))
    env = job(STREAMING, source, then, strategy=WatermarkStrategy.no_watermarks(), parallelism=1)
    found = run_in_process(env, Schedule(batch_sizes=(1,))).of("out")
    assert found == [(1, MIN), (2, MIN), (3, 2), (4, 2)]


def test_a_watermark_never_goes_back() -> None:
    class Back(PerRecord):
        def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
            output.emit_watermark(Watermark(10))
            output.emit_watermark(Watermark(event_timestamp))

    assert seen(by(Back), ONE_KEY) == [(5, MIN), (3, 10), (9, 10), (7, 10)]


def test_the_supplier_may_want_the_runtime_context() -> None:
    def supply(context: Any) -> WatermarkGenerator:
        assert context.get_index_of_this_subtask() == 0
        return PerRecord()

    assert seen(by(supply), ONE_KEY)[-1] == (7, 9)


class Fails(PerRecord):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        raise ValueError("no idea")


class NoWatermark(PerRecord):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("supplier", "code", "words"),
    [
        (Fails, "USER_FUNCTION", ("no idea", "('a', 5)")),
        (NoWatermark, "TYPE_MISMATCH", ("emitted 5", "('a', 5)")),
        (lambda: 3, "USER_CODE", ("returned 3",)),
    ],
)
def test_failures_name_the_record(supplier: Any, code: str, words: tuple[str, ...]) -> None:
    with pytest.raises(PenstockError) as caught:
        seen(by(supplier), ONE_KEY)
    assert caught.value.code == code
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize("wrong", [PerRecord(), 3])
def test_what_makes_no_generators_is_refused(wrong: Any) -> None:
    with pytest.raises(PenstockError) as caught:
        WatermarkStrategy.for_generator(wrong)
    assert caught.value.code == "GRAPH_ARGUMENT"


def test_a_batch_run_ignores_watermarks_until_its_end() -> None:
    def then(stream: DataStream) -> DataStream:
        return stream.key_by(lambda r: r[0]).process(SeesWatermark())

    env = job(BATCH, Splits((tuple(ONE_KEY),)), then, strategy=by(PerRecord))
    assert {mark for _, mark in run_in_process(env).of("out")} <= {MIN, MAX}
