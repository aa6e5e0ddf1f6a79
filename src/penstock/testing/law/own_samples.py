"""Samples of the own inputs of a program: the first records of every source that this process can read.

If the rows or tuples of another source have a declared type, records are made. A type such as String describes the
encoding of records and not their contents: made ones would be refused by the first function.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from penstock.connectors.files.file_source import FileSource
from penstock.connectors.files.read_here import records_of_files
from penstock.errors import ArgumentError, SourceError, did_you_mean
from penstock.graph.backlog_end import SourcePart
from penstock.graph.endpoints import Source, SplitSource
from penstock.graph.hybrid import parts_of, snapshot_part_of
from penstock.graph.logical import LogicalGraph, Node
from penstock.graph.source import PositionedSource
from penstock.graph.source_switch import as_switched
from penstock.program.operators import SOURCE
from penstock.testing.law.event_time import event_time, in_order_of_time
from penstock.testing.law.samples import Inputs, Sample, SampleRecord
from penstock.testing.values import Choices, maker_of
from penstock.types import RowTypeInfo, TupleTypeInfo

_WORDS = ("a", "b", "c", "d", "e", "f")
_FEW = 10
_MANY = 100_000
_RARE = 0.2


class SeededChoices(Choices):
    """Choices that a seed decides, without None, NaN and the ends of ranges: functions may refuse those rightly."""

    def __init__(self, rng: random.Random) -> None:
        """Take the numbers of a generator."""
        self._rng = rng

    def integer(self, low: int, high: int, usual: int = 0, step: int = 1) -> int:
        """Return one of a few numbers, and sometimes one of many."""
        most = _MANY if self._rng.random() < _RARE else _FEW
        return max(low, min(high, usual + step * self._rng.randrange(most)))

    def real(self, width: int) -> float:
        """Return a small number, of halves, so that both widths have it."""
        del width
        return self._rng.randrange(_FEW * _FEW) / 2

    def text(self, least: int, most: int) -> str:
        """Return a word; the first ones are frequent."""
        del least, most
        return _WORDS[min(self._rng.randrange(len(_WORDS)), self._rng.randrange(len(_WORDS)))]

    def pick(self, options: Sequence[Any]) -> Any:
        """Return any option."""
        return self._rng.choice(options)

    def is_null(self) -> bool:
        """Return False."""
        return False


MOST_RECORDS = 1000
"""Records of each source, if nothing else is set."""

_CHUNK = 4096

_MOST_FILES = 8
"""Files of a source that are read, each as a split."""

_BY_HAND = (
    "Write some of its records to DIR/NAME.jsonl, .csv or .parquet, or to such files in a directory "
    "DIR/NAME, and pass --input DIR to `penstock check`."
)
_BY_SNAPSHOT = f"Give the source a method sample_snapshot. Or: {_BY_HAND}"

_MOST_MADE = 200
_MADE_SPLITS = 2
_MADE_START = 1_704_067_200_000

_Split = list[tuple[Any, int | None]]


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of a check.

    Attributes:
        inputs: The sample of every source.
        generated: Names of sources whose records are generated from their type.
    """

    inputs: Inputs
    generated: tuple[str, ...] = ()


def samples_of(
    graph: LogicalGraph, given: Mapping[str, Iterable[Any]], records: int, seed: int = 0
) -> Samples:
    """Return the sample of every source: records that are given, the first ones of its own, or generated ones."""
    sources = graph.of_kind(SOURCE)
    names = [node.name for node in sources]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ArgumentError.here(
            f"the program has no source {unknown[0]!r}{did_you_mean(unknown[0], tuple(names))}; it has {names}",
            hint="Name records by the name of a source, the argument of from_source.",
        )
    samples: dict[int, Sample] = {}
    generated: list[str] = []
    for node in sources:
        if node.name in given:
            samples[node.id] = _given(graph, node, list(given[node.name]), records)
        elif readable := _readable_parts(node):
            samples[node.id] = in_order_of_time(graph, node, _own(node, readable, records))
        else:
            samples[node.id] = _made(graph, node, min(records, _MOST_MADE), seed)
            generated.append(node.name)
    return Samples(samples, tuple(generated))


def first_records(graph: LogicalGraph, node: Node, records: int) -> tuple[Sample, tuple[str, ...]]:
    """Return the first records of a source, those of logs of other systems too, and its parts that cannot be read here."""
    assert node.source is not None, "sources have one"
    with TemporaryDirectory(prefix="penstock-") as directory:
        sampled = [
            (part, _sampled(part, Path(directory, str(number)), records))
            for number, part in enumerate(parts_of(node.source))
        ]
        readable = [own for _, own in sampled if own is not None]
        if not readable:
            raise SourceError(
                f"{node.source.describe()} cannot be read outside of a job",
                hint=_BY_SNAPSHOT if node.source.takes_snapshot else _BY_HAND,
                origin=node.origin,
            )
        others = tuple(part.describe() for part, own in sampled if own is None)
        return in_order_of_time(graph, node, _own(node, readable, records)), others


