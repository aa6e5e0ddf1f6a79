"""Wrappers of writers and committers. Their errors name the sink.

The user may write a sink. An exception of it that is no `PenstockError` becomes a `SinkError` with
the name of the sink, the call that failed, and the user's line.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from penstock.errors import SinkError
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.user_failure import failing_as

_WRITING = "Correct the writer of the sink, or its target; the job goes on where it was."
_COMMITTING = (
    "Correct the committer of the sink, or its target, and start the job again: it commits "
    "the same epoch again."
)


def open_writer(sink: Sink, context: SinkContext) -> SinkWriter:
    """Return the writer of one task."""
    with _named(context, "create_writer", _WRITING):
        return _NamedWriter(sink.create_writer(context), context)


def open_committer(sink: Sink, context: SinkContext) -> Committer:
    """Return the committer of a sink."""
    with _named(context, "create_committer", _COMMITTING):
        return _NamedCommitter(sink.create_committer(context), context)


class _NamedWriter(SinkWriter):
    def __init__(self, writer: SinkWriter, context: SinkContext) -> None:
        self._writer = writer
        self._context = context

    def write(self, values: list[Any]) -> None:
        with self._named(f"write of {len(values)} records"):
            self._writer.write(values)

    def write_columns(self, batch: Any) -> bool:
        with self._named(f"write of {batch.num_rows} records"):
            return self._writer.write_columns(batch)

    def prepare_commit(self) -> list[Any]:
        with self._named("prepare_commit"):
            return self._writer.prepare_commit()

    def abort(self) -> None:
        with self._named("abort"):
            self._writer.abort()

    def _named(self, doing: str) -> AbstractContextManager[None]:
        return _named(self._context, f"{doing} of subtask {self._context.subtask}", _WRITING)


class _NamedCommitter(Committer):
    def __init__(self, committer: Committer, context: SinkContext) -> None:
        self._committer = committer
        self._context = context

    def recover(self) -> None:
        with _named(self._context, "recover", _COMMITTING):
            self._committer.recover()

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        with _named(self._context, f"commit of epoch {epoch}", _COMMITTING):
            self._committer.commit(epoch, committables)

    def publish(self) -> None:
        with _named(self._context, "publish", _COMMITTING):
            self._committer.publish()

    def check_background(self) -> None:
        with _named(self._context, "check_background", _COMMITTING):
            self._committer.check_background()

    def close(self) -> None:
        with _named(self._context, "close", _COMMITTING):
            self._committer.close()


def _named(context: SinkContext, doing: str, hint: str) -> AbstractContextManager[None]:
    failed = f"sink {context.name!r} failed on {doing}"
    return failing_as(SinkError, failed, context.origin, hint=hint)
