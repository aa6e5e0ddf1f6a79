"""A level of a live run as Spark's stateful processor.

Spark's state store holds the change log of each subtask (`penstock.state.log.change_log`) as one
`MapState`: its entries by number, and its head as number `HEAD_NUMBER`. One variable rather than
two: asking Spark for a variable costs about 25 ms in every micro-batch.

When a query starts, Spark starts a Python process that calls `init` and nothing else, and waits for
it. This module imports no more than that takes; the rest would take it a quarter of a second.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

if TYPE_CHECKING:
    from pyspark.sql import Row

    from penstock.spark.worker.level_worker import LevelWorker

LOG_VARIABLE = "log"
"""Name of the state variable that holds the change log of a subtask."""

_NUMBER = StructType([StructField("number", LongType())])
_ENTRY = StructType([StructField("entry", BinaryType())])
# Given as text, a worker would ask the JVM to parse them, in every micro-batch.


class LevelProcessor(StatefulProcessor):
    """Runs the subtasks of one level."""

    def __init__(self, described: bytes) -> None:
        """Describe; Spark pickles the processor and calls `init` in the worker.

        Args:
            described: The pickled `LevelDescription`.
        """
        self._described = described
        self._entries: Any = None
        self._worker: LevelWorker | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Get the state variable."""
        self._entries = handle.getMapState(LOG_VARIABLE, _NUMBER, _ENTRY)
        self._worker = None

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802, N803
        """Log one state row of the run before; the input rows of the key follow."""
        self._in_worker().seed(key[0], bytes(initialState[-1]))

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """Process one micro-batch of one subtask."""
        yield from self._in_worker().process(key[0], rows)

    def close(self) -> None:
        """Keep the subtasks: the next micro-batch wants them."""

    def _in_worker(self) -> LevelWorker:
        if self._worker is None:
            from penstock.spark.failures.translation import carrying
            from penstock.spark.worker.level_worker import LevelWorker

            with carrying():
                self._worker = LevelWorker(pickle.loads(self._described), self._entries)
        return self._worker
