"""Sorts what arrives at a level: its own records, control elements, and what passes through."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container
from itertools import chain, repeat
from typing import Any

from penstock.errors import StateError
from penstock.runtime.program import LevelProgram
from penstock.serde.elements import MIN_TIMESTAMP, ControlElement
from penstock.serde.frame import (
    FrameHeader,
    FrameKind,
    decode_records,
    load_payload,
    read_header,
)


class LevelInput:
    """Frames of one unit of work: a key group, or a micro-batch."""

    def __init__(self, program: LevelProgram) -> None:
        self._level = program.level
        self._operator_of = {spec.id: spec.target_operator for spec in program.inputs}
        self._passing: list[bytes] = []
        self._control: list[tuple[FrameHeader, bytes]] = []
        self._records: dict[int, list[tuple[FrameHeader, bytes]]] = defaultdict(list)

    def add(self, frame: bytes, hold: Container[int] | None = None) -> int | None:
        """Take one frame.

        Args:
            frame: Any frame that reached this level.
            hold: Operators whose records wait for the rest; None holds all.

        Returns:
            The operator whose records should be processed now, None if there is none.
        """
        header = read_header(frame)
        if header.target_level != self._level:
            self._passing.append(frame)
        elif header.kind is FrameKind.CONTROL:
            self._control.append((header, frame))
        else:
            operator = self._target(header)
            self._records[operator].append((header, frame))
            if hold is not None and operator not in hold:
                return operator
        return None

    def take_passing(self) -> list[bytes]:
        """Return the frames for later levels and the sink stage, and forget them."""
        passing, self._passing = self._passing, []
        return passing

    def control(self) -> list[tuple[int, ControlElement]]:
        """Return (channel, element) pairs in order of writing."""
        self._control.sort(key=_header)
        return [
            (header.channel, element)
            for header, frame in self._control
            for element in load_payload(frame)
        ]

    def operators(self) -> list[int]:
        """Return ids of the operators that have records, upstream first."""
        return sorted(self._records)

    def records_of(self, operator: int) -> tuple[list[Any], list[int] | None]:
        """Return all records of an operator in arrival order, and forget their frames.

        Timestamps are None if no record has one; else a record without has Long.MIN.
        """
        frames = self._records.pop(operator)
        frames.sort(key=_header)
        batches = [decode_records(header, frame) for header, frame in frames]
        if len(batches) == 1:
            return batches[0]
        values = list(chain.from_iterable(values for values, _ in batches))
        if all(stamps is None for _, stamps in batches):
            return values, None
        filled = (
            repeat(MIN_TIMESTAMP, len(batch)) if stamps is None else stamps
            for batch, stamps in batches
        )
        return values, list(chain.from_iterable(filled))

    def _target(self, header: FrameHeader) -> int:
        operator = self._operator_of.get(header.channel)
        if operator is None:
            raise StateError(
                f"a frame arrived on channel {header.channel}, which this level does not read",
                hint="The job's graph changed since its checkpoint was written; start it in a "
                "new checkpoint directory.",
            )
        return operator


def _header(item: tuple[FrameHeader, bytes]) -> FrameHeader:
    return item[0]