def _sampled(part: Source, directory: Path, records: int) -> Source | None:
    """Return the source of the first records of a part; None if it has none outside of a job."""
    snapshot = snapshot_part_of([part])
    if snapshot is not None:
        directory.mkdir()
        return snapshot[1].sampled(directory, records)
    own = _own_source(part)
    is_read = own.as_split is not None or isinstance(own, FileSource)
    return own if is_read and not own.takes_snapshot and as_switched(own) is None else None


def _made(graph: LogicalGraph, node: Node, records: int, seed: int) -> Sample:
    """Return records of the declared type of a source, in order of time, in splits."""
    assert node.source is not None, "sources have one"
    if not isinstance(node.type_info, (RowTypeInfo, TupleTypeInfo)):
        is_read = any(part.as_split is not None for part in parts_of(node.source))
        by_command = ", which `penstock sample` writes" if is_read else ""
        raise SourceError(
            f"source {node.name!r} reads {node.source.describe()}, which a check cannot read in its process",
            hint=f"Pass a sample of it: inputs={{{node.name!r}: records}}, or --input DIR with the file "
            f"{node.name}.jsonl{by_command}.",
            origin=node.origin,
        )
    make = maker_of(node.type_info)
    choices = SeededChoices(random.Random(seed + node.id))  # noqa: S311 - examples, not secrets
    has_stamps = node.source.gives_timestamps
    elements = tuple(
        SampleRecord(
            number % _MADE_SPLITS,
            make(choices),
            _MADE_START + 1000 * number if has_stamps else None,
        )
        for number in range(records)
    )
    time = event_time(graph, node)
    return elements if time is None else time.in_order(elements)


def _given(graph: LogicalGraph, node: Node, values: list[Any], records: int) -> Sample:
    if values and all(isinstance(value, SampleRecord) for value in values):
        return tuple(values)
    return in_order_of_time(graph, node, _splits_of(values, records))


def _splits_of(values: list[Any], records: int) -> list[_Split]:
    are_splits = bool(values) and all(type(value) is list for value in values)
    splits = values if are_splits else [values]
    most = max(1, records // max(1, len(splits)))
    return [[_stamped_one(value) for value in split[:most]] for split in splits]


def _stamped_one(value: Any) -> tuple[Any, int | None]:
    return (value.value, value.timestamp) if isinstance(value, SampleRecord) else (value, None)


def _readable_parts(node: Node) -> list[SplitSource | FileSource]:
    assert node.source is not None, "sources have one"
    return [part for part in map(_readable, parts_of(node.source)) if part is not None]


def _own(node: Node, readable: Sequence[Source], records: int) -> list[_Split]:
    parts = {id(part): part for part in readable}.values()
    merged: list[_Split] = []
    for part in parts:
        for number, split in enumerate(_splits(part, node, records)):
            if number == len(merged):
                merged.append([])
            merged[number] += split
    most = max(1, records // max(1, len(merged)))
    return [split[:most] for split in merged]


def _readable(part: Source) -> SplitSource | FileSource | None:
    own = _own_source(part)
    return own if isinstance(own, (SplitSource, FileSource)) else None


def _own_source(part: Source) -> Source:
    return part.source if isinstance(part, SourcePart) else part


def _splits(source: Source, node: Node, records: int) -> Iterable[_Split]:
    if source.as_split is not None:
        return _read(source.as_split, records)
    assert isinstance(source, FileSource), "other sources are not read"
    files = islice(records_of_files(source, records, node.origin), _MOST_FILES)
    return ([(value, None) for value in file] for file in files)


def _read(source: PositionedSource, records: int) -> Iterable[_Split]:
    """Yield the first records of each split."""
    start = source.exact_start(1)
    ends = source.exact_ends_now(start)
    most = max(1, records // max(1, len(start.ranges)))
    for split, (begin, _), end in zip(start.keys, start.ranges, ends, strict=True):
        # Positions of a log have holes, so its records are counted.
        until = begin + most if end is None else end if source.is_log else min(end, begin + most)
        split_records: _Split = []
        for values, stamps in source.exact_batches(split, begin, until, _CHUNK):
            split_records += _stamped(values, stamps)
            if len(split_records) >= most:
                break
        yield split_records[:most]


def _stamped(values: Sequence[Any], stamps: Sequence[int] | None) -> _Split:
    return list(zip(values, [None] * len(values) if stamps is None else stamps, strict=True))
