"""The walk over local files finds what Spark's listing finds, and names it as Spark does."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.connectors.files.local_listing import matching_paths
from penstock.datastream.connectors import FileSource
from penstock.errors import SourceError
from penstock.spark.sources.file_paths import plain, uri_of
from penstock.spark.sources.listing.file_listing import list_by_spark, list_files, listed_now
from tests.spark.test_file_names import AWKWARD, NAMES, write

MANY = 10_000

TREES: Mapping[str, tuple[str, ...]] = {
    "flat": ("a", "b.json", "_c", ".d", "_e=1", "f._COPYING_", "_metadata", "_common_metadata_x"),
    "deeper": ("a", "below/b", "below/c/d"),
    "partitions": ("k=1/a", "k=1/_b", "k=2/c", "k=3/.d", "_hidden/f", ".hidden/k=5/g"),
    "underlined partitions": ("_k=4/a", "_k=5/b"),
    "two partitions": ("k=1/l=x/a", "k=1/l=y/b", "k=2/l=x/c"),
    "below partitions": ("k=1/sub/a", "k=2/sub/b"),
    "above partitions": ("sub/k=1/a", "sub/k=2/b"),
    "files beside partitions": ("a", "k=1/b"),
    "no files in partitions": ("a", "k=1/_b", "below/c"),
}


def make(root: Path, names: tuple[str, ...]) -> None:
    for number, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * number)
        stamp = 1_700_000_000_123_456_789 + number * 1_000_000_007
        os.utime(path, ns=(stamp, stamp))


@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize("tree", TREES)
def test_it_finds_what_spark_finds(
    session: SparkSession, tmp_path: Path, tree: str, *, recursive: bool
) -> None:
    make(tmp_path / "in", TREES[tree])
    (tmp_path / "in" / "link").symlink_to(tmp_path / "nowhere")
    options = {"recursiveFileLookup": "true"} if recursive else {}
    source = FileSource(str(tmp_path / "in"), "json", options=options)
    found = sorted(list_files(session, source))
    assert found == sorted(list_by_spark(session, source))
    assert found
    assert [listed_now(session, name) for _, name, _ in found] == found
    wanted = found[0][1]
    assert list_files(session, source, wanted.__eq__) == found[:1]


GLOBS = [
    "*",
    "a*",
    "?",
    "[ab]*",
    "[^a]*",
    "[!a-b]*",
    "{a,c}*",
    "{a1,below/d}",
    "be*/*",
    "*/*",
    "{be,k}*/{d,a}",
    "a\\[1\\]",
    "below",
    "k=*",
    "x+(y).z",
    "x+(y)?z",
    "{a\\[1\\],b\\,c}",
    "none*",
]


@pytest.mark.parametrize("glob", GLOBS)
def test_a_glob_matches_what_spark_matches(
    session: SparkSession, tmp_path: Path, glob: str
) -> None:
    names = (
        "a1",
        "a[1]",
        "b",
        "b,c",
        "c2",
        "_d",
        "below/d",
        "below/_e",
        "k=1/a",
        "x+(y).z",
        "new\nline",
    )
    make(tmp_path / "in", names)
    source = FileSource(f"{tmp_path}/in/{glob}", "json")
    assert sorted(list_files(session, source)) == sorted(list_by_spark(session, source))


def test_a_path_that_exists_as_it_is_written_is_no_glob(
    session: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path / AWKWARD, ["a"])
    ((_, name, _),) = list_files(session, FileSource.text(tmp_path / AWKWARD))
    assert name == f"file:{tmp_path / AWKWARD}/fa.txt"
    ((_, file, _),) = list_files(session, FileSource.text(f"file://{tmp_path / AWKWARD}/fa.txt"))
    assert file == name
    assert list_files(session, FileSource.text(tmp_path / "none")) == []
    assert list_files(session, FileSource.text(tmp_path / "no*" / "x")) == []
    assert listed_now(session, f"{name}x") is None


def test_uris_are_those_of_java(session: SparkSession, tmp_path: Path) -> None:
    names = [
        *NAMES,
        "\xa0nbsp",
        "\u2003em",
        "\u0301acc\xe9nt",
        "\x7fdel",
        "tab\t",
        "\x85nel",
        "a`b",
    ]
    write(tmp_path / AWKWARD, names)
    source = FileSource.text(tmp_path / AWKWARD)
    found = list_files(session, source)
    assert sorted(found) == sorted(list_by_spark(session, source))
    assert len(found) == len(names)
    frame = session.read.text(
        str(tmp_path / AWKWARD).translate({ord(c): f"\\{c}" for c in "[]{}*?\\"})
    )
    uris = sorted(frame.inputFiles())
    assert sorted(uri_of(name) for _, name, _ in found) == uris
    assert sorted(map(plain, uris)) == sorted(name for _, name, _ in found)
    assert uri_of("s3a://bucket/a b%") == "s3a://bucket/a%20b%25"


@pytest.mark.parametrize("name", ["f10:30.txt", "k=10:30/f.txt"])
def test_a_name_that_hadoop_does_not_take_is_told(
    session: SparkSession, tmp_path: Path, name: str
) -> None:
    make(tmp_path / "in", ("fa.txt", name))
    with pytest.raises(SourceError, match="10:30") as caught:
        list_files(session, FileSource.text(tmp_path / "in"))
    assert "colon" in caught.value.hint


def test_a_name_that_is_not_utf8_is_told(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"f\xff.txt")).write_text("x")
    with pytest.raises(SourceError, match=r"f\\udcff\.txt"):
        list_files(session, FileSource.text(tmp_path))


def test_a_glob_that_is_none_is_told(session: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be listed"):
        list_files(session, FileSource.text(tmp_path / "a[b"))
    assert matching_paths(f"{tmp_path}/none*/x") == []


def test_options_that_leave_files_out_are_sparks(session: SparkSession, tmp_path: Path) -> None:
    make(tmp_path / "in", ("a.json", "b.txt"))
    source = FileSource.json(tmp_path / "in", options={"pathGlobFilter": "*.json"})
    assert [name for _, name, _ in list_files(session, source)] == [f"file:{tmp_path}/in/a.json"]


def test_ten_thousand_files_are_listed_in_seconds(session: SparkSession, tmp_path: Path) -> None:
    for number in range(MANY):
        (tmp_path / f"{number}.json").write_text(json.dumps(number))
    source = FileSource.json(tmp_path)
    started = time.monotonic()
    assert len(list_files(session, source)) == MANY
    assert time.monotonic() - started < 3
