"""A key group that does not fit in memory: its records on disk, given back in portions that do.

    frames ──by operator──▶ writer ──by hash of the key──▶ portions
                              ▲                               │
                              └──── one depth deeper ◀────────┘ too large, several keys

A portion that fits is processed like a key group; one that does not and has one key, in parts
(`large_key`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from penstock.runtime.exchange.level_input import LevelInput
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.spill.spill_space import SpillSpace
from penstock.runtime.task.spilling.spilled_portions import Portion, PortionWriter
from penstock.wire.frame import read_header

_logger = logging.getLogger("penstock.spill")


class SpilledGroup:
    """The records of a key group, or of a few, that share a route."""

    def __init__(
        self, operators: Mapping[int, KeyedOperator], space: SpillSpace, route: int
    ) -> None:
        """Begin without records.

        Args:
            operators: id to operator, of those whose records are held.
            space: Where to spill.
            route: Of the group.
        """
        self._operators = operators
        self._space = space
        self._route = route
        self._writers: dict[int, PortionWriter] = {}

    def take(self, arrived: LevelInput) -> None:
        """Take the frames that are held, which are then not held any more.

        Raises:
            SpillError: They cannot be written.
        """
        for target, frames in arrived.held().items():
            writer = self._writers.get(target[0])
            if writer is None:
                operator = self._operators[target[0]]
                writer = self._writers[target[0]] = PortionWriter(operator, self._space, 1)
            for header, frame in frames:
                writer.add(target, header, frame)
        arrived.forget_held()

    def portions(self) -> Iterator[tuple[KeyedOperator, Portion]]:
        """Yield each portion that is to be processed with its operator, upstream first.

        It fits in memory, has one key, or both; its file is removed afterwards.

        Raises:
            SpillError: Something cannot be written, or not be read back.
        """
        for number in sorted(self._writers):
            operator, writer = self._operators[number], self._writers.pop(number)
            todo = self._written(operator, writer)
            while todo:
                portion = todo.pop()
                if portion.is_one_key or portion.memory_bytes <= self._space.memory_bytes:
                    yield operator, portion
                else:
                    deeper = PortionWriter(operator, self._space, portion.depth + 1)
                    for frame in portion.file:
                        header = read_header(frame)
                        deeper.add(portion.inputs[header.channel].target, header, frame)
                    todo += self._written(operator, deeper)
                portion.file.remove()

    def _written(self, operator: KeyedOperator, writer: PortionWriter) -> list[Portion]:
        portions = writer.portions()
        _logger.info(
            "operator %r: %d records of key group %d do not fit in %d bytes; spilled %d bytes to "
            "%d files, depth %d",
            operator.spec.name,
            sum(portion.records for portion in portions),
            self._route,
            self._space.memory_bytes,
            sum(portion.file.size_bytes for portion in portions),
            len(portions),
            portions[0].depth,
        )
        portions.reverse()  # the first comes first off the end
        return portions
