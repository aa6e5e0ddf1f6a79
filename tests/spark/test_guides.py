"""The programs of `docs/guides` do on Spark what the pages show, with the files that the pages show."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from signal import SIGINT
from time import monotonic, sleep
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
    for options, shown in (
        ("", "None"),
        (f', options={{"basePath": "{tmp_path}/sales"}}', "2026-01-02"),
    ):
        text = program.replace('"sales", SALE', f'"dt=2026-01-0[2]", SALE{options}')
        run(text.replace("recent = sales.where(col.dt >= date(2026, 1, 2))", "recent = sales"))
        assert capsys.readouterr().out == f"('{shown}', 12)\n"


STORE = blocks("feature-store.md")
DIFF = re.compile(r"^```diff\n(.*?)^```", re.DOTALL | re.MULTILINE)


def penstock(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    """Start the command line in a process of its own."""
    command = [sys.executable, "-m", "penstock", *arguments]
    return subprocess.Popen(
        command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def table_becomes(lines: str, job: subprocess.Popen[str], cwd: Path) -> None:
    """Wait until the program that shows the table prints these lines."""
    deadline = monotonic() + 240
    while True:
        command = [sys.executable, "show.py"]
        shown = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        if shown.stdout == lines:
            return
        assert job.poll() is None, job.communicate()[0]
        assert monotonic() < deadline, shown
        sleep(0.3)


def stop(job: subprocess.Popen[str]) -> str:
    """Stop a job as Ctrl-C does, and return its output."""
    job.send_signal(SIGINT)
    return job.communicate(timeout=60)[0]


def with_feature(program: str) -> str:
    """Return `features.py` after the change of the page."""
    (diff,) = DIFF.findall((DOCS / "guides" / "feature-store.md").read_text(encoding="utf-8"))
    for before, after in re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)+)", diff, re.MULTILINE):
        old, new = ("".join(line[1:] for line in text.splitlines(True)) for text in (before, after))
        assert program.count(old) == 1, old
        program = program.replace(old, new)
    return program


def test_a_feature_store_from_end_to_end(tmp_path: Path) -> None:
    events = [name for name in STORE if name.startswith("events/")]
    for name in [name for name in STORE if name.endswith(".py")] + events[:2]:
        put(tmp_path, name, STORE[name])
    job = penstock("run", "online.py", cwd=tmp_path)
    table_becomes(STORE["after history"], job, tmp_path)
    put(tmp_path, events[2], STORE[events[2]])
    table_becomes(STORE["at noon"], job, tmp_path)
    put(tmp_path, events[3], STORE[events[3]])
    table_becomes(STORE["on the next day"], job, tmp_path)
    put(tmp_path, events[4], STORE[events[4]])
    put(tmp_path, "events/dt=2026-01-03/2.json", '{"user": "cat", "at": "2026-01-03T09:30:00Z"}\n')
    hour_later = STORE["on the next day"].splitlines(True)[0] + "bob 1767430800000 1 1\n"
    table_becomes(hour_later, job, tmp_path)
    assert "late records dropped: 1 by sums" in stop(job)

    put(tmp_path, "labels/1.json", STORE["labels/1.json"])
    job = penstock("run", "training.py", cwd=tmp_path)
    printed = job.communicate(timeout=120)[0]
    assert job.returncode == 0, printed
    texts = [path.read_text() for path in (tmp_path / "training").glob("*.csv")]
    rows = sorted(line for text in texts for line in text.splitlines()[1:])
    assert rows == STORE["training"].splitlines()

    put(tmp_path, "features.py", with_feature(STORE["features.py"]))
    job = penstock("run", "online.py", cwd=tmp_path)
    assert "EVOLUTION" in job.communicate(timeout=120)[0]
    program = STORE["online.py"].replace('"checkpoint"', '"checkpoint-2"')
    put(tmp_path, "online.py", program.replace("features.db", "features-2.db"))
    put(tmp_path, "show.py", STORE["show.py"].replace("features.db", "features-2.db"))
    job = penstock("run", "online.py", cwd=tmp_path)
    # The late event is history now, so that the features of ann are zero two hours later.
    ann = STORE["after the upgrade"].splitlines(True)[0]
    table_becomes(f"{ann}bob 1767430800000 1 1 1\n", job, tmp_path)
    stop(job)
