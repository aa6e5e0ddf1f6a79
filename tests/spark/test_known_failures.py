"""Failures are recognised by Spark's error conditions and Java's classes, each with its own hint."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from penstock.errors import (
    EnvironmentSetupError,
    ExpressionError,
    JobFailedError,
    SinkError,
    SourceError,
    StateError,
    WorkerStartError,
)
from penstock.spark.failures.known_failures import KNOWN_FAILURES, MEMORY, JavaCause
from penstock.spark.failures.translation import translate

FILE = {"path": "file:///in/0.json"}
READ = JavaCause(
    "org.apache.spark.SparkException",
    "FAILED_READ_FILE.NO_HINT",
    FILE,
    "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///in/0.json.",
)
ABORTED = JavaCause("org.apache.spark.SparkException", "", {}, "Job aborted due to stage failure")


def spark(condition: str, message: str) -> JavaCause:
    return JavaCause("org.apache.spark.SparkException", condition, {}, f"[{condition}] {message}")


def java(name: str, message: str = "") -> JavaCause:
    return JavaCause(name, "", {}, message)


S3A = java(
    "java.lang.ClassNotFoundException", "Class org.apache.hadoop.fs.s3a.S3AFileSystem not found"
)
CASES = [
    ([spark("STATE_STORE_X.Y", "gone")], StateError, "gone", "Restore"),
    ([spark("CANNOT_LOAD_STATE_STORE.UNCATEGORIZED", "x")], StateError, "x", "Restore"),
    (
        [java("java.io.FileNotFoundException", "/job/run-1/spark/state/0/0/3.zip")],
        StateError,
        "3.zip",
        "Restore",
    ),
    ([spark("CONCURRENT_STREAM_LOG_UPDATE", "x")], JobFailedError, "x", "Another driver"),
    ([ABORTED, java("java.lang.OutOfMemoryError", "Java heap space")], JobFailedError, "", MEMORY),
    ([spark("UNABLE_TO_ACQUIRE_MEMORY", "x")], JobFailedError, "x", MEMORY),
    (
        [spark("PARQUET_TYPE_ILLEGAL", "Illegal Parquet type: INT64 (TIMESTAMP(NANOS,false)).")],
        SourceError,
        "NANOS",
        "nanosAsLong",
    ),
    (
        [
            spark(
                "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
                "Expected Spark type timestamp_ntz, actual Parquet type INT64.",
            )
        ],
        SourceError,
        "INT64",
        "nanosAsLong",
    ),
    ([java("java.lang.RuntimeException", str(S3A)), S3A], SourceError, "S3A", "hadoop-aws:3"),
    (
        [java("java.lang.ClassNotFoundException", "Class org.apache.hadoop.fs.azurebfs.X")],
        SourceError,
        "azurebfs",
        "hadoop-azure:3",
    ),
    (
        [java("java.lang.ClassNotFoundException", "Class org.apache.hadoop.fs.gs.X")],
        SourceError,
        "fs.gs",
        "gcs-connector",
    ),
    (
        [java("org.apache.hadoop.fs.UnsupportedFileSystemException", 'scheme "s3"')],
        SourceError,
        "s3",
        "s3a://",
    ),
    (
        [java("org.apache.hadoop.fs.UnsupportedFileSystemException", 'scheme "foo"')],
        SourceError,
        "foo",
        "Correct the path",
    ),
    ([spark("DATA_SOURCE_NOT_FOUND", "delta")], SourceError, "delta", "spark.jars.packages"),
    ([spark("AVRO_DATA_SOURCE_NOT_ENABLED", "avro")], SourceError, "avro", "spark-avro"),
    ([spark("COLUMN_ALREADY_EXISTS", "`a`")], SourceError, "`a`", "caseSensitive"),
    (
        [READ, spark("_LEGACY_ERROR_TEMP_3241", "CSV header does not conform")],
        SourceError,
        "0.json cannot be read: [_LEGACY",
        "enforceSchema",
    ),
    (
        [READ, java("com.univocity.parsers.common.TextParsingException", "Unescaped quote")],
        SourceError,
        "0.json cannot be read: Unescaped",
        "escape",
    ),
    ([spark("PATH_NOT_FOUND", "/nowhere")], SourceError, "/nowhere", "must exist"),
    (
        [READ, spark("MALFORMED_RECORD_IN_PARSING.X", "[y,null]"), spark("CANNOT_PARSE_X", "two")],
        SourceError,
        "0.json cannot be read: [CANNOT_PARSE_X] two",
        "Correct the file",
    ),
    ([spark("UNABLE_TO_INFER_SCHEMA", "x")], SourceError, "x", "type_info"),
    ([spark("CANNOT_MERGE_SCHEMAS", "x")], SourceError, "x", "type_info"),
    (
        [READ, java("java.lang.RuntimeException", "file:///in/0.json is not a Parquet file.")],
        SourceError,
        "failed: file:///in/0.json is not a Parquet file.",
        "complete",
    ),
    (
        [ABORTED, java("org.apache.spark.SparkException", "Python worker failed to connect back.")],
        WorkerStartError,
        "Python worker failed to connect back.",
        "overloaded",
    ),
    (
        [
            java(
                "org.apache.spark.SparkException",
                "Timed out while waiting for the Python worker to connect back after 10000 ms",
            )
        ],
        WorkerStartError,
        "after 10000 ms",
        "overloaded",
    ),
    ([java("java.io.IOException", "No space left on device")], SinkError, "No space", "Free"),
    ([ABORTED, spark("DIVIDE_BY_ZERO", "Division by zero")], ExpressionError, "zero", "where"),
    (
        [ABORTED, java("x.Y", "A shuffle map stage with indeterminate output was failed")],
        JobFailedError,
        "indeterminate",
        "Executors",
    ),
]


class FromJavaError(Exception):
    """Stands for a failure of Spark: what Java says, and nothing Python could read in the text."""


@pytest.mark.parametrize(("causes", "becomes", "told", "hint"), CASES)
def test_each_known_failure_has_its_class_and_hint(
    causes: list[JavaCause],
    becomes: type,
    told: str,
    hint: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.spark.failures.translation.java_causes", lambda _: tuple(causes))
    failure = translate(FromJavaError(causes[-1].message), "run 0")
    assert type(failure) is becomes
    assert failure.problem.startswith("run 0 failed: ")
    assert told in failure.problem
    assert hint in failure.hint


def test_every_row_of_the_table_is_reached_by_a_case() -> None:
    rows = KNOWN_FAILURES
    reached = set()
    for causes, *_ in CASES:
        text = causes[-1].message
        reached.add(next(i for i, row in enumerate(rows) if row.found(causes, text) is not None))
    only_text = {i for i, row in enumerate(rows) if not row.conditions and not row.classes}
    assert reached | only_text == set(range(len(rows)))


def test_a_failure_that_came_as_text_is_recognised_too() -> None:
    text = "job aborted\njava.io.IOException: x\nCaused by: [FAILED_READ_FILE.NO_HINT] file:///a"
    assert type(translate(RuntimeError(text), "it")) is SourceError
    failure = translate(RuntimeError("java.lang.OutOfMemoryError: Java heap space"), "it")
    assert failure.hint == MEMORY


def test_a_worker_that_imports_a_file_of_the_program_in_place_of_a_module() -> None:
    told = "ImportError: cannot import name 'Random' from 'random' (/job/random.py)"
    text = f"Error from python worker:\n  Traceback\n    from random\n  {told}\nPYTHONPATH was:\n  /job"
    failure = translate(RuntimeError(text), "run 0")
    assert type(failure) is EnvironmentSetupError
    assert failure.problem == f"run 0 failed: {told}"
    assert "rename the file" in failure.hint


@pytest.mark.parametrize(
    ("status", "told"),
    [(52, "ran out of memory"), (137, "killed"), (1, "has ended (exit status 1)")],
)
def test_a_jvm_that_is_gone_is_told_as_that(
    status: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(["/bin/sh", "-c", f"exit {status}"]) as gone:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=gone))
        for error in (ConnectionRefusedError(111, "Connection refused"), Py4JNetworkError("x")):
            failure = translate(error, "run 0")
            assert told in failure.problem
            assert "111" not in failure.problem
            assert "spark.driver.memory" in failure.hint


def test_a_refused_connection_of_a_sink_is_not_the_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    def lives(_: float) -> int:
        raise subprocess.TimeoutExpired("java", 5)

    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=SimpleNamespace(wait=lives)))
    failure = translate(ConnectionRefusedError(111, "Connection refused"), "run 0")
    assert "Connection refused" in failure.problem
