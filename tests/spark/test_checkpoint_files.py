"""Checksums beside the files of a checkpoint, in Hadoop's format."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.errors import StateError
from penstock.spark.sources.listing.stream_writer import check_checkpoint

CONTENT = b"v1\n" + b"x" * 600 + b'\n{"control": 1, "3": [100, 250]}'


def write(path: Path, content: bytes = CONTENT) -> None:
    """Write a file the way Hadoop does, in parts of 512 bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    sums = [zlib.crc32(content[at : at + 512]) for at in range(0, len(content), 512)]
    header = struct.pack(">4sI", b"crc\0", 512)
    path.with_name(f".{path.name}.crc").write_bytes(header + struct.pack(f">{len(sums)}I", *sums))


FILES = ["metadata", "offsets/7", "commits/6", "sources/1/3", "sources/1/9.compact"]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    for name in FILES:
        write(tmp_path / name)
    write(tmp_path / "sources/0/0", b"")
    return tmp_path


def test_files_that_are_what_was_written_pass(checkpoint: Path, tmp_path: Path) -> None:
    check_checkpoint(checkpoint)
    check_checkpoint(tmp_path / "of no query yet")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.replace(b"250", b"251"),
        lambda data: b"V" + data[1:],
        lambda data: data[:-1],
        lambda data: data[:512],
        lambda data: data + b" ",
        lambda _: b"",
    ],
)
def test_another_content_is_named(
    checkpoint: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    path = checkpoint / name
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StateError) as caught:
        check_checkpoint(checkpoint)
    assert str(path) in caught.value.problem


@pytest.mark.parametrize("sums", [b"", b"crc\0", b"CRC\0\0\0\2\0", b"crc\0\0\0\0\0"])
def test_checksums_that_are_none_are_damage(checkpoint: Path, sums: bytes) -> None:
    (checkpoint / "offsets" / ".7.crc").write_bytes(sums)
    with pytest.raises(StateError):
        check_checkpoint(checkpoint)


FORMS = {
    "metadata": b'{"id":"8e1f"}',
    "offsets/7": b'v1\n{"batchWatermarkMs":0}\n{"control":1}\n-',
    "commits/6": b'v1\n{"nextBatchWatermarkMs":0}',
    "sources/1/3": b"v1\nwhatever a source writes",
}


@pytest.mark.parametrize("name", FORMS)
def test_of_a_file_without_checksum_the_form_is_looked_at(checkpoint: Path, name: str) -> None:
    path = checkpoint / name
    path.with_name(f".{path.name}.crc").unlink()
    path.write_bytes(FORMS[name])
    check_checkpoint(checkpoint)
    for damaged in (b"", FORMS[name][:4], b"\xff" + FORMS[name]):
        path.write_bytes(damaged)
        if name.startswith("sources"):
            check_checkpoint(checkpoint)
            continue
        with pytest.raises(StateError) as caught:
            check_checkpoint(checkpoint)
        assert str(path) in caught.value.problem
        assert "Restore" in caught.value.hint


@pytest.mark.parametrize("name", ["state/0/_metadata/v2/0", "state/0/_stateSchema/default/0"])
def test_what_spark_says_of_its_state_is_compared(checkpoint: Path, name: str) -> None:
    write(checkpoint / name)
    check_checkpoint(checkpoint)
    (checkpoint / name).write_bytes(CONTENT[:-1])
    with pytest.raises(StateError, match=name.rpartition("/")[0]):
        check_checkpoint(checkpoint)
