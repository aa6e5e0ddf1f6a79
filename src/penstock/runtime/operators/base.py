"""What every operator has: an output, a watermark, and errors that name the record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.errors import PenstockError, UserFunctionError
from penstock.program.operator_spec import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.flow.record_copies import Emission
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.spill.spill_space import SpillCounts
from penstock.user_failure import (
    failing_record,
    has_user_frame,
    placed,
    short,
    user_failure,
)
from penstock.wire.elements import MIN_TIMESTAMP

NO_KEY = object()
"""Stands for the key of records that have none."""

Collect = Callable[[list[Any], list[int] | None], None]
"""Takes a batch: values and timestamps."""


class Operator:
    """Base of all operators. One instance per operator and subtask.

    Call order: `open`; then `collect` and `advance_watermark` any number of times, never at
    the same time; `finish_batch` after every task or micro-batch, and wherever a watermark takes
    effect between records; `close` once.

    Attributes:
        records_in: Records received since the last report.
        sets_own_backlog: It says itself whether its results are stale; else they are if any
            input is.
        emission: What happens to values as they leave.
        late_records: Records dropped for being late, since the operator was made; None if it drops
            none.
        spilled: What was put on disk for it since the last report.
    """

    sets_own_backlog = False

    def __init__(self, spec: OperatorSpec, output: Output, context: OperatorContext) -> None:
        self.spec = spec
        self.output = output
        self.context = context
        self.records_in = 0
        self.late_records: int | None = None
        self.spilled = SpillCounts()
        self.watermark = MIN_TIMESTAMP
        self.emission = Emission(spec)
        call: Any = getattr(spec.function, spec.method) if spec.method else spec.function
        self.call: Any = self.emission.of_call(spec.kind.returns, call)

    def open(self) -> None:
        """Call `open` of the user's function, if it has one."""
        opened = getattr(self.spec.function, "open", None) if self.spec.method else None
        if opened is not None:
            try:
                opened(self.context)
            except PenstockError:
                raise
            except BaseException as cause:
                raise self.failed_in("open", cause) from cause

    def close(self) -> None:
        """Call `close` of the user's function, if it has one."""
        closed = getattr(self.spec.function, "close", None) if self.spec.method else None
        if closed is not None:
            try:
                closed()
            except PenstockError:
                raise
            except BaseException as cause:
                raise self.failed_in("close", cause) from cause

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Process a batch of records."""
        self.records_in += len(values)
        self.process(values, timestamps)

    def collector(self, number: int) -> Collect:
        """Return what takes the records of input `number`."""
        assert number == 0, f"{type(self).__name__} has one input"
        return self.collect

    def inputs_complete(self) -> None:
        """React to the end of what has arrived: records of all inputs have been collected."""

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Do what the operator does with a batch."""
        raise AssertionError(type(self).__name__)

    def advance_watermark(self, watermark: int) -> None:
        """Take a watermark and pass it on; operators with timers fire them first."""
        if watermark > self.watermark:
            self.watermark = watermark
            self.on_watermark(watermark)
            self.output.advance_watermark(watermark)

    def restore_watermark(self, watermark: int) -> None:
        """Set the watermark to what it was before a restart, here and downstream."""
        self.watermark = watermark
        self.output.restore_watermark(watermark)

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001 - a status, not a switch
        """Take whether records are expected, and pass it on."""
        self.output.set_idle(idle)

    def separate(self) -> None:
        """Let what came so far take effect before what follows, here and downstream."""
        self.finish_batch()
        self.output.separate()

    def take_backlog(self, number: int, backlog: bool) -> None:  # noqa: FBT001
        """Take whether the records of input `number` that follow are stale."""

    def pass_backlog_on(self, backlog: bool) -> None:  # noqa: FBT001
        """Say downstream what the inputs say together; what was held back goes first."""
        self.finish_batch()
        self.output.set_backlog(backlog)

    def input_ended(self, number: int) -> None:
        """React to the end of input `number`, before its last watermark."""

    def restore_ended(self, number: int) -> None:
        """Know that input `number` ended before a restart; it does not end again."""

    def on_watermark(self, watermark: int) -> None:
        """React to a new watermark, before it is passed on."""

    def finish_batch(self) -> None:
        """React to the end of a task or micro-batch."""

    def start_epoch(self) -> None:
        """React to the beginning of a micro-batch, or of a key group in a batch run."""

    def start_split(self) -> None:
        """React to the begin of another split of the source (level 0 only).

        Each split has a watermark of its own, so that of the one before is forgotten.
        """
        self.watermark = MIN_TIMESTAMP

    def memory(self) -> int | None:
        """Return what must outlive the run beside keyed state, None if nothing."""
        return None

    def restore_memory(self, memory: int) -> None:
        """Take back what `memory` returned."""

    def failed(
        self,
        cause: BaseException,
        values: list[Any],
        position: Iterator[Any],
        *,
        key: Any = NO_KEY,
        of_input: str = "",
    ) -> PenstockError:
        """Return the error for a user function that raised on one record of a batch.

        Args:
            cause: What it raised.
            values: The batch.
            position: The iterator over `values` that was being consumed: what is left of it
                tells which record failed, at no cost per record.
            key: Theirs, if they have one.
            of_input: Which input they are of, if there are several.
        """
        if isinstance(cause, PenstockError) and cause.origin is not None:
            return cause
        keyed = "" if key is NO_KEY else f", key {short(key)}"
        where = failing_record(values, position) + of_input + keyed
        if isinstance(cause, PenstockError):
            return placed(cause, f"operator {self.spec.name!r}", where, self.spec.origin)
        return self.failed_in(where, cause)

    def failed_unawares(self, cause: BaseException) -> BaseException:
        """Return the error for what was raised where nobody expects code of the user's to run.

        A record has more of it than functions: how a key compares, how a value is copied or written.
        What has no line of the user's is not theirs, and is returned as it is.
        """
        failure = self.failed_in("its records", cause)
        return failure if has_user_frame(cause) else cause

    def failed_in(self, where: str, cause: BaseException) -> UserFunctionError:
        """Return the error for a user function that raised outside record processing."""
        return user_failure(f"operator {self.spec.name!r}", where, cause, self.spec.origin)
