"""Whatever a callable of the user's raises fails the job, in every mode, and says whose it was.

Finds: a callable whose exception ends a loop in silence, leaves as it is or hangs; a callable of
the API that nobody thought of. Every method of every class is made to raise in every program and
mode; what it raises is everything for the method a class is there for, whose programs are the
routes an exception takes, and two of all for its siblings. Cannot find what only Spark does: see
`tests/spark`.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.errors import PenstockError, encodable
from penstock.testing import Schedule, run_in_process
from tests.conformance.in_process_executor import deliver
from tests.runtime.jobs import MODES
from tests.runtime.plain_callables import ALIKE, OBJECTS, PLAIN, named_parameters
from tests.runtime.user_callables import (
    ABSTRACT_ONLY,
    HISTORY,
    LIVE,
    PROGRAMS,
    Programs,
    callables,
    public_classes,
)
from tests.runtime.user_objects import Reading


class Oddity(BaseException):
    """Of the user's own, and no `Exception`."""


class UntellableError(Exception):
    def __str__(self):
        raise RuntimeError

    __repr__ = __str__


def surrogate():
    return ValueError("bad \ud800")


RAISED = {
    "StopIteration": StopIteration,
    "GeneratorExit": GeneratorExit,
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": SystemExit,
    "Oddity": Oddity,
    "UntellableError": UntellableError,
    "ValueError": surrogate,
}

CALLED_IN_NO_PROGRAM = {
    ("Committer", "check_background"),
    ("Committer", "publish"),
    ("KeySelector", "open"),
    ("KeySelector", "close"),
    ("LogSource", "beside"),
    ("LogSource", "datasets"),
    ("LogSource", "kept_outside"),
    ("LogSource", "sample_snapshot"),
    ("Partitioner", "open"),
    ("Partitioner", "close"),
    ("Sink", "beside"),
    ("Sink", "datasets"),
    ("Sink", "kept_outside"),
    ("SinkWriter", "write_columns"),  # of records that are columns; here they are tuples
    ("SinkWriter", "abort"),
    ("SourceFunction", "cancel"),
    ("SplitSource", "beside"),
    ("SplitSource", "datasets"),
}
"""Never called, as Flink never calls them; or only when something else has failed, by `penstock drop` or `sample`, by the plan of a shadow, or by a driver of Spark:
`tests/spark/test_user_callables.py`."""

BUILDING = {
    "get_inputs",
    "get_operator_attributes",
    "is_output_value_stored",
    "is_associative",
    "get_produced_type",
    "get_default_trigger",
    "can_merge",
    "check",
    "describe",
    "is_event_time",
    "get_retry_predicate",
}
"""Asked in the driver while the program is built, where its exceptions are its own as well."""

TRIED = {("AggregateFunction", "merge")}
"""Asked once whether it works at all; without it windows are kept one by one."""

SILENT = "StopIteration"
"""Ends a loop without a word, so everything raises it."""

OTHERS = sorted(RAISED.keys() - {SILENT})

_state: dict[str, Any] = {"raised": "StopIteration", "calls": 0}


def fail(*arguments: Any) -> Any:
    _state["calls"] += 1
    raised = RAISED[_state["raised"]]
    raise raised()


async def fail_later(*arguments: Any) -> Any:
    fail()


def failing(working: type, method: str) -> Any:
    """Return an object of a class one method of which fails."""
    is_coroutine = inspect.iscoroutinefunction(getattr(working, method))
    made = type("Failing", (working,), {method: fail_later if is_coroutine else fail})
    return made((tuple(HISTORY + LIVE),)) if issubclass(working, Reading) else made()


def outcome(build: Any, made: Any, settings: dict[str, str]) -> BaseException | None:
    """Return what a program raises, None if it ends well."""
    programs = Programs(settings)
    try:
        stream = build(programs, made)
        if hasattr(stream, "sink_to"):
            stream.sink_to(DiscardingSink()).name("out")
        plan = programs.env.plan()
        deliver(plan, run_in_process(plan, Schedule(batch_sizes=(2,))).records)
    except BaseException as error:  # noqa: BLE001 - it is looked at
        return error
    return None


def check(error: BaseException | None, method: str) -> None:
    told = _state["raised"]
    assert error is not None, f"{told} was swallowed"
    if method in BUILDING and not isinstance(error, PenstockError):
        assert told in {type(error).__name__, type(error.__cause__).__name__}, error
        return
    assert isinstance(error, PenstockError), repr(error)
    assert told in error.problem, error.problem
    assert encodable(str(error)) == str(error)
    assert error.code in {"USER_FUNCTION", "SOURCE", "SINK"}, str(error)
    assert error.origin is not None, str(error)
    assert (error.origin.function, error.origin.filename) == ("fail", __file__), str(error)
    if error.code != "SOURCE":
        assert any(subject in error.problem for subject in SUBJECTS), error.problem


SUBJECTS = ("operator '", "sink '", "the key selector", "the partitioner", "source '")


CALLABLES = list(callables())


def main_method(cls: type) -> str | None:
    """Return what a class is there for: the last by name of what it must have and a run calls."""
    abstract: frozenset[str] = getattr(cls, "__abstractmethods__", frozenset())
    never = {method for name, method in CALLED_IN_NO_PROGRAM if name == cls.__name__}
    return max(abstract - never - BUILDING, default=None)


def raised_by(cls: type, method: str) -> Iterator[list[str]]:
    """Return for one mode after the other what a method raises there, without an end."""
    if main_method(cls) in {method, None}:
        return itertools.repeat(list(RAISED))
    numbers = itertools.count(CALLABLES.index((cls, method)))
    return ([SILENT, OTHERS[number % len(OTHERS)]] for number in numbers)


@pytest.mark.parametrize(
    ("cls", "method"), CALLABLES, ids=[f"{c.__name__}.{m}" for c, m in CALLABLES]
)
def test_a_callable_that_raises_anything_fails_the_job(cls, method):
    called = False
    chosen = raised_by(cls, method)
    for working, build in PROGRAMS[cls]:
        for settings in MODES:
            for raised in next(chosen):
                _state.update(raised=raised, calls=0)
                error = outcome(build, failing(working, method), settings)
                if not _state["calls"]:
                    assert error is None, error
                    break
                if error is None and (cls.__name__, method) in TRIED:
                    break
                called = True
                check(error, method)
    assert called is ((cls.__name__, method) not in CALLED_IN_NO_PROGRAM) or method in BUILDING


@pytest.mark.parametrize("parameter", PLAIN)
def test_a_plain_function_that_raises_anything_fails_the_job(parameter):
    called = False
    for settings in MODES:
        for raised in RAISED:
            _state.update(raised=raised, calls=0)
            error = outcome(PLAIN[parameter], fail, settings)
            if _state["calls"]:
                called = True
                check(error, "")
            else:
                assert error is None, error
    assert called


def test_the_api_has_no_parameter_for_a_function_without_a_program():
    assert named_parameters() == {*PLAIN, *OBJECTS, *ALIKE}


def test_the_api_has_no_callable_without_a_program():
    known = {cls.__name__ for cls in PROGRAMS} | set(ABSTRACT_ONLY)
    abstract = {name for name, cls in public_classes().items() if inspect.isabstract(cls)}
    assert {name.rpartition(".")[2] for name in abstract} <= known
