"""Whatever a callable raises in a worker of Spark fails the job, in seconds, and says whose it was.

Finds what only Spark does: a worker that cannot encode its error hangs, and a task that ends in
silence gives the records it had. `tests/runtime/test_user_callables.py` has every callable.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import WatermarkStrategy
from penstock.connectors.discard import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource
from penstock.errors import PenstockError
from tests.spark.conftest import Environment

RECORDS = 20_000
BAD = 12_345
PATIENCE_SECONDS = 300


def next_of_none(number: int) -> int:
    return next(n for n in ([] if number == BAD else [number]))


def half_a_character(number: int) -> int:
    if number == BAD:
        raise ValueError("bad \ud800")
    return number


def leave(number: int) -> int:
    if number == BAD:
        raise SystemExit
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


Then = Callable[[Any], Any]

FAILING: dict[str, tuple[str, Then, str, str]] = {
    "map StopIteration": ("batch", lambda s: s.map(next_of_none), "next_of_none", "StopIteration"),
    "map surrogate": ("batch", lambda s: s.map(half_a_character), "half_a_character", "ValueError"),
    "keyed map exit": (
        "batch",
        lambda s: s.key_by(lambda n: n % 3).map(leave),
        "leave",
        "SystemExit",
    ),
}


@pytest.mark.parametrize(("mode", "then", "function", "said"), FAILING.values(), ids=FAILING)
def test_a_job_fails_with_the_record_and_the_line(
    environment: Environment, mode: str, then: Then, function: str, said: str
) -> None:
    env = environment(mode)
    source = CollectionSource.of(range(RECORDS))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    then(numbers).sink_to(DiscardingSink())
    failure = failure_of(env)
    assert failure.code == "USER_FUNCTION"
    assert f"record {BAD} " in failure.problem
    assert said in failure.problem
    assert failure.origin is not None
    assert (failure.origin.filename, failure.origin.function) == (__file__, function)
