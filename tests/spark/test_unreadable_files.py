"""Files that Spark leaves out, cuts or cannot name are errors with their names, in history and live."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Types
from penstock.datastream.connectors import FileSource
from penstock.errors import SourceError
from tests.spark.conftest import Environment
from tests.spark.test_strict_files import read

ROW = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
LINES = b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n'

SOURCES: dict[str, Callable[[Path], FileSource]] = {
    "json": lambda path: FileSource.json(path, ROW),
    "csv": lambda path: FileSource.csv(path, ROW, header=False),
    "parquet": lambda path: FileSource.parquet(path, ROW),
    "orc": lambda path: FileSource(str(path), "orc", ROW),
    "text": FileSource.text,
    "inferred": FileSource.json,
}


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_line_ends_inside_of_values_are_kept(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_bytes(b'a,b\r\n1,"x\r\ny"\r\n2,"z\n"\r\n')
    source = FileSource.csv(tmp_path / "in", ROW, options={"multiLine": "true"})
    assert list(map(tuple, read(environment, source, mode, 2))) == [(1, "x\r\ny"), (2, "z\n")]


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_files_of_zstandard_are_read(environment: Environment, tmp_path: Path, mode: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json.zst").write_bytes(pa.compress(LINES, codec="zstd", asbytes=True))
    (tmp_path / "in" / "a.json.deflate").write_bytes(zlib.compress(LINES))
    found = read(environment, FileSource.json(tmp_path / "in", ROW), mode, 4)
    assert sorted(map(tuple, found)) == [(1, "x"), (1, "x"), (2, "y"), (2, "y")]


UNREADABLE: dict[str, tuple[str, str, bytes, str]] = {
    "gz": ("json", "a.json.gz", gzip.compress(LINES * 1000)[:60], "a.json.gz"),
    "gz of csv": ("csv", "a.csv.gz", gzip.compress(b"1,x\n" * 1000)[:30], "a.csv.gz"),
    "gz of text": ("text", "a.log.gz", b"\x1f\x8b" + b"x" * 30, "a.log.gz"),
    "frames of lz4": ("json", "a.json.lz4", pa.compress(LINES, codec="lz4", asbytes=True), "no lines"),
    "raw snappy": ("csv", "a.snappy", pa.compress(LINES, codec="snappy", asbytes=True), "no lines"),
    "inferred lz4": ("inferred", "a.lz4", pa.compress(LINES, codec="lz4", asbytes=True), "no lines"),
    "xz": ("json", "a.json.xz", b"\xfd7zXZ\x00", "is compressed in a way"),
    "zip": ("text", "a.zip", b"PK\x03\x04", "is compressed in a way"),
    "empty parquet": ("parquet", "a.parquet", b"", "has no bytes"),
    "short parquet": ("parquet", "a.parquet", b"PAR1", "a.parquet"),
    "empty orc": ("orc", "a.orc", b"", "has no bytes"),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_named(
    environment: Environment, tmp_path: Path, name: str, mode: str
) -> None:
    kind, file, data, told = UNREADABLE[name]
    (tmp_path / "in").mkdir()
    if kind == "inferred":
        (tmp_path / "in" / "0.json").write_bytes(LINES)
    (tmp_path / "in" / file).write_bytes(data)
    with pytest.raises(SourceError) as caught:
        read(environment, SOURCES[kind](tmp_path / "in"), mode, 5)
    assert file in caught.value.problem
    assert told in caught.value.problem


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_checksums_of_hadoop_are_checked(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    checksum = b"crc\0" + struct.pack(">II", 512, zlib.crc32(LINES))
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.json").write_bytes(LINES.replace(b"1", b"3"))
    (tmp_path / "bad" / ".a.json.crc").write_bytes(checksum)
    with pytest.raises(SourceError, match=r"bad/a\.json"):
        read(environment, FileSource.json(tmp_path / "bad", ROW), mode, 2)


@pytest.mark.parametrize("name", ["json", "csv", "text"])
def test_a_file_of_text_without_bytes_has_no_records(
    environment: Environment, tmp_path: Path, name: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(b"")
    (tmp_path / "in" / "b.gz").write_bytes(gzip.compress(b""))
    found: list[Any] = read(environment, SOURCES[name](tmp_path / "in"), "batch", 1)
    assert found == []


TEXTS = {
    "suffix": ["3D", "1"],
    "nan": ["NaN", "1.5"],
    "zip": ["007", "8"],
    "big": ["9007199254740993", "0.5"],
    "time": ["10:00", "11:00"],
    "much": ["1e400", "1"],
    "plus": ["+5", "1"],
}
NUMBERS = {"price": ["1.50", "2"], "n": ["1", "-2"], "long": ["12345678901", "0"]}


def test_inferred_columns_of_csv_lose_nothing(environment: Environment, tmp_path: Path) -> None:
    columns = TEXTS | NUMBERS
    rows = [",".join(columns), *map(",".join, zip(*columns.values(), strict=True))]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    found = read(environment, FileSource.csv(tmp_path / "a.csv"), "batch", 2)
    wanted = [[texts[at] for texts in TEXTS.values()] for at in range(2)]
    assert [list(row)[: len(TEXTS)] for row in found] == wanted
    assert [list(row)[len(TEXTS) :] for row in found] == [[1.5, 1, 12345678901], [2.0, -2, 0]]
