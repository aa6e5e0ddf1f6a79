"""The base class of operators: an output, a watermark, and errors that name the record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.errors import PenstockError
from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.flow.record_copies import Emission
from penstock.runtime.functions.context import OperatorContext
from penstock.user_failure import failing_record, failure_at, has_user_frame, short, user_failure
from penstock.wire.elements import MIN_TIMESTAMP

NO_KEY = object()
"""The key of records that have none."""

Collect = Callable[[list[Any], list[int] | None], None]
"""Receives a batch: values and timestamps."""


class Operator:
    """Base of all operators. One instance per operator and subtask.

    Call order: `open`; then `collect` and `advance_watermark` any number of times, never at
    the same time; `finish_batch` after every task or micro-batch, and wherever a watermark takes
    effect between records; `end_epoch` after every micro-batch; `close` once.

    Attributes:
        records_in: Records received since the last report.
        sets_own_backlog: Whether it emits its own backlog status; otherwise its results are backlog
            if any input is.
        late_records: Number of late records that it has dropped; None if it never drops any.
        spilled: Counts of spilling since the last report, that of sorters of its context included.
    """

    sets_own_backlog = False

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        self.spec = spec
        self.output = output
        self.context = context
        self.records_in = 0
        self.late_records: int | None = None
        self.spilled = context.spilled
        self.watermark = MIN_TIMESTAMP
        self.emission = Emission(spec)
        call: Any = getattr(spec.function, spec.method) if spec.method else spec.function
        self.call: Any = self.emission.of_call(spec.kind.returns, call)

    def open(self) -> None:
        """Call `open` of the user's function, if it has one."""
        self._call_function("open", self.context)

    def close(self) -> None:
        """Call `close` of the user's function, if it has one."""
        self._call_function("close")

    def guarded(self, where: str, call: Callable[..., Any], *arguments: Any) -> None:
        """Call a method of the user's outside of record processing; its error names `where`."""
        try:
            call(*arguments)
        except BaseException as cause:
            raise self.failed_in(where, cause) from cause

    def _call_function(self, method: str, *arguments: Any) -> None:
        function = getattr(self.spec.function, method, None) if self.spec.method else None
        if function is not None:
            self.guarded(method, function, *arguments)

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch of records."""
        self.records_in += len(values)
        self.process(values, timestamps)

    def collector(self, number: int) -> Collect:
        """Return the receiver of the records of input `number`."""
        assert number == 0, f"{type(self).__name__} has one input"
        return self.collect

    def inputs_complete(self) -> None:
        """Process buffered records: all records of all inputs have been collected."""

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch."""
        raise AssertionError(type(self).__name__)

    def advance_watermark(self, watermark: int) -> None:
        """Receive a watermark and forward it; operators with timers fire them first."""
        if watermark > self.watermark:
            self.watermark = watermark
            self.on_watermark(watermark)
            self.output.advance_watermark(watermark)

    def restore_watermark(self, watermark: int) -> None:
        """Set the watermark to that before a restart, here and downstream."""
        self.watermark = watermark
        self.output.restore_watermark(watermark)

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001 - a status, not a switch
        """Receive whether the input is idle, and forward it."""
        self.output.set_idle(idle)

    def separate(self) -> None:
        """Let the watermark take effect between the records before and after this call."""
        self.finish_batch()
        self.output.separate()

    def take_backlog(self, number: int, backlog: bool) -> None:  # noqa: FBT001
        """Receive whether the following records of input `number` are backlog."""

    def pass_backlog_on(self, backlog: bool) -> None:  # noqa: FBT001
        """Forward the combined backlog status of the inputs, after buffered results."""
        self.finish_batch()
        self.output.set_backlog(backlog)

    def input_ended(self, number: int) -> None:
        """React to the end of input `number`, before its last watermark."""

    def restore_ended(self, number: int) -> None:
        """Record that input `number` ended before a restart; it does not end again."""

    def on_watermark(self, watermark: int) -> None:
        """React to a new watermark, before it is forwarded."""

    def finish_batch(self) -> None:
        """React to the end of a task or micro-batch."""

    def end_epoch(self) -> None:
        """React to the end of a micro-batch, after its last `finish_batch`, which may be one of several."""

    def end_task(self) -> None:
        """React to the end of a task of a batch run, after `finish_batch` and before `close`."""

    def start_epoch(self) -> None:
        """React to the beginning of a micro-batch, or of a key group in a batch run."""

    def start_split(self) -> None:
        """React to the begin of another split of the source (level 0 only).

        Each split has its own watermark, so that of the previous split is reset.
        """
        self.watermark = MIN_TIMESTAMP

    def memory(self) -> int | None:
        """Return the value other than keyed state that outlives the run, None if there is none."""
        return None

    def restore_memory(self, memory: int) -> None:
        """Restore the value that `memory` returned."""

    def failed(
        self,
        cause: BaseException,
        values: list[Any],
        position: Iterator[Any],
        *,
        key: Any = NO_KEY,
        of_input: str = "",
    ) -> PenstockError:
        """Return the error about a user function that raised on one record of a batch."""
        if isinstance(cause, PenstockError) and cause.origin is not None:
            return cause
        keyed = "" if key is NO_KEY else f", key {short(key)}"
        where = failing_record(values, position) + of_input + keyed
        return failure_at(f"operator {self.spec.name!r}", where, cause, self.spec.origin)

    def failed_unawares(self, cause: BaseException) -> BaseException:
        """Return the error about an exception outside of calls of user functions.

        Classes of records contain user code too: it compares keys, and copies or pickles values. An
        exception without a line of the user's in its traceback is returned unchanged.
        """
        failure = self.failed_in("its records", cause)
        return failure if has_user_frame(cause) else cause

    def failed_in(self, where: str, cause: BaseException) -> PenstockError:
        """Return the error about an exception outside of record processing; returns one of ours."""
        if isinstance(cause, PenstockError):
            return cause
        return user_failure(f"operator {self.spec.name!r}", where, cause, self.spec.origin)
