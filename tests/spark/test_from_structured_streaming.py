"""The programs of `docs/from-structured-streaming.md`, those of PySpark too, print what the page shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.docs.pairs import DOCS, Pair, pairs

PAGE = "from-structured-streaming.md"
PAIRS = pairs(PAGE, "Structured Streaming")
STORE = "spark.sql.streaming.stateStore.providerClass"


def test_there_are_three_programs() -> None:
    assert len(PAIRS) == 3


def in_directory(program: str, directory: Path) -> str:
    """Return a program with absolute paths: Spark resolves others where its JVM has started."""
    for text, name in (('json("orders"', "orders"), ('"checkpoint"', "checkpoint")):
        assert text in program
        program = program.replace(text, text.replace(name, str(directory / name)))
    return program


def run(program: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(program, PAGE, "exec"), scope)  # noqa: S102 - our own documentation
    return scope


@contextmanager
def query_of(program: str) -> Iterator[None]:
    """Run a query of PySpark."""
    wait = "query.awaitTermination()\n"
    assert program.endswith(wait)
    query = run(program.removesuffix(wait))["query"]
    yield
    assert query.exception() is None
    query.stop()


@contextmanager
def job_of(program: str) -> Iterator[None]:
    """Run a job of Penstock."""
    client = run(program.replace("env.execute(", "client = env.execute_async("))["client"]
    yield
    client.cancel().result()


def lines_until(capsys: pytest.CaptureFixture[str], are_all: Callable[[list[str]], bool]) -> None:
    """Wait until the printed lines are those that are expected."""
    lines: list[str] = []
    deadline = monotonic() + 60
    while not are_all(sorted(lines)):
        assert monotonic() < deadline, lines
        sleep(0.1)
        lines += capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.title)
@pytest.mark.parametrize("whose", ["theirs", "ours"])
def test_a_program_prints_what_is_shown(
    session: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    pair: Pair,
    whose: str,
) -> None:
    (data,) = re.findall(
        r"^```json\n(.*?)^```", (DOCS / PAGE).read_text(), re.DOTALL | re.MULTILINE
    )
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "1.json").write_text(data)
    program = in_directory(getattr(pair, whose), tmp_path)
    provider = session.conf.get(STORE)
    with (query_of if whose == "theirs" else job_of)(program):
        lines_until(capsys, lambda lines: lines == pair.shown)
        sleep(0.5)
        assert capsys.readouterr().out == ""
    session.conf.set(STORE, str(provider))
