r"""Lines of a piece of a local file, in blocks of whole lines.

    b"a\r\nb\nc" ──▶ b"a\nb\nc"

A piece has the lines that begin behind its first byte, up to the one that begins at its end; the first piece of a file has
its first line, too. That is how Hadoop cuts files. A line ends with `\n`, `\r\n` or `\r`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

_BLOCK = 512 << 10
"""Bytes that are read at once: the lines of a block are some ten thousand, as Spark has in an Arrow batch."""

_LOOK = 4 << 10
_MARK = "\ufeff".encode()
_line_end = re.compile(rb"\r\n|\n|\r").search


def blocks_of(name: str, start: int, end: int) -> Iterator[bytes]:
    r"""Yield the lines of a piece of a file, many at once, with `\n` between them.

    Args:
        name: Name of the file.
        start: First byte of the piece.
        end: First byte behind it.

    Raises:
        OSError: The file cannot be read.
    """
    with open(name, "rb", buffering=0) as file:  # noqa: PTH123 - a path as the file system has it
        first = _behind_line(file, start) if start else _behind_mark(file)
        left = _behind_line(file, end) - first
        file.seek(first)
        rest = b""
        # The block grows with a line that is longer, so that no byte is copied more than some times.
        while left > 0:
            read = file.read(min(max(_BLOCK, len(rest)), left))
            if not read:
                raise OSError(f"it has {left} bytes less than when it was listed")
            left -= len(read)
            data = rest + read
            cut = _behind_last_line(data) if left else len(data)
            rest = data[cut:]
            if cut:
                yield _with_line_feeds(data[:cut])


def _behind_mark(file: BinaryIO) -> int:
    return len(_MARK) if file.read(len(_MARK)) == _MARK else 0


def _behind_line(file: BinaryIO, start: int) -> int:
    """Return the first byte behind the line that a byte is in."""
    file.seek(start)
    at = start
    while block := file.read(_LOOK):
        found = _line_end(block)
        if found is not None:
            is_cut = found[0] == b"\r" and found.end() == len(block)
            return at + found.end() + (is_cut and file.read(1) == b"\n")
        at += len(block)
    return at


def _behind_last_line(data: bytes) -> int:
    """Return the number of bytes up to the end of the last line; a return at the very end may be half of one."""
    return max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1


def _with_line_feeds(data: bytes) -> bytes:
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.removesuffix(b"\n")
