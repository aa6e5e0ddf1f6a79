"""A level of a live run as a stateful processor of Spark.

Spark's state store contains the change log of each subtask (`penstock.state.log.change_log`) as one
`MapState`: its entries by number, and its head as number `HEAD_NUMBER`. It is one variable and not
two, because getting a variable costs about 25 ms in every micro-batch.

When a query starts, Spark starts a Python process that only calls `init`, and waits for it. Therefore
this module imports only what `init` needs; the other imports would take a quarter of a second.
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
# A DDL string would be parsed by the JVM, in every micro-batch.


class LevelProcessor(StatefulProcessor):
    """Runs the subtasks of one level."""

    def __init__(self, described: bytes) -> None:
        """Make the processor; Spark pickles it and calls `init` in the worker."""
        self._described = described
        self._entries: Any = None
        self._worker: LevelWorker | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Get the state variable."""
        self._entries = handle.getMapState(LOG_VARIABLE, _NUMBER, _ENTRY)
        self._worker = None

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802, N803
        """Log one state row of the previous run; the input rows of the key follow."""
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
        """Do nothing: the subtasks stay open for the next micro-batch."""

    def _in_worker(self) -> LevelWorker:
        if self._worker is None:
            from penstock.spark.failures.translation import carrying
            from penstock.spark.worker.level_worker import LevelWorker

            with carrying():
                self._worker = LevelWorker(pickle.loads(self._described), self._entries)
        return self._worker
