"""The input of a check: some records of every source, in splits, and the sources that read them in a given way."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pyarrow as pa

from penstock.errors import ArgumentError
from penstock.graph.endpoints import Source, SplitSource
from penstock.graph.hybrid import HybridSource
from penstock.graph.logical import LogicalGraph, Node
from penstock.program.operators import SOURCE
from penstock.testing.law.ways import Way, WayMode
from penstock.types import RowTypeInfo, TypeInformation
from penstock.types.arrow import arrow_columns, arrow_schema
from penstock.types.column_forms import keeps_values_in_columns
from penstock.types.row import RowKind
from penstock.types.value_kinds import copy_batch


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """A record of a sample, for inputs of `check` with timestamps of the source, or in an order between splits.

    Attributes:
        split: Index of its split.
        value: The record.
        timestamp: Its timestamp when it is read; None if the source gives none.

    Example:
        >>> sink = numbers.sink_to(DiscardingSink())
        >>> check(env, inputs={"Collection": [SampleRecord(0, 1), SampleRecord(1, 2)]}, ways=10).is_same
        True
    """

    split: int
    value: Any
    timestamp: int | None = None


Sample = tuple[SampleRecord, ...]
"""Records of one source. A cut between history and live is a prefix; a split keeps its order."""

Inputs = Mapping[int, Sample]
"""Node id of a source to its sample."""


@dataclass(frozen=True, slots=True)
class SampleSource(SplitSource):
    """Reads the records of a sample.

    Attributes:
        stamps: Their timestamps; None if they have none.
        as_columns: Whether rows are read as Arrow columns.
        are_copies: Whether records are copies, because functions may change them: a sample is read in many ways.
    """

    kind: ClassVar[str] = "sample"
    values: tuple[tuple[Any, ...], ...]
    stamps: tuple[tuple[int, ...], ...] | None
    type_info: TypeInformation
    as_columns: bool = False
    are_copies: bool = False

    @property
    def is_bounded(self) -> bool:
        """True if the source ends; a sample does."""
        return True

    @property
    def gives_timestamps(self) -> bool:
        """True if the records have timestamps."""
        return self.stamps is not None

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""
        return self.type_info

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        """Return the splits of the sample."""
        return [(0, len(split)) for split in self.values]

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        """Return the records of a range."""
        records = self.values[split][start:end]
        return copy_batch(list(records)) if self.are_copies else records

    def columns(self, split: int, start: int, end: int) -> pa.RecordBatch | None:
        """Return the rows of a range as columns; None if columns do not hold all of them, or rows have timestamps."""
        kind = self.type_info
        if not self.as_columns or self.stamps is not None or not isinstance(kind, RowTypeInfo):
            return None
        rows = kind.coerce_batch(list(self.values[split][start:end]))
        are_plain = all(row is not None and row.get_row_kind() is RowKind.INSERT for row in rows)
        if not rows or not are_plain or not keeps_values_in_columns(kind):
            return None
        try:
            schema = arrow_schema(kind)
        except ArgumentError:  # rows between operators have fields of any class
            return None
        return pa.RecordBatch.from_arrays(arrow_columns(kind, rows), schema=schema)

    def read_timestamped(
        self, split: int, start: int, end: int
    ) -> tuple[Sequence[Any], Sequence[int] | None]:
        """Return the records of a range with their timestamps."""
        stamps = None if self.stamps is None else self.stamps[split][start:end]
        return self.read(split, start, end), stamps


def source_of(sample: Sample, type_info: TypeInformation, way: Way) -> Source:
    """Return the source that reads a sample in a way."""
    splits = 1 + max((element.split for element in sample), default=0)
    order = list(range(splits))
    if way.order:
        random.Random(way.order).shuffle(order)  # noqa: S311 - examples, not secrets
    place = {split: index for index, split in enumerate(order)}

    def part(elements: Sample) -> SampleSource:
        values: list[list[Any]] = [[] for _ in order]
        stamps: list[list[int]] = [[] for _ in order]
        for element in elements:
            values[place[element.split]].append(element.value)
            if element.timestamp is not None:
                stamps[place[element.split]].append(element.timestamp)
        has_stamps = any(element.timestamp is not None for element in sample)
        return SampleSource(
            tuple(map(tuple, values)),
            tuple(map(tuple, stamps)) if has_stamps else None,
            type_info,
            way.columns,
            way.object_reuse,
        )

    if way.cut is None:
        return part(sample)
    cut = round(way.cut * len(sample))
    return HybridSource((part(sample[:cut]), part(sample[cut:])))


def with_samples(graph: LogicalGraph, inputs: Inputs, way: Way) -> LogicalGraph:
    """Return the graph whose sources read samples."""
    keys = [node.id for node in graph.of_kind(SOURCE)]
    # Sources in turn keep their order if only the first one has history.
    behind = set(keys[1:] if way.turns > 0 else keys[:-1]) if way.turns else set()
    cuts = dict.fromkeys(keys, way.cut)
    if way.mode is WayMode.MIXED:
        cuts |= dict.fromkeys(keys[: way.only_live], None) | dict.fromkeys(behind, 0.0)

    def changed(node: Node) -> Node:
        own = replace(way, cut=cuts[node.id])
        return replace(node, source=source_of(inputs[node.id], node.type_info, own))

    return LogicalGraph(
        tuple(changed(node) if node.kind == SOURCE else node for node in graph.nodes)
    )
