"""Names of files as Spark takes and tells them, and what is planned with them. No JVM is started."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.connectors.files.file_source import FileSource
from penstock.errors import SourceError
from penstock.spark.job.run_outline import SourceOutline
from penstock.spark.live import planned_files
from penstock.spark.live.planned_files import PlannedFiles
from penstock.spark.sources.file_paths import (
    depth_of,
    depths_of,
    escaped,
    load_path,
    local_file,
    may_contain,
    stream_path,
)
from penstock.spark.sources.read_context import Pinned
from penstock.spark.sources.source_row import StreamKind
from penstock.spark.sources.stream_positions import files_planned, files_read


def test_what_exists_as_it_is_written_is_meant(tmp_path: Path) -> None:
    (tmp_path / "a[1]").mkdir()
    (tmp_path / "a1").mkdir()
    assert stream_path(str(tmp_path / "a[1]")) == escaped(tmp_path / "a[1]")
    assert stream_path(str(tmp_path / "a[12]")) == str(tmp_path / "a[12]"), "a glob"
    assert stream_path("s3a://bucket/a[1]") == "s3a://bucket/a[1]"
    assert load_path("file:///x/a%5B1%5D;b.json") == r"file:///x/a\[1\];b.json"
    assert local_file("file:///x/a%5B1%5D;b%2525.json") == Path("/x/a[1];b%25.json")
    assert local_file("s3a://bucket/x") is None


@pytest.mark.parametrize(
    ("path", "depths"),
    [
        ("/x/y", {2}),
        ("/x/y/", {2}),
        ("/x//y/../z", {2}),
        ("file:///x/*.json", {2}),
        ("s3a://bucket/x/*/y", {3}),
        ("/x/{a,b}/c", {3}),
        ("/x/{a,b/c}", {2, 3}),
        ("/x/{a/b,c/d}/{e,f}", {4}),
        ("/x/{a,b}/{c,d/e}", {3, 4}),
    ],
)
def test_how_deep_files_of_a_path_are(path: str, depths: set[int]) -> None:
    assert depths_of(path) == depths


def test_a_file_that_may_be_of_a_path(tmp_path: Path) -> None:
    (tmp_path / "d [1]").mkdir()
    uri = f"file://{tmp_path}/d%20%5B1%5D/x.json"
    assert depth_of(uri) == depth_of(str(tmp_path)) + 2
    assert may_contain(str(tmp_path / "d [1]"), uri)
    assert may_contain(str(tmp_path / r"d \[1\]"), uri)
    assert may_contain(str(tmp_path / "d*"), uri)
    assert not may_contain(str(tmp_path / "e*"), uri)


class Checkpoint:
    """What Spark and a job write for a file stream, and what Spark finds again."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = root / "run-0" / "spark"
        for name in ("offsets", "commits", "sources/1"):
            (self.path / name).mkdir(parents=True)
        self.steps: dict[str, Any] = {}
        self.found: list[tuple[str, tuple[int, int]]] = []
        self.parts = [FileSource(str(root / "in"), "text", continuous=True)]
        self.job: Any = SimpleNamespace(
            directory=SimpleNamespace(
                path=root, step=self.steps.get, record=self.steps.__setitem__
            ),
            earlier={},
            plan=SimpleNamespace(
                source=lambda _: SimpleNamespace(parts=self.parts, name="in", origin=None)
            ),
            session=None,
        )
        monkeypatch.setattr(planned_files, "_found", lambda _: {3: self.found})

    def plan(self, batch: int, *files: tuple[str, int]) -> None:
        rows = [json.dumps({"path": p, "timestamp": t, "batchId": batch}) for p, t in files]
        (self.path / "sources/1" / str(batch)).write_text("\n".join(["v1", *rows]))
        offsets = ["v1", "{}", "{}", json.dumps({"logOffset": batch})]
        (self.path / "offsets" / str(batch)).write_text("\n".join(offsets))

    def checker(self) -> PlannedFiles:
        source = SourceOutline(3, "s", "in", ("files",), 0, StreamKind.FILES.name, 1, 1, 1)
        outline: Any = SimpleNamespace(sources=(source,))
        return PlannedFiles(self.job, 0, outline, Pinned())


QUERY: Any = None


def test_a_planned_file_that_is_gone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = Checkpoint(tmp_path, monkeypatch)
    spark.plan(0, ("file:///in/a%20b", 5), ("file:///in/c", 6))
    spark.found = [("file:/in/c", (1, 6))]
    with pytest.raises(SourceError, match=r"/in/a b is gone: micro-batch 0 of 'in'"):
        spark.checker().check(QUERY, 0)
    spark.found.append(("file:/in/a b", (1, 9)))
    again = spark.checker()
    assert again.check(QUERY, 0) == {3: {"file:///in/a%20b", "file:///in/c"}}


def test_a_file_may_have_another_time_only_if_it_was_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = Checkpoint(tmp_path, monkeypatch)
    first = spark.checker()
    spark.plan(0, ("file:///in/a", 5))
    spark.found = [("file:/in/a", (10, 6))]
    with pytest.raises(SourceError, match=r"/in/a changed after micro-batch 0"):
        first.check(QUERY, 0)
    spark.found = [("file:/in/a", (10, 5))]
    first.check(QUERY, 0)
    second = spark.checker()  # of the next driver
    spark.found = [("file:/in/a", (9, 7))]
    with pytest.raises(SourceError, match="it had 10 bytes, it has 9"):
        second.check(QUERY, 0)
    spark.found = [("file:/in/a", (10, 7))]
    second.check(QUERY, 0)


def test_files_that_spark_would_read_twice_are_listed_as_a_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, deeper = f"file:{tmp_path}/in/a", f"file:{tmp_path}/in/b/c"
    spark = Checkpoint(tmp_path, monkeypatch)
    spark.plan(0, (inside, 5))
    spark.found = [(inside, (1, 5))] * 2
    files = spark.checker()
    files.check(QUERY, 0)
    assert files.is_due
    assert files.begin() == {3}
    spark.found = [(inside, (1, 5))]
    files.check(QUERY, 0)
    assert not files.is_due
    spark.plan(1, (deeper, 5))
    assert files.check(QUERY, 1) == {}, "what is deeper is left out"
    spark.plan(2, (f"file:{tmp_path}/in/k=1/c", 5))
    with pytest.raises(SourceError, match="directory of partitions"):
        files.check(QUERY, 2)


def test_files_of_offsets_are_read_from_the_end_of_a_log(tmp_path: Path) -> None:
    names = {n: [f"file:///in/{n}-{k}\u2028é😀" for k in range(3000)] for n in range(11)}
    logs = tmp_path / "sources" / "1"
    logs.mkdir(parents=True)
    rows: list[str] = []
    for n, files in names.items():
        new = [
            json.dumps({"path": name, "timestamp": n, "batchId": n}, ensure_ascii=False)
            for name in files
        ]
        rows += new
        path, shown = (logs / f"{n}.compact", rows) if n == 9 else (logs / str(n), new)
        path.write_text("\n".join(["v1", *shown]), encoding="utf-8")
    for since, until in [(-1, 0), (8, 9), (6, 9), (9, 10), (8, 10)]:
        wanted = {name: n for n in range(since + 1, until + 1) for name in names[n]}
        assert files_planned(tmp_path, 1, since, until) == wanted
    assert len(files_read(tmp_path, 1, json.dumps({"logOffset": 10}))) == 33_000
