"""Sinks that call a function once per record, or count records and drop them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.errors import PenstockError, UserFunctionError
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.user_failure import failure_as, short


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

    def beside(self, directory: str) -> Sink:
        """Return the sink itself: no other job has what it writes.

        Args:
            directory: Is not needed.
        """
        del directory
        return self

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


class SinkInvocation:
    """The context of `SinkFunction.invoke`."""

    def current_processing_time(self) -> int:
        """Return the wall clock in epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def timestamp(self) -> int | None:
        """Return None: timestamps do not reach sinks; map them into the record."""
        return None


class SinkFunctionContext:
    """The context of `SinkFunction.open`."""

    def __init__(self, context: SinkContext) -> None:
        self._context = context

    def get_task_name(self) -> str:
        """Return the name of the sink."""
        return self._context.name

    def get_index_of_this_subtask(self) -> int:
        """Return the index of this subtask, from 0."""
        return self._context.subtask


@dataclass(frozen=True, slots=True)
class FunctionSink(Sink):
    """Calls a function, or `invoke` of an object, in the workers: at least once per record.

    A task or micro-batch that fails and is repeated calls it again for records it was called
    for before. Make what it does idempotent, or derive a `Sink` with a `Committer`.

    Attributes:
        function: A callable of a record, or an object with `invoke(value, context)`.
        is_object: True if it is an object, whose `open` and `close` are called as well, once
            per task and micro-batch.

    Example:
        >>> sink = numbers.sink_to(FunctionSink(lambda n: None, is_object=False)).name("calls")
        >>> run_in_process(env).of("calls")  # in process no sink is called
        [1, 2, 3, 4]
    """

    function: Any
    is_object: bool

    kind: ClassVar[str] = "function"
    may_stage_in_store: ClassVar[bool] = True

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer that calls the function at once, in the task of `context`."""
        return _CallingWriter(self.function, context, is_object=self.is_object)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return a committer that does nothing."""
        del context
        return NothingCommitter()


class _CallingWriter(SinkWriter):
    def __init__(self, function: Any, context: SinkContext, *, is_object: bool) -> None:
        self._function = function
        self._context = context
        self._is_object = is_object
        self._called = 0
        if is_object:
            self._life_cycle("open", SinkFunctionContext(context))

    def write(self, values: list[Any]) -> None:
        """Call the function once per value, in order."""
        call: Callable[[Any], Any] = self._function
        if self._is_object:
            invoke, invocation = self._function.invoke, SinkInvocation()

            def call(value: Any) -> Any:
                return invoke(value, invocation)

        for value in values:
            try:
                call(value)
            except PenstockError:
                raise
            except BaseException as cause:
                raise self._failed(
                    f"record {short(value)} (number {self._called + 1})", cause
                ) from cause
            self._called += 1

    def prepare_commit(self) -> list[Any]:
        self._life_cycle("close")
        return []

    def abort(self) -> None:
        self._life_cycle("close")

    def _life_cycle(self, method: str, *arguments: Any) -> None:
        called = getattr(self._function, method, None) if self._is_object else None
        if called is None:
            return
        try:
            called(*arguments)
        except PenstockError:
            raise
        except BaseException as cause:
            raise self._failed(method, cause) from cause

    def _failed(self, where: str, cause: BaseException) -> UserFunctionError:
        context = self._context
        return failure_as(
            UserFunctionError,
            f"sink {context.name!r} failed on {where} of subtask {context.subtask}",
            cause,
            context.origin,
            hint="Correct the function, or filter out the record before it.",
        )
