"""Samples in a directory: a file, or a directory of files, for each source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.connectors.files.file_source import FileSource
from penstock.connectors.files.read_here import records_of_files
from penstock.errors import ArgumentError, DecodeError, did_you_mean
from penstock.graph.logical import LogicalGraph, Node
from penstock.program.operators import SOURCE
from penstock.testing.law.record_texts import RecordTexts
from penstock.types import RowTypeInfo
from penstock.wire.text import TextError

_HINT = "Name the files by sources: NAME.jsonl, NAME.csv, NAME.parquet or NAME.txt, or directories NAME/ of them."

_HIDDEN = (".", "_SUCCESS")
"""Beginnings of the names of files that Spark and file managers write beside records."""


def samples_in(directory: Path, graph: LogicalGraph, most: int) -> dict[str, list[list[Any]]]:
    """Return the name of a source to the records of each of its files.

    The directory contains files `NAME.jsonl`, `.csv`, `.parquet` or `.txt`, or directories `NAME` of them.
    """
    sources = {node.name: node for node in graph.of_kind(SOURCE)}
    samples: dict[str, list[list[Any]]] = {}
    for path in _visible(directory):
        name = path.name if path.is_dir() else path.stem
        node = sources.get(name)
        if node is None:
            names = tuple(sources)
            raise ArgumentError(
                f"{path} is the file of no source{did_you_mean(name, names)}; the program has {list(names)}",
                hint=_HINT,
            )
        files = _visible(path) if path.is_dir() else [path]
        samples[name] = [_records(file, node, most) for file in files]
    return samples


def _visible(directory: Path) -> list[Path]:
    return sorted(path for path in directory.iterdir() if not path.name.startswith(_HIDDEN))


def _records(path: Path, node: Node, most: int) -> list[Any]:
    read = _READERS.get(path.suffix)
    if read is None:
        raise ArgumentError(f"{path} is of no known kind", hint=_HINT)
    return read(path, node, most)[:most]


def _json_lines(path: Path, node: Node, most: int) -> list[Any]:
    read = RecordTexts(node.type_info).read
    records = []
    # Not splitlines: texts may have other line ends of Unicode.
    text = path.read_text(encoding="utf-8").removesuffix("\n")
    lines = text.split("\n") if text else []
    for number, line in enumerate(lines[:most], 1):
        try:
            records.append(read(line))
        except (ValueError, KeyError, TextError) as cause:
            raise DecodeError(
                f"{path}, line {number} is no record of {node.name!r}: {cause}",
                hint=f"Write one JSON value of type {node.type_info!r} per line.",
            ) from cause
    return records


def _lines(path: Path, node: Node, most: int) -> list[Any]:
    del node
    return path.read_text(encoding="utf-8").splitlines()[:most]


def _columns(make_source: Callable[..., FileSource]) -> Callable[[Path, Node, int], list[Any]]:
    def read(path: Path, node: Node, most: int) -> list[Any]:
        row = node.type_info if isinstance(node.type_info, RowTypeInfo) else None
        return next(records_of_files(make_source(path, row), most, node.origin), [])

    return read


_READERS: dict[str, Callable[[Path, Node, int], list[Any]]] = {
    ".jsonl": _json_lines,
    ".json": _json_lines,
    ".txt": _lines,
    ".csv": _columns(FileSource.csv),
    ".parquet": _columns(FileSource.parquet),
}
