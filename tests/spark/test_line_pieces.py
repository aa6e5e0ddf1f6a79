"""Files that are cut at any byte have the records of files in one piece, and errors name the line."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.common import Types
from penstock.connectors.files.lines.decoder import LineDecoder
from penstock.datastream.connectors import FileSource
from penstock.errors import SourceError
from penstock.spark.sources import line_reads
from penstock.spark.sources.file_reads import rows_of_pinned
from penstock.spark.sources.pinned_files import pin_files

ROW = Types.ROW_NAMED(["n", "s"], [Types.LONG(), Types.STRING()])
SIZES = [3, 7, 16, 41, 1 << 20]
"""Bytes of a piece; the last one is that of all files in one piece."""

_CUT = "spark.sql.files.maxPartitionBytes"
_NAMES = ["plain", 'a,"b"', "", "é漢😀", "x" * 60, "é" * 30, " ", "\u2028", "last"]
_RECORDS = [*enumerate(_NAMES), (9, None)]


def _csv(*, header: bool) -> str:
    quoted = [
        f"{n}," + ("" if s is None else '"' + s.replace('"', '""') + '"') for n, s in _RECORDS
    ]
    return "\n".join(["n,s"] * header + quoted) + "\n"


def _json() -> str:
    return "".join(
        f'{{"n": {n}, "s": ' + ("null" if s is None else '"' + s.replace('"', '\\"') + '"') + "}\n"
        for n, s in _RECORDS
    )


def _options(**options: str) -> dict[str, str]:
    return options


CSV, HEADER, JSON = _csv(header=False), _csv(header=True), _json()
LATIN = [(1, "é,ü"), (2, "ß" * 9)]
FILES: dict[str, tuple[str, dict[str, str], bytes, list[Any]]] = {
    "csv": ("csv", {}, CSV.encode(), _RECORDS),
    "csv without a line end": ("csv", {}, CSV.encode()[:-1], _RECORDS),
    "csv with a header": ("csv", {"header": "true"}, HEADER.encode(), _RECORDS),
    "csv of Windows": (
        "csv", {"header": "true"}, b"\xef\xbb\xbf" + HEADER.replace("\n", "\r\n").encode(), _RECORDS,
    ),
    "csv of old Macs": ("csv", {}, CSV.replace("\n", "\r").encode(), _RECORDS),
    "csv with empty lines": ("csv", {}, CSV.replace("\n", "\n\r\n\n").encode(), _RECORDS),
    "csv of latin-1": (
        "csv", {"encoding": "latin-1"}, '1,"é,ü"\r\n2,ßßßßßßßßß'.encode("latin-1"), LATIN,
    ),
    "json": ("json", {}, JSON.encode(), _RECORDS),
    "json of Windows": (
        "json", {}, b"\xef\xbb\xbf" + JSON.replace("\n", "\r\n").encode(), _RECORDS,
    ),
    "json with empty lines": ("json", {}, b"\n\n" + JSON.replace("\n", "\n\n").encode(), _RECORDS),
}  # fmt: skip


@contextmanager
def cut(session: SparkSession, size: int) -> Iterator[None]:
    before = session.conf.get(_CUT) or ""
    session.conf.set(_CUT, str(size))
    try:
        yield
    finally:
        session.conf.set(_CUT, before)


def records(session: SparkSession, source: FileSource, size: int) -> tuple[list[Any], int]:
    """Return the records of a source that is cut into pieces of a size, and how many pieces there were."""
    with cut(session, size):
        lines = rows_of_pinned(session, source, pin_files(session, source, None)).toArrow()
    form = source.by_lines
    assert form is not None
    decoder = LineDecoder(form)
    found: list[Any] = []
    for batch in lines.to_batches(max_chunksize=2):
        for made in decoder.decoded(batch):
            rows = made.to_pylist() if isinstance(made, pa.RecordBatch) else made
            found.extend((row["n"], row["s"]) for row in rows)
    return found, len(set(zip(*lines.select(["file", "start"]).to_pydict().values(), strict=True)))


@pytest.mark.parametrize("reader", ["workers", "Spark"])
@pytest.mark.parametrize("name", FILES)
def test_pieces_of_a_file_have_its_records(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reader: str
) -> None:
    if reader == "Spark":
        monkeypatch.setattr(line_reads, "sizes_of_local", lambda *_: None)
    kind, options, data, wanted = FILES[name]
    (tmp_path / "a").write_bytes(data)
    (tmp_path / "b").write_bytes(data)
    source = FileSource(str(tmp_path), kind, ROW, options)
    pieces = []
    for size in SIZES if reader == "workers" else (7, 1 << 20):
        found, number = records(session, source, size)
        assert sorted(found, key=repr) == sorted(wanted * 2, key=repr), size
        pieces.append(number)
    assert pieces[-1] == 2
    assert pieces[0] > 8 * len(wanted) / 10


def test_workers_read_what_is_local_and_plain(session: SparkSession, tmp_path: Path) -> None:
    names = ["a.json", "b", "c.gz", "d.bz2", "e.x%41 é"]
    for name in names:
        (tmp_path / name).write_bytes(b"{}")
    local = [tmp_path.joinpath(name).as_uri() for name in names]

    def sizes(*uris: str, **options: str) -> dict[str, int] | None:
        source = FileSource(str(tmp_path), "json", ROW, options)
        return line_reads.sizes_of_local(session, source, uris)

    assert [sizes(uri) is not None for uri in local] == [True, True, False, False, True]
    assert sizes(local[0], local[4]) == {local[0]: 2, local[4]: 2}
    assert sizes(local[0], local[2]) is None
    assert sizes("s3a://bucket/a.json") is None
    assert sizes((tmp_path / "gone.json").as_uri()) is None
    (tmp_path / "10:30").write_bytes(b"{}")
    assert sizes((tmp_path / "10:30").as_uri()) is None
    (tmp_path / ".b.crc").write_bytes(b"crc\0")
    assert sizes(local[1]) is None
    for option in ("lineSep", "ignoreMissingFiles", "multiLine"):
        assert sizes(local[0], **{option: "true"}) is None


@pytest.mark.parametrize("size", [7, 64, 1 << 20])
def test_workers_have_the_tasks_of_sparks_reader(
    session: SparkSession, tmp_path: Path, size: int
) -> None:
    for number, length in enumerate((0, 1, 500, 64, 13, 129)):
        (tmp_path / str(number)).write_bytes(b"x" * length)
    source = FileSource.text(str(tmp_path))
    with cut(session, size):
        ours = rows_of_pinned(session, source, pin_files(session, source, None))
        theirs = session.read.text(str(tmp_path))
        assert ours.rdd.getNumPartitions() == theirs.rdd.getNumPartitions()


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_compressed_file_is_one_piece(session: SparkSession, tmp_path: Path, kind: str) -> None:
    data = HEADER if kind == "csv" else JSON
    (tmp_path / "a.gz").write_bytes(gzip.compress(data.encode()))
    source = FileSource(str(tmp_path), kind, ROW, {"header": "true"} if kind == "csv" else {})
    assert records(session, source, 7) == (_RECORDS, 1)


@pytest.mark.parametrize("size", SIZES)
def test_an_error_in_a_piece_names_its_line(
    session: SparkSession, tmp_path: Path, size: int
) -> None:
    lines = [f'{{"n": {n}, "s": "{"é" * n}"}}'.encode() for n in range(20)]
    lines[13] = b'{"n": 1.5, "s": ""}'
    data = b"\r\n".join(lines)
    (tmp_path / "a.json").write_bytes(data)
    with pytest.raises(SourceError) as caught:
        records(session, FileSource(str(tmp_path), "json", ROW), size)
    at = re.search(r"a\.json, line (\d+)(?: behind byte (\d+))?: field 'n'", caught.value.problem)
    assert at is not None, caught.value.problem
    number, start = int(at[1]), int(at[2] or 0)
    assert (start > 0) == (size < 1 << 20)
    behind = re.split(rb"\r?\n", data[start:])
    first = 0 if start == 0 else 1  # the line that goes on over the cut belongs to the piece before
    assert behind[first:][number - 1] == lines[13]
