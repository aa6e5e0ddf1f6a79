"""Spool: values of tasks on their way to the driver.

Delivery is exactly once while the driver runs. If a driver ends between delivering an epoch and recording it, the resumed
job delivers that epoch again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.connectors.staged import ChunkWriter, StagingDirectory
from penstock.filesystem.stored_path import JobPath
from penstock.graph.endpoints import Committer, SinkContext
from penstock.types.record_form import record_form

CHUNK_VALUES = 2048
"""Greatest number of values in a chunk."""


def spool_directory(context: SinkContext) -> JobPath:
    """Return the directory of the spool files of a sink."""
    return context.scratch / "spool" / context.sink_id


class SpoolWriter(ChunkWriter):
    """Pickles values into one spool file, made on the first value."""

    doing = "spool values"
    file_kind = "spool"
    refusal = "values of sink {} cannot be brought to the driver"

    def __init__(
        self, context: SinkContext, convert: Callable[[list[Any]], list[Any]] | None = None
    ) -> None:
        super().__init__(spool_directory(context), context)
        self._convert = convert
        self._form = record_form(context.type_info) if convert is None else None

    def write(self, values: list[Any]) -> None:
        """Append `values`; they may be changed afterwards."""
        for start in range(0, len(values), CHUNK_VALUES):
            chunk = values[start : start + CHUNK_VALUES]
            self._append_values(self._convert(chunk) if self._convert else chunk)


class SpoolCommitter(Committer):
    """Delivers spooled values in the driver, by subtask and then in order of writing.

    An exception of what gets them fails the commit; the epoch then counts as delivered for this committer.
    """

    def __init__(self, context: SinkContext, deliver: Callable[[list[Any]], None]) -> None:
        self._staging = StagingDirectory(spool_directory(context), "values", context)
        self._deliver = deliver
        self._delivered_epoch: str | None = None

    def recover(self) -> None:
        """Delete spool files that were not delivered."""
        self._staging.prepare()

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        """Deliver the values of `epoch` unless this committer did before."""
        repeated = epoch == self._delivered_epoch
        self._delivered_epoch = epoch
        try:
            if not repeated:
                for chunk in self._staging.chunks(committables):
                    self._deliver(chunk)
        finally:
            self._staging.remove(committables)
