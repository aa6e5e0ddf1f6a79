"""Processes that end: Python workers that crash or exit, and a JVM that does not start."""

from __future__ import annotations

import ctypes
import json
import os

import pytest
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError

from penstock.common import Configuration
from penstock.datastream.connectors import DiscardingSink
from penstock.errors import CallSite, EnvironmentSetupError, JobFailedError, UserFunctionError
from penstock.spark.failures.crashed_workers import crashed_worker
from penstock.spark.failures.translation import refuse_exits, translate
from penstock.spark.session import factory

TEXT = """org.apache.spark.SparkException: Python worker exited unexpectedly (crashed){}
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.apply(PythonRunner.scala:1)"""
DUMP = """: Fatal Python error: Segmentation fault

Current thread 0x00007f0000000000 (most recent call first):
  File "/usr/lib/python3/ctypes/__init__.py", line 519 in string_at
  File "/jobs/job.py", line 12 in parse
  File "/jobs/job.py", line 30 in flat_map
"""


def test_a_crash_names_the_line_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.user_failure._LIBRARIES", ("/usr/lib/python3",))
    found = translate(RuntimeError(TEXT.format(DUMP)), "the job")
    assert isinstance(found, JobFailedError)
    assert found.problem == "the job failed: a Python worker has crashed: Segmentation fault"
    assert found.origin == CallSite("/jobs/job.py", 12, "parse")


def test_a_worker_that_exits_has_an_error_of_its_own() -> None:
    found = translate(RuntimeError(TEXT.format("")), "the job")
    assert "the process of a Python worker has ended, without an exception" in found.problem
    assert "lack of memory" in found.hint
    assert crashed_worker("anything else", "the job") is None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={}),
            "Spark has not started: [JAVA_GATEWAY_EXITED]",
        ),
        (
            Py4JError("An error occurred while calling None.X.\n: java.lang.Error: no\n\tat y"),
            "Spark has not started: java.lang.Error: no",
        ),
        (ConnectionResetError(104, "reset"), "Spark has not started: "),
    ],
)
def test_a_jvm_that_does_not_start(
    error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(factory, "_make_session", fails)
    monkeypatch.setattr(factory, "SparkSession", _NoSession)
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    with pytest.raises(EnvironmentSetupError) as refused:
        factory.get_session(Configuration())
    assert refused.value.problem.startswith(reason)
    assert "\n" not in refused.value.problem


class _NoSession:
    @staticmethod
    def getActiveSession() -> None:  # noqa: N802 - Spark's name
        return None


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Statuses with which the process would have ended."""
    found: list[int] = []
    monkeypatch.setattr(os, "_exit", found.append)
    refuse_exits()
    return found


def test_a_function_does_not_end_its_worker(
    ended: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_exits()  # again, as every task does
    with pytest.raises(RuntimeError, match=r"os._exit\(3\) would end the worker"):
        os._exit(3)
    library = compile("import os\nos._exit(4)", json.__file__, "exec")
    exec(library, {})  # noqa: S102
    assert ended == [4]
    monkeypatch.setattr(os, "getpid", lambda: 1)  # in a child
    os._exit(5)
    assert ended == [4, 5]


def test_an_exit_in_a_function(environment):
    env = environment("batch")

    def leave(number: int) -> int:
        os._exit(number)
        return number

    env.from_collection([1, 2]).map(leave).name("exits").sink_to(DiscardingSink())
    with pytest.raises(
        UserFunctionError, match=r"operator 'exits' failed on record [12]"
    ) as failed:
        env.execute("exit")
    assert __file__ in str(failed.value.origin)


def test_a_crash_in_a_function(environment):
    env = environment("batch")

    def crash(record: int) -> int:
        return len(ctypes.string_at(0)) + record

    env.from_collection([1, 2]).map(crash).name("crash").sink_to(DiscardingSink())
    with pytest.raises(JobFailedError, match="Segmentation fault") as failed:
        env.execute("crash")
    assert __file__ in str(failed.value.origin)
