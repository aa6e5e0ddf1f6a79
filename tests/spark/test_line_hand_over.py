"""Lines of history and of live files, plain and compressed, are each read once over restarts."""

from __future__ import annotations

import gzip
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.api.environment.job import JobClient
from penstock.common import Row, Types
from penstock.datastream.connectors import FileSink, FileSource
from penstock.errors import SourceError
from tests.spark.conftest import Environment
from tests.spark.test_live_files import COUNTED, NO_TIME, SMALL, counts
from tests.spark.waiting import wait_for

ROW = Types.ROW_NAMED(["word", "n", "day"], [Types.STRING(), Types.BYTE(), Types.INT()])
FORMS = {
    "csv": (FileSource.csv, '"{}",1\r\n', "word,n\r\n"),
    "json": (FileSource.json, '{{"word": "{}", "n": 1}}\r\n', ""),
}


def add(directory: Path, kind: str, numbers: range) -> Counter[tuple[str, int]]:
    """Add a file with two words for each number, every other one compressed; return the counts of the words."""
    _, line, header = FORMS[kind]
    words: list[str] = []
    for number in numbers:
        inside = directory / f"day={number % 2}"
        inside.mkdir(parents=True, exist_ok=True)
        made = [f"é,{number}", f"x {number}"]
        data = (header + "".join(map(line.format, made))).encode()
        name = f"{number}.{kind}" + ".gz" * (number % 2)
        (inside / f".{name}").write_bytes(gzip.compress(data) if number % 2 else data)
        (inside / f".{name}").rename(inside / name)
        words += made
    return Counter((word, 1) for word in words)


def start(env: Any, source: FileSource, out: Path) -> JobClient:
    """Start a job that counts the words of a source."""
    rows = env.from_source(source, NO_TIME, "words")
    counted = rows.map(lambda row: (row.word, row.n)).key_by(lambda pair: pair[0]).sum(1)
    counted.map(lambda pair: Row(word=pair[0], n=pair[1]), COUNTED).sink_to(FileSink.json(out))
    client: JobClient = env.execute_async("words")
    return client


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("mode", ["streaming", "mixed"])
def test_lines_are_read_once_over_restarts(
    environment: Environment, tmp_path: Path, mode: str, kind: str
) -> None:
    make, line, _ = FORMS[kind]
    files, out = tmp_path / "in", tmp_path / "out"
    source = make(files, ROW).monitor_continuously()
    wanted = add(files, kind, range(6))
    client = start(environment(mode, **SMALL), source, out)
    wait_for(client, lambda: counts(out).total() >= 4, 200)
    client.cancel().result()  # in the middle, or behind history
    wanted += add(files, kind, range(6, 10))
    client = start(environment(mode, **SMALL), source, out)
    wait_for(client, partial(_has, out, 20), 200)
    wanted += add(files, kind, range(10, 12))
    wait_for(client, partial(_has, out, 24), 200)
    assert counts(out) == wanted
    (files / "day=0" / f"bad.{kind}").write_text(
        FORMS[kind][2] + line.format("y") + line.format("z").replace("1", "200")
    )
    number = 3 if kind == "csv" else 2
    with pytest.raises(SourceError, match=rf"day=0/bad\.{kind}, line {number}: field 'n': 200"):
        client.get_job_execution_result().result()
    assert counts(out) == wanted


def _has(out: Path, many: int) -> bool:
    return counts(out).total() >= many
