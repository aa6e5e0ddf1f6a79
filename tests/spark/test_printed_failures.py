"""What Python prints of a job that failed: the user's line first, Spark behind a separator."""

from __future__ import annotations

import traceback

import pytest

from penstock.errors import SinkError, UserFunctionError
from penstock.spark.failures import SPARK_SAID, told_first
from tests.spark.conftest import Environment


def halve(n: int) -> int:
    return 100 // (n - 7)


def printed(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def test_a_failed_job_is_printed_with_the_users_line_first(environment: Environment) -> None:
    env = environment("batch")
    env.from_collection(range(10)).map(halve).print()
    with pytest.raises(UserFunctionError) as caught:
        env.execute()
    before, separator, behind = printed(caught.value).partition(SPARK_SAID)
    assert separator
    assert "return 100 // (n - 7)" in before
    assert "Python worker" not in before
    assert "direct cause" not in before
    assert "Python worker" in behind
    assert "penstock-error" not in behind


def test_an_error_of_ours_has_nothing_behind_it() -> None:
    error = SinkError("no room", hint="Make some.")
    assert told_first(error, "the job") is error
    assert SPARK_SAID not in printed(error)


def test_what_caused_it_comes_behind_it() -> None:
    error = SinkError("no room", hint="Make some.")
    error.__cause__ = OSError(f"at org.apache.spark {error.to_wire()} end")
    text = printed(told_first(error, "the job"))
    assert text.index("no room") < text.index(SPARK_SAID) < text.index("at org.apache.spark  end")


def test_an_error_of_spark_alone_is_told_in_a_line_first() -> None:
    failure = told_first(OSError("Job aborted.\n\tat org.apache.spark.Job"), "the job")
    assert "the job failed: Job aborted." in failure.problem
    assert printed(failure).endswith(f"{SPARK_SAID}\nJob aborted.\n\tat org.apache.spark.Job\n")
