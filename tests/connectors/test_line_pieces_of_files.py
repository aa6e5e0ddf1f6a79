"""Pieces of files have the lines that Hadoop gives them, wherever files are cut and whatever is read at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path

import pytest

from penstock.connectors.files.lines import decoder

MARK = "\ufeff".encode()


def lines_of(data: bytes, start: int, end: int) -> list[bytes]:
    """Return the lines of a piece as Hadoop's reader does: it leaves the first one, and reads one more behind the end."""
    at = start
    found = list(re.finditer(rb"\r\n|\n|\r", data))
    if start:
        at = next((each.end() for each in found if each.end() > start), len(data))
    lines = []
    while at < len(data) and at <= end:
        each = next((each for each in found if each.start() >= at), None)
        lines.append(data[at : len(data) if each is None else each.start()])
        at = len(data) if each is None else each.end()
    if start == 0 and lines:
        lines[0] = lines[0].removeprefix(MARK)
    return [] if start == 0 and data == MARK else lines


def read(path: Path, start: int, end: int) -> list[bytes]:
    return [
        line for block in decoder.blocks_of(str(path), start, end) for line in block.split(b"\n")
    ]


def texts() -> Iterator[bytes]:
    for letters in product((b"a", b"\n", b"\r"), repeat=5):
        yield b"".join(letters)
    yield from (b"", MARK, MARK + b"a\nb", MARK + b"\n" + MARK + b"\n", b"x" * 40)


@pytest.mark.parametrize(("block", "look"), [(1, 1), (2, 3), (1 << 19, 1 << 12)])
def test_every_cut_of_every_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, look: int
) -> None:
    monkeypatch.setattr(decoder, "_BLOCK", block)
    monkeypatch.setattr(decoder, "_LOOK", look)
    path = tmp_path / "a"
    for data in texts():
        path.write_bytes(data)
        whole = lines_of(data, 0, len(data))
        for cut in range(1, len(data)):
            parts = [read(path, *piece) for piece in pairwise([0, cut, len(data)])]
            assert parts == [lines_of(data, *piece) for piece in pairwise([0, cut, len(data)])], (
                data,
                cut,
            )
            assert sum(parts, []) == whole, (data, cut)  # noqa: RUF017 - two short lists
        assert read(path, 0, len(data)) == whole, data


def test_a_file_that_became_shorter_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a\nb\n")
    with pytest.raises(OSError, match="it has 3 bytes less than when it was listed"):
        read(tmp_path / "a", 0, 7)
