"""A sink that counts records and drops them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter


@dataclass(frozen=True, slots=True)
class DiscardingSink(Sink):
    """Drops every record; its committables are record counts.

    Example:
        >>> sink = numbers.sink_to(DiscardingSink()).name("dropped")
        >>> run_in_process(env).of("dropped")  # in process the records are captured
        [1, 2, 3, 4]
    """

    kind: ClassVar[str] = "discard"
    may_stage_in_store: ClassVar[bool] = True

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer that counts; `context` does not matter."""
        del context
        return _CountingWriter()

    def create_committer(self, context: SinkContext) -> Committer:
        """Return a committer that does nothing."""
        del context
        return NothingCommitter()


class _CountingWriter(SinkWriter):
    def __init__(self) -> None:
        self._record_count = 0

    def write(self, values: list[Any]) -> None:
        self._record_count += len(values)

    def write_columns(self, batch: Any) -> bool:
        self._record_count += batch.num_rows
        return True

    def prepare_commit(self) -> list[Any]:
        return [self._record_count]

    def abort(self) -> None:
        self._record_count = 0


class NothingCommitter(Committer):
    """Commits nothing: the writers of its sink stage nothing."""

    def recover(self) -> None:
        """Do nothing: nothing is staged."""

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        """Do nothing: nothing is staged."""
