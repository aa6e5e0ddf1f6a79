"""What Python prints of a job that failed: the error, once, and the user's line; nothing of Spark.

How often Spark tries it is counted here too: a failure that cannot go away, once.
"""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import (
    KeyTypeError,
    PenstockError,
    SinkError,
    TypeMismatchError,
    UserFunctionError,
)
from penstock.spark.failures.final_failures import is_final
from penstock.spark.failures.translation import HOW_TO_SEE, ended_job_error
from tests.spark.conftest import Environment


def printed(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def counted(calls: Path, raised: Exception) -> Callable[[int], int]:
    """Return a function that notes that it was called for record 7, and raises there."""

    def fail(n: int) -> int:
        if n == 7:
            with calls.open("a") as file:
                file.write("called\n")
            raise raised
        return n

    return fail


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_failed_job_is_printed_once_and_tried_once(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    env = environment(mode)
    stream = env.from_collection(range(10)).key_by(lambda n: n % 2)
    stream.map(counted(tmp_path / "calls", ValueError("seven"))).print()
    with pytest.raises(UserFunctionError) as caught:
        env.execute()
    text = printed(caught.value)
    assert text.count("ValueError: seven") == 1
    assert text.count("raise raised") == 1, "the user's line"
    assert "Python worker" not in text
    assert "direct cause" not in text
    assert "pyspark" not in text.replace(HOW_TO_SEE, "")
    assert "penstock-error" not in (caught.value.details or "")
    assert (tmp_path / "calls").read_text() == "called\n"


def test_what_a_function_cannot_help_is_tried_again(
    environment: Environment, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"

    def unreachable_at_first(n: int) -> int:
        with calls.open("a") as file:
            file.write("called\n")
        if len(calls.read_text().split()) == 1:
            raise ConnectionError("not now")
        return n

    env = environment("batch")
    found = env.from_collection([7]).map(unreachable_at_first).execute_and_collect("again", 1)
    assert found == [7]


def raised_from(cause: Exception) -> UserFunctionError:
    error = UserFunctionError("p", hint="h")
    error.__cause__ = cause
    return error


class ServiceError(ValueError):
    """Of the user's own: nobody knows whether it goes away."""


@pytest.mark.parametrize(
    ("error", "final"),
    [
        (raised_from(ValueError("x")), True),
        (raised_from(KeyError("x")), True),
        (raised_from(ZeroDivisionError()), True),
        (raised_from(AttributeError("x")), True),
        (raised_from(RuntimeError("x")), False),
        (raised_from(TimeoutError()), False),
        (raised_from(MemoryError()), False),
        (raised_from(ServiceError()), False),
        (TypeMismatchError("p", hint="h"), True),
        (KeyTypeError("p", hint="h"), True),
        (SinkError("p", hint="h"), False),
    ],
    ids=lambda value: f"{value!r:.40}",
)
def test_final_is_what_the_program_and_its_records_decide(
    error: PenstockError, final: bool
) -> None:
    assert is_final(error) is final


def test_an_error_of_ours_has_nothing_behind_it() -> None:
    error = SinkError("no room", hint="Make some.")
    assert ended_job_error(error, "the job") is error
    assert HOW_TO_SEE not in printed(error)


def test_what_caused_it_is_kept_and_not_printed() -> None:
    error = SinkError("no room", hint="Make some.")
    error.__cause__ = OSError(f"at org.apache.spark {error.to_wire()} end")
    failure = ended_job_error(error, "the job")
    assert "org.apache" not in printed(failure)
    assert printed(failure).rstrip().endswith(HOW_TO_SEE)
    assert "at org.apache.spark  end" in (failure.details or "")


def test_an_error_of_spark_alone_is_told_in_a_line() -> None:
    failure = ended_job_error(OSError("Job aborted.\n\tat org.apache.spark.Job"), "the job")
    assert "the job failed: Job aborted." in failure.problem
    assert "org.apache" not in printed(failure)
    assert "at org.apache.spark.Job" in (failure.details or "")


def test_lines_of_a_notebook_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    cell: Any = (20, None, ["def parse(line):\n", "    return int(line)\n"], "<cell-1>")
    monkeypatch.setitem(linecache.cache, "<cell-1>", cell)
    error = UserFunctionError(
        'operator failed: ValueError: x\n  File "<cell-1>", line 2, in parse', hint="Correct it."
    )
    assert '  File "<cell-1>", line 2, in parse\n    return int(line)\n' in printed(
        ended_job_error(error, "the job")
    )
