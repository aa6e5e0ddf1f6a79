"""The programs of `docs/guides` do on Spark what the pages show, with the files that the pages show."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.api.environment.job import JobClient
from penstock.errors import SourceError
from tests.docs.pairs import DOCS
from tests.spark.waiting import wait_for

_BLOCK = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.DOTALL | re.MULTILINE)


def blocks(page: str) -> dict[str, str]:
    """Return the blocks of a page that have a title: files by their names, and outputs."""
    return dict(_BLOCK.findall((DOCS / "guides" / page).read_text(encoding="utf-8")))


def put(directory: Path, name: str, text: str) -> None:
    """Let a file appear whole."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(f".{path.name}").write_text(text, encoding="utf-8")
    path.with_name(f".{path.name}").rename(path)


def run(program: str) -> Any:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(program, "guide", "exec"), scope)  # noqa: S102 - our own documentation
    return scope.get("client")


def started(program: str) -> JobClient:
    client: JobClient = run(program.replace("env.execute(", "client = env.execute_async("))
    return client


FOLDERS = blocks("folders.md")
FILES = [name for name in FOLDERS if name.endswith(".json")]


def test_a_directory_is_history_and_then_live(
    session: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    lines: list[str] = []

    def shown(*titles: str) -> Callable[[], bool]:
        expected = sorted("".join(FOLDERS[title] for title in titles).splitlines())

        def are_printed() -> bool:
            lines.extend(capsys.readouterr().out.splitlines())
            return sorted(lines) == expected

        return are_printed

    for name in FILES[:2]:
        put(tmp_path, name, FOLDERS[name])
    client = started(FOLDERS["totals.py"])
    wait_for(client, shown("history"))
    client.cancel().result()
    put(tmp_path, FILES[2], FOLDERS[FILES[2]])  # while the job is stopped
    client = started(FOLDERS["totals.py"])
    put(tmp_path, FILES[3], FOLDERS[FILES[3]])
    wait_for(client, shown("history", "live"))
    client.cancel().result()


def test_a_condition_leaves_out_folders_of_history(
    session: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for day in (1, 2, 3):
        (tmp_path / "sales" / f"dt=2026-01-0{day}").mkdir(parents=True)
        table = pa.table({"amount": [day, 10]})
        pq.write_table(table, tmp_path / "sales" / f"dt=2026-01-0{day}" / "0.parquet")
    damaged = tmp_path / "sales" / "dt=2026-01-01" / "0.parquet"
    content = damaged.read_bytes()
    footer = 8 + int.from_bytes(content[-8:-4], "little")
    damaged.write_bytes(b"\xff" * (len(content) - footer) + content[-footer:])
    program = FOLDERS["since.py"]
    run(program)
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "('2026-01-02', 12)",
        "('2026-01-03', 13)",
    ]
    with pytest.raises(SourceError, match=r"dt=2026-01-01/0\.parquet"):
        run(program.replace("date(2026, 1, 2)", "date(2026, 1, 1)"))
    monkeypatch.chdir(tmp_path / "sales")
    for options, day in (
        ("", "None"),
        (f', options={{"basePath": "{tmp_path}/sales"}}', "2026-01-02"),
    ):
        text = program.replace('"sales", SALE', f'"dt=2026-01-0[2]", SALE{options}')
        run(text.replace("recent = sales.where(col.dt >= date(2026, 1, 2))", "recent = sales"))
        assert capsys.readouterr().out == f"('{day}', 12)\n"
