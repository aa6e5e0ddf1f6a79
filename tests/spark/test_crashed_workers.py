"""Processes that end: Python workers that crash or exit, and a JVM that does not start."""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError

from penstock.common import Configuration
from penstock.datastream import MapFunction
from penstock.datastream.connectors import CollectionSource, DiscardingSink
from penstock.errors import CallSite, EnvironmentSetupError, JobFailedError, UserFunctionError
from penstock.spark.failures.crashed_workers import crashed_worker, with_operators
from penstock.spark.failures.translation import refuse_exits, translate
from penstock.spark.session import factory
from tests.runtime.jobs import BATCH, job

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


class Parses(MapFunction):
    """Calls a function of the module."""

    def map(self, value: int) -> int:
        return crashes(value)


def crashes(value: int) -> int:
    return -value


def by(function: Any) -> Any:
    def called(value: int) -> int:
        return function(value)  # type: ignore[no-any-return]

    return called


def dump_of(*functions: Any) -> str:
    """Return the dump of a crash in the last of functions that call each other."""
    codes = [function.__code__ for function in reversed(functions)]
    lines = [f'  File "{c.co_filename}", line {c.co_firstlineno} in {c.co_name}' for c in codes]
    return TEXT.format("\n".join([": Fatal Python error: Aborted", *lines]))


@pytest.mark.parametrize(
    ("frames", "named"),
    [
        ((Parses.map, crashes), " (in operator 'parses')"),
        ((crashes,), " (in operator 'direct' or operator 'wrapped')"),
        ((by(crashes), crashes), " (in operator 'wrapped')"),
        ((dump_of,), ""),
    ],
)
def test_a_crash_names_the_operators_that_have_the_function(
    frames: tuple[Any, ...], named: str
) -> None:
    def build(stream: Any) -> Any:
        keyed = stream.key_by(Wide().key_of).sum().name("sums")
        return (
            keyed.map(crashes).name("direct").map(by(crashes)).name("wrapped")
            .map(Parses()).name("parses")
        )  # fmt: skip

    plan = job(BATCH, CollectionSource.of([1]), build).plan()
    text = dump_of(*frames)
    found = with_operators(translate(RuntimeError(text), "the job"), text, plan)
    assert found.problem == f"the job failed: a Python worker has crashed: Aborted{named}"
    text = dump_of(Wide.key_of)
    found = with_operators(translate(RuntimeError(text), "the job"), text, plan)
    assert found.problem.endswith("(in operator 'sums')")


class Wide:
    """Refers to itself, and to much."""

    def __init__(self) -> None:
        self.itself = [self] * 1000
        self.again = self

    def key_of(self, value: int) -> int:
        return value


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

    crashing = env.from_collection([1, 2]).map(crash).name("crash")
    doubled = crashing.map(lambda record: 2 * record).name("doubled")
    doubled.sink_to(DiscardingSink())
    with pytest.raises(
        JobFailedError, match=r"Segmentation fault \(in operator 'crash'\)"
    ) as failed:
        env.execute("crash")
    assert __file__ in str(failed.value.origin)
