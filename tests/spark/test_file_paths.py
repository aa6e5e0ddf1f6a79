"""Names of files as Spark takes and gives them. No JVM is started."""

from __future__ import annotations

from pathlib import Path

from penstock.spark.sources.file_paths import (
    escaped,
    load_path,
    local_file,
    may_contain,
    stream_path,
)


def test_what_exists_as_it_is_written_is_meant(tmp_path: Path) -> None:
    (tmp_path / "a[1]").mkdir()
    (tmp_path / "a1").mkdir()
    assert stream_path(str(tmp_path / "a[1]")) == escaped(tmp_path / "a[1]")
    assert stream_path(str(tmp_path / "a[12]")) == str(tmp_path / "a[12]"), "a glob"
    assert stream_path("s3a://bucket/a[1]") == "s3a://bucket/a[1]"
    assert load_path("file:///x/a%5B1%5D;b.json") == r"file:///x/a\[1\];b.json"
    assert local_file("file:///x/a%5B1%5D;b%2525.json") == Path("/x/a[1];b%25.json")
    assert local_file("s3a://bucket/x") is None


def test_a_file_that_may_be_of_a_path(tmp_path: Path) -> None:
    (tmp_path / "d [1]").mkdir()
    uri = f"file://{tmp_path}/d%20%5B1%5D/x.json"
    assert may_contain(str(tmp_path / "d [1]"), uri)
    assert may_contain(str(tmp_path / r"d \[1\]"), uri)
    assert may_contain(str(tmp_path / "d*"), uri)
    assert not may_contain(str(tmp_path / "e*"), uri)
