"""Errors of user code name operator, record, key and the user's own line."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from penstock.datastream import (
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.errors import (
    KeyTypeError,
    PenstockError,
    SourceError,
    TypeMismatchError,
    UnkeyedStateError,
    UserFunctionError,
)
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import MIXED, MODE_IDS, MODES, STREAMING, by_time, history_then_live, job

RECORDS = [("a", 1, 5), ("b", 2, 0), ("c", 3, 7)]


def by_key(record):
    return record[0]


def run(then, *, settings=STREAMING, records=RECORDS, strategy=None):
    env = job(
        settings,
        history_then_live([], records),
        then,
        strategy=strategy or WatermarkStrategy.no_watermarks(),
    )
    return run_in_process(env, Schedule(batch_sizes=(10,))).of("out")


def divide(record):
    return 10 // record[2]


class Divide(MapFunction, FlatMapFunction, ProcessFunction):
    def map(self, value):
        return divide(value)

    def flat_map(self, value):
        return [divide(value)]

    def process_element(self, value, ctx):
        yield divide(value)


class DivideByKey(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield divide(value)


class DivideSum(ReduceFunction):
    def reduce(self, value1, value2):
        return divide(value2)


FAILING = {
    "map": lambda s: s.map(divide),
    "map object": lambda s: s.map(Divide()),
    "filter": lambda s: s.filter(divide),
    "flat_map": lambda s: s.flat_map(Divide()),
    "process": lambda s: s.process(Divide()),
    "chained": lambda s: s.map(lambda r: r).filter(lambda _: True).map(divide),
    "keyed map": lambda s: s.key_by(by_key).map(divide),
    "keyed filter": lambda s: s.key_by(by_key).filter(divide),
    "keyed flat_map": lambda s: s.key_by(by_key).flat_map(Divide()),
    "keyed process": lambda s: s.key_by(by_key).process(DivideByKey()),
}


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize("then", FAILING.values(), ids=FAILING)
def test_a_function_that_raises_names_operator_record_and_line(then, stamped, settings):
    strategy = by_time() if stamped else None
    with pytest.raises(UserFunctionError) as caught:
        run(lambda s: then(s).name("the ratio"), settings=settings, strategy=strategy)
    error = caught.value
    assert error.code == "USER_FUNCTION"
    assert "operator 'the ratio'" in error.problem
    assert "('b', 2, 0)" in error.problem
    assert "ZeroDivisionError" in error.problem
    assert error.origin is not None
    assert error.origin.function == "divide"
    assert error.origin.filename == __file__
    assert __file__ in error.hint  # where the operator was created


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("stamped", [False, True])
def test_a_reduce_names_record_and_key(stamped, settings):
    records = [("a", 1, 1), ("a", 2, 2), ("a", 3, 0), ("a", 4, 1)]
    with pytest.raises(UserFunctionError) as caught:
        run(
            lambda s: s.key_by(by_key).reduce(DivideSum()),
            settings=settings,
            records=records,
            strategy=by_time() if stamped else None,
        )
    # A batch is a key's records, or a frame of them where only the last result counts.
    found = re.search(
        r"\('a', 3, 0\) \(number (\d) of (\d) in its batch\), key 'a'", str(caught.value)
    )
    assert found is not None, caught.value.problem
    assert found.groups() in {("3", "4"), ("1", "2")}


class FailsIn(KeyedProcessFunction):
    def __init__(self, where):
        self.where = where

    def open(self, runtime_context):
        assert self.where != "open", "no luck"

    def close(self):
        assert self.where != "close", "no luck"

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(7)

    def on_timer(self, timestamp, ctx):
        assert self.where != "on_timer", "no luck"


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
@pytest.mark.parametrize(
    ("where", "named"),
    [("open", "open"), ("close", "close"), ("on_timer", "timer 7 of key 'a'")],
)
def test_failures_outside_records_are_named(where, named, settings):
    with pytest.raises(UserFunctionError, match="no luck") as caught:
        run(
            lambda s: s.key_by(by_key).process(FailsIn(where)).name("guard"),
            settings=settings,
            records=RECORDS[:1],
        )
    assert f"operator 'guard' failed on {named}" in caught.value.problem


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("stamped", [False, True])
def test_flat_map_must_not_return_none(keyed, stamped):
    with pytest.raises(UserFunctionError, match="NoneType") as caught:
        run(
            lambda s: (s.key_by(by_key) if keyed else s).flat_map(
                lambda r: None if r[2] == 0 else [r]
            ),
            strategy=by_time() if stamped else None,
        )
    assert "('b', 2, 0)" in caught.value.problem


class AsksForState(MapFunction):
    def open(self, runtime_context):
        self.state = runtime_context.get_state(ValueStateDescriptor("total"))

    def map(self, value):
        return value


def test_state_without_a_key_is_refused():
    with pytest.raises(UnkeyedStateError) as caught:
        run(lambda s: s.map(AsksForState()).name("totals"))
    assert caught.value.code == "GRAPH_UNKEYED_STATE"
    assert "'totals'" in caught.value.problem
    assert "'total'" in caught.value.problem
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


class SetsTimer(ProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(5)


def test_a_timer_without_a_key_is_refused():
    with pytest.raises(UnkeyedStateError, match="timer for 5"):
        run(lambda s: s.process(SetsTimer()))


@pytest.mark.parametrize("stamp", [1.5, "1", None, True, Decimal(1), datetime.now(UTC)])
def test_a_timestamp_must_be_an_int(stamp):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: stamp if record[2] == 0 else 1
    )
    with pytest.raises(TypeMismatchError) as caught:
        run(lambda s: s, strategy=strategy)
    assert "('b', 2, 0)" in caught.value.problem


@pytest.mark.parametrize("stamp", [2**63, -(2**63) - 1])
def test_a_timestamp_must_fit_in_64_bits(stamp):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: stamp if record[2] == 0 else 1
    )
    with pytest.raises(TypeMismatchError) as caught:
        run(lambda s: s.key_by(by_key).map(by_key), strategy=strategy)
    assert "('b', 2, 0)" in caught.value.problem


def test_an_assigner_that_raises_names_the_record():
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: divide(record)
    )
    with pytest.raises(UserFunctionError, match="'b', 2, 0"):
        run(lambda s: s, strategy=strategy)


def test_a_key_selector_that_raises_names_the_record_and_the_line():
    with pytest.raises(UserFunctionError) as caught:
        run(lambda s: s.key_by(divide).map(by_key))
    assert "the key selector failed on record ('b', 2, 0)" in caught.value.problem
    assert caught.value.origin is not None
    assert caught.value.origin.function == "divide"


def absent(record):
    return record[3]


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_key_selector_of_a_field_that_is_not_there_names_the_record_and_the_line(mode):
    with pytest.raises(UserFunctionError) as caught:
        run(lambda s: s.key_by(absent).map(by_key), settings=mode)
    assert "the key selector failed on record ('a', 1, 5)" in caught.value.problem
    assert caught.value.origin is not None
    assert caught.value.origin.function == "absent"


@pytest.mark.parametrize("key", [{"a": 1}, {1}, float("nan"), (1, {2}), [{1}], object()])
def test_what_cannot_be_a_key_is_refused_with_its_record(key):
    with pytest.raises(KeyTypeError) as caught:
        run(lambda s: s.key_by(lambda r: key if r[2] == 0 else r[0]).map(by_key))
    assert "('b', 2, 0)" in caught.value.problem
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


def test_errors_of_penstock_pass_through_user_frames_unchanged():
    def refuse(record):
        raise SourceError("mine", hint="Mine.")

    with pytest.raises(SourceError, match="mine"):
        run(lambda s: s.map(refuse))


def test_a_value_that_cannot_be_stored_names_its_state():
    class Keeps(MapFunction):
        def open(self, runtime_context):
            self.state = runtime_context.get_state(ValueStateDescriptor("connection"))

        def map(self, value):
            self.state.update(lambda: 1)
            return value

    with pytest.raises(PenstockError) as caught:
        run(lambda s: s.key_by(by_key).map(Keeps()).uid("keeper"))
    assert caught.value.code == "STATE"
    assert "keeper/connection" in caught.value.problem


def test_mixed_mode_reports_failures_of_the_history_too():
    env = job(
        MIXED,
        history_then_live(RECORDS, []),
        lambda s: s.key_by(by_key).map(divide),
        strategy=WatermarkStrategy.no_watermarks(),
    )
    with pytest.raises(UserFunctionError, match="key 'b'"):
        run_in_process(env)
