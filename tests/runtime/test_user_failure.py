"""What was raised, in words that can always be told; and what is an interrupt."""

from __future__ import annotations

import signal
from collections.abc import Callable

import numpy as np
import pytest

from penstock.common import Types
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import KeyedProcessFunction, ProcessWindowFunction, ValueStateDescriptor
from penstock.errors import ArgumentError, PenstockError, SourceError, UserFunctionError, encodable
from penstock.runtime.time.timers import PROCESSING_TABLE, TABLE
from penstock.state.schema.own_states import WINDOW_FUNCTION_PREFIX, WINDOW_TRIGGER_PREFIX
from penstock.testing import run_in_process
from penstock.user_failure import is_interrupt, short, user_failure, words_of
from tests.runtime.jobs import BATCH, MODE_IDS, MODES, Splits, by_time, environment, job
from tests.runtime.user_callables import tens


def signalled() -> None:
    signal.raise_signal(signal.SIGINT)


def raised() -> None:
    raise KeyboardInterrupt


def raised_again() -> None:
    try:
        signalled()
    except KeyboardInterrupt:
        raise


@pytest.mark.parametrize(
    ("call", "expected"), [(signalled, True), (raised, False), (raised_again, True)]
)
def test_an_interrupt_is_what_a_signal_raised(call: Callable[[], None], expected: bool) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        call()
    assert is_interrupt(caught.value) is expected


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_a_signal_interrupts_a_job_in_this_process(settings):
    env = job(settings, Splits(((("a", 1),),)), lambda s: s.map(lambda _: signalled()))
    with pytest.raises(KeyboardInterrupt):
        run_in_process(env)


def numbers():
    yield 1
    yield next(iter(()))


def test_a_generator_that_a_stop_iteration_ended_has_its_line():
    env = job(BATCH, Splits(((("a", 1),),)), lambda s: s.flat_map(lambda _: numbers()))
    with pytest.raises(UserFunctionError, match="StopIteration") as caught:
        run_in_process(env)
    assert caught.value.origin is not None
    assert caught.value.origin.function == "numbers"


class Untellable(Exception):  # noqa: N818 - a record as well
    def __str__(self):
        raise SystemExit

    __repr__ = __str__


def test_words_are_found_whatever_is_asked():
    assert "Untellable" in words_of(Untellable())
    assert short(Untellable()) == "<Untellable whose __repr__ raised SystemExit>"
    assert words_of(SystemExit()) == "SystemExit"
    assert len(words_of(ValueError("x" * 10_000))) < 2100
    assert len(short("x" * 10_000)) < 310


def test_every_error_can_be_encoded():
    error = user_failure("operator '\ud83d'", "record '\udc00'", ValueError("\ud800"), None)
    for text in (str(error), error.problem, str(PenstockError.from_wire(error.to_wire()))):
        assert encodable(text) == text
    assert "\\ud800" in error.problem


class OfNumpy(Splits):
    def splits(self, parallelism):
        return [(np.int64(0), np.int32(len(split))) for split in self.values]


class OfHalves(Splits):
    def splits(self, parallelism):
        return [(0, 1), (0, 1.5)]


@pytest.mark.parametrize("settings", MODES, ids=MODE_IDS)
def test_splits_may_be_integers_of_numpy(settings):
    env = job(settings, OfNumpy(((("a", 1), ("b", 2)),)), lambda s: s)
    assert run_in_process(env).of() == [("a", 1), ("b", 2)]
    assert [type(end) for _, end in OfNumpy(((1,),)).exact_splits(1)] == [int]


def test_splits_that_are_no_integers_name_the_split_and_the_method():
    with pytest.raises(SourceError, match=r"gave \(0, 1\.5\) as split 1") as caught:
        run_in_process(job(BATCH, OfHalves(((1,),)), lambda s: s))
    assert caught.value.origin is not None
    assert (caught.value.origin.filename, caught.value.origin.function) == (__file__, "splits")


class OfKeys(KeyedProcessFunction):
    def __init__(self, name):
        self.name = name

    def open(self, runtime_context):
        runtime_context.get_state(ValueStateDescriptor(self.name, Types.INT()))

    def process_element(self, value, ctx):
        return [value]


class OfWindows(ProcessWindowFunction):
    def __init__(self, name):
        self.name = name

    def open(self, runtime_context):
        runtime_context.get_state(ValueStateDescriptor(self.name, Types.INT()))

    def process(self, key, context, elements):
        return [key]


@pytest.mark.parametrize("name", [TABLE, PROCESSING_TABLE])
def test_a_state_of_a_process_function_has_no_name_of_timers(name):
    env = job(BATCH, Splits(((("a", 1),),)), lambda s: s.key_by(str).process(OfKeys(name)))
    with pytest.raises(ArgumentError, match="uses itself"):
        run_in_process(env)


@pytest.mark.parametrize(
    "name", [TABLE, PROCESSING_TABLE, f"{WINDOW_TRIGGER_PREFIX}x", f"{WINDOW_FUNCTION_PREFIX}x"]
)
def test_a_state_of_a_window_function_has_no_name_that_windows_use(name):
    env = environment(BATCH)
    windows = env.from_source(Splits(((("a", 1),),)), by_time(), "r").key_by(str).window(tens())
    windows.process(OfWindows(name)).sink_to(DiscardingSink())
    with pytest.raises(ArgumentError, match="uses itself"):
        run_in_process(env)
