"""A key group that does not fit in memory: its records on disk, given back in portions that do.

frames ──by operator──▶ sorted runs ──▶ one store, in order of key ──▶ portions of whole keys
                                                                  └──▶ a large key, in parts
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from penstock.runtime.exchange.level_input import LevelInput
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.spill.spill_space import SpillSpace
from penstock.runtime.task.spilling.key_portions import KeyPortions, Portion
from penstock.runtime.task.spilling.sorted_runs import RunWriter

_logger = logging.getLogger("penstock.spill")


class SpilledGroup:
    """The records of a key group, or of a few, that share a route."""

    def __init__(
        self, operators: Mapping[int, KeyedOperator], space: SpillSpace, route: int
    ) -> None:
        """Begin without records.

        Raises:
            SpillError: There is no directory for spill files.
        """
        self._operators = operators
        self._memory_bytes = space.memory_bytes
        self._route = route
        self._store = space.new_store()
        self._writers: dict[int, RunWriter] = {}

    def take(self, arrived: LevelInput) -> None:
        """Take the frames that are held, which are then not held any more.

        Raises:
            SpillError: They cannot be written.
        """
        for (number, _, of_input), frames in arrived.held().items():
            writer = self._writers.get(number)
            if writer is None:
                operator = self._operators[number]
                writer = RunWriter(operator, self._store, self._memory_bytes)
                self._writers[number] = writer
            for header, frame in frames:
                writer.add(of_input, header, frame, are_results=arrived.are_results(header))
                buffered = sum(writer.buffered_bytes for writer in self._writers.values())
                if 2 * buffered >= self._memory_bytes:
                    self._write_runs()
        arrived.forget_held()

    def portions(self) -> Iterator[tuple[KeyedOperator, Portion]]:
        """Yield each portion that is to be processed with its operator, upstream first.

        Raises:
            SpillError: Something cannot be written, or not be read back.
        """
        self._write_runs()
        for _, writer in sorted(self._writers.items()):
            operator = writer.operator
            operator.spilled.add(writer.size_bytes)
            operator.spilled.add_depth(writer.runs)
            _logger.info(
                "operator %r: %d records of key group %d do not fit in %d bytes; spilled %d bytes, "
                "in %d sorted runs",
                operator.spec.name,
                writer.records,
                self._route,
                self._memory_bytes,
                writer.size_bytes,
                writer.runs,
            )
            for portion in KeyPortions(writer, self._store).portions():
                yield operator, portion
        self._store.remove()

    def _write_runs(self) -> None:
        for writer in self._writers.values():
            writer.write_run()
