"""The input of a level: its records, its control elements, and frames for later levels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, cast

from penstock.errors import DecodeError, StateError
from penstock.program.channel import StreamPartitioner
from penstock.program.level import LevelProgram
from penstock.runtime.exchange.channel_errors import not_taken
from penstock.runtime.exchange.channel_writer import ResultsFirst
from penstock.runtime.exchange.group_order import KeyedRows, rows_of_columns
from penstock.wire.elements import MIN_TIMESTAMP, BacklogStatus, ControlElement, NextPart
from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    decode_columns,
    decode_pairs,
    decode_records,
    load_payload,
    read_header,
)
from penstock.wire.row_columns import ColumnRecords

Batch = tuple[int, list[Any], list[int] | None]
"""(input, values, timestamps)."""

InputTarget = tuple[int, bool, int]
"""(operator, not a broadcast input, input). Tuples sort in the order in which inputs are read."""


class LevelInput:
    """The frames of a key group, or of a micro-batch.

    Attributes:
        held_bytes: Size of all frames of records that were buffered, also of those taken since.
    """

    def __init__(self, program: LevelProgram) -> None:
        """Start empty."""
        self.held_bytes = 0
        self._level = program.level
        self._targets = {
            spec.id: (
                spec.target_operator,
                spec.partitioner is not StreamPartitioner.BROADCAST,
                spec.target_input,
            )
            for spec in program.inputs
        }
        self._settings = program.settings
        self._operators = {spec.id: spec for spec in program.operators}
        self._columnar = {
            spec.id
            for spec in program.operators
            if spec.folding is not None and spec.folding.as_columns
        }
        self._results = {spec.id for spec in program.inputs if spec.has_results}
        self._selectors = {self._targets[spec.id]: spec.key_selector for spec in program.inputs}
        self._passing: list[bytes] = []
        self._latency: list[tuple[int, bytes]] = []
        self._control: list[tuple[FrameHeader, bytes]] = []
        self._punctuation: list[tuple[FrameHeader, bytes]] = []
        self._records: dict[InputTarget, list[tuple[FrameHeader, bytes]]] = defaultdict(list)

    def add(self, frame: bytes, hold: Container[int] | None = None) -> int | None:
        """Add one frame; return the operator whose records must be processed now, None if there is none."""
        header = read_header(frame)
        if header.target_level != self._level:
            self._passing.append(frame)
        elif header.kind is FrameKind.CONTROL:
            self._control.append((header, frame))
        elif header.kind is FrameKind.LATENCY:
            self._latency.append((self._target(header)[0], frame))
        elif header.kind is FrameKind.PUNCTUATION:
            self._punctuation.append((header, frame))
        else:
            target = self._target(header)
            self._records[target].append((header, frame))
            self.held_bytes += len(frame)
            if hold is not None and target[0] not in hold:
                return target[0]
        return None

    def take_passing(self) -> list[bytes]:
        """Return and remove the frames for later levels and the sink stage."""
        passing, self._passing = self._passing, []
        return passing

    def latency(self) -> list[tuple[int, bytes]]:
        """Return the latency markers as (operator, frame)."""
        return self._latency

    def control(self) -> list[tuple[int, ControlElement]]:
        """Return (channel, element) pairs in order of writing, those about the next part at the end."""
        self._control.sort(key=_header)
        elements = [
            (header.channel, element)
            for header, frame in self._control
            for element in load_payload(frame)
            if type(element) is not BacklogStatus
        ]
        elements.sort(key=lambda pair: type(pair[1]) is NextPart)  # stable: tasks have no order
        return elements

    def statuses(self) -> list[tuple[int, BacklogStatus]]:
        """Return the backlog statuses of subtasks as (channel, status), in order."""
        self._control.sort(key=_header)
        return [
            (header.channel, element)
            for header, frame in self._control
            for element in load_payload(frame)
            if type(element) is BacklogStatus
        ]

    def take_punctuation(self) -> list[tuple[int, BacklogStatus]]:
        """Return and remove the elements between the frames of a batch run."""
        frames, self._punctuation = self._punctuation, []
        return [
            (header.channel, element) for header, frame in frames for element in load_payload(frame)
        ]

    def punctuation(self) -> Iterator[list[tuple[int, ControlElement | BacklogStatus]]]:
        """Yield the (channel, element) pairs that take effect between records.

        After each of them `operators` and `take` return the records written before it, task after
        task; after the last one, the remaining records.
        """
        if not self._punctuation:
            return
        frames: list[tuple[FrameHeader, bytes, InputTarget | None]] = [
            (header, frame, target)
            for target, of_target in self._records.items()
            for header, frame in of_target
        ]
        frames += [(header, frame, None) for header, frame in self._punctuation]
        frames.sort(key=itemgetter(0))
        self._records.clear()
        for header, frame, target in frames:
            if target is None:
                yield [(header.channel, element) for element in load_payload(frame)]
            else:
                self._records[target].append((header, frame))

    def operators(self) -> list[int]:
        """Return ids of the operators with records, upstream first."""
        return sorted({operator for operator, _, _ in self._records})

    def held(self) -> dict[InputTarget, list[tuple[FrameHeader, bytes]]]:
        """Return the buffered frames of records by input, each in order of writing."""
        for frames in self._records.values():
            frames.sort(key=_header)
        return self._records

    def forget_held(self) -> None:
        """Remove the buffered frames of records."""
        self._records.clear()

    def take(self, operator: int) -> list[Batch]:
        """Return all records of an operator in order of arrival, and remove their frames.

        There is one batch per input with records, broadcast inputs first, so that rules precede the
        records that they apply to. Timestamps are None if no record has one; otherwise a record without
        one has Long.MIN.
        """
        targets = sorted(target for target in self._records if target[0] == operator)
        return [(target[2], *self._records_of(target)) for target in targets]

    def are_results(self, header: FrameHeader) -> bool:
        """Return whether the records of a frame are results, which come before others."""
        return header.channel in self._results

    def _records_of(self, target: InputTarget) -> tuple[list[Any], list[int] | None]:
        frames = self._records.pop(target)
        frames.sort(key=_header)
        if not self._results:
            return self._decoded(target, frames)
        frames.sort(key=lambda item: not self.are_results(item[0]))  # stable
        values, stamps = self._decoded(target, frames)
        results = sum(header.count for header, _ in frames if self.are_results(header))
        if results and type(values) is not KeyedRows:  # what is folded has no order
            values = ResultsFirst(values, results)
        return values, stamps

    def _decoded(
        self, target: InputTarget, frames: list[tuple[FrameHeader, bytes]]
    ) -> tuple[list[Any], list[int] | None]:
        try:
            return self._decoded_here(target, frames)
        except DecodeError as refused:
            spec = self._operators[target[0]]
            raise not_taken(refused, f"operator {spec.name!r}", spec.origin) from refused

    def _decoded_here(
        self, target: InputTarget, frames: list[tuple[FrameHeader, bytes]]
    ) -> tuple[list[Any], list[int] | None]:
        if all(header.has_columns for header, _ in frames):
            decoded = [decode_columns(header, frame) for header, frame in frames]
            parts = [batch for batch, _ in decoded]
            if target[0] in self._columnar:
                stamps = _joined_stamps([(len(batch), times) for batch, times in decoded])
                return cast("list[Any]", ColumnRecords(parts)), stamps
            if all(part.schema == parts[0].schema for part in parts):
                return rows_of_columns(parts, self._selectors.get(target), self._settings), None
        if all(header.has_keys for header, _ in frames):
            pairs = [decode_pairs(header, frame) for header, frame in frames]
            keys = list(chain.from_iterable(some for some, _, _ in pairs))
            values, stamps = _joined([batch for _, *batch in pairs])
            return KeyedRows(values, keys), stamps
        return _joined([decode_records(header, frame) for header, frame in frames])

    def _target(self, header: FrameHeader) -> InputTarget:
        target = self._targets.get(header.channel)
        if target is None:
            raise StateError(
                f"a frame arrived on channel {header.channel}, which this level does not read",
                hint="The job's graph changed since its checkpoint was written; start it in a "
                "new checkpoint directory.",
            )
        return target


def _header(item: tuple[FrameHeader, bytes]) -> FrameHeader:
    return item[0]


def _joined(batches: Sequence[Sequence[Any]]) -> tuple[list[Any], list[int] | None]:
    """Return the values and timestamps of several batches as one."""
    if len(batches) == 1:
        values, stamps = batches[0]
        return values, stamps
    values = list(chain.from_iterable(values for values, _ in batches))
    return values, _joined_stamps([(len(values), stamps) for values, stamps in batches])


def _joined_stamps(batches: Sequence[tuple[int, list[int] | None]]) -> list[int] | None:
    """Return the timestamps of several batches as one list, given their lengths."""
    if all(stamps is None for _, stamps in batches):
        return None
    filled = (
        repeat(MIN_TIMESTAMP, length) if stamps is None else stamps for length, stamps in batches
    )
    return list(chain.from_iterable(filled))
