"""The inputs of an operator: all elements of a producer arrive at an `Output` here.

An operator with several inputs advances to the minimum of their watermarks. The module also keeps the
statuses of the inputs: ends and backlog.
"""

from __future__ import annotations

from typing import Any

from penstock.errors import PenstockError
from penstock.metrics.task_clock import TaskClock, operator_section
from penstock.program.record_attributes import combined_backlog
from penstock.runtime.flow.output import Output
from penstock.runtime.operators.base import Collect, Operator
from penstock.runtime.time.timeless import check_watermark, no_watermarks
from penstock.runtime.time.watermarks import combined_watermark
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP


# FLIP-327, rule 11.
class InputStatuses:
    """Combines the statuses of all senders per input of one operator (FLIP-327 §2.9).

    An input is in backlog as soon as one of its senders is. It is not in backlog when all senders have
    sent a status, and none is. The operator gets each change once. Unless the operator sets its own
    backlog, the combined status of all its inputs is forwarded.
    """

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._numbers: list[int] = []
        self._backlogs: list[bool | None] = []
        self._forwarded: dict[int, bool] = {}
        self._forwarded_together: bool | None = None
        self._ended: set[int] = set()

    def add(self, number: int) -> int:
        """Add a sender of input `number` and return its index."""
        self._numbers.append(number)
        self._backlogs.append(None)
        return len(self._backlogs) - 1

    def set_backlog(self, sender: int, backlog: bool) -> None:  # noqa: FBT001
        """Set whether the following records of a sender are backlog."""
        self._backlogs[sender] = backlog
        number = self._numbers[sender]
        of_input = combined_backlog(self._backlogs[position] for position in self._of(number))
        if of_input is not None and self._forwarded.get(number) is not of_input:
            self._forwarded[number] = of_input
            self._operator.take_backlog(number, of_input)
        together = combined_backlog(self._backlogs)
        passes_on = not self._operator.sets_own_backlog
        if passes_on and together is not None and together is not self._forwarded_together:
            self._forwarded_together = together
            self._operator.pass_backlog_on(together)

    def end(self, sender: int, *, again: bool = False) -> None:
        """End a sender; `again` if it had ended before a restart."""
        if sender in self._ended:
            return
        self._ended.add(sender)
        number = self._numbers[sender]
        if self._ended.issuperset(self._of(number)):
            react = self._operator.restore_ended if again else self._operator.input_ended
            react(number)

    def _of(self, number: int) -> list[int]:
        return [position for position, of in enumerate(self._numbers) if of == number]


class OperatorInputs:
    """The watermarks and statuses of an operator's inputs."""

    def __init__(self, operator: Operator, clock: TaskClock) -> None:
        self.operator = operator
        self.clock = clock
        self.section = operator_section(operator.spec.uid)
        self.watermarks: list[int] = []
        self.idle: list[bool] = []
        self.statuses = InputStatuses(operator)

    def add(self, number: int = 0, *, sends_status: bool = True) -> Output:
        """Return an output that feeds input `number`; several may feed the same one."""
        self.watermarks.append(MIN_TIMESTAMP)
        self.idle.append(False)
        sender = self.statuses.add(number) if sends_status else None
        position = len(self.watermarks) - 1
        make = _TimelessInput if self.operator.spec.is_timeless else _Input
        return make(self, position, self.timed(self.operator.collector(number)), sender)

    def timed(self, collect: Collect) -> Collect:
        """Return a receiver of records that measures the time of the operator."""
        switch, section, operator = self.clock.switch, self.section, self.operator

        def take(values: list[Any], timestamps: list[int] | None) -> None:
            before = switch(section)
            try:
                collect(values, timestamps)
            except PenstockError:
                raise
            except BaseException as cause:
                raise operator.failed_unawares(cause) from cause
            switch(before)

        return take

    def combined(self) -> int:
        """Return the watermark of the operator."""
        return combined_watermark(zip(self.watermarks, self.idle, strict=True))


class _Input:
    """One input of an operator: the `Output` of its producer."""

    __slots__ = ("_index", "_inputs", "_sender", "collect")

    def __init__(
        self, inputs: OperatorInputs, index: int, collect: Collect, sender: int | None
    ) -> None:
        self._inputs = inputs
        self._index = index
        self._sender = sender
        self.collect = collect

    def advance_watermark(self, watermark: int) -> None:
        self._inputs.watermarks[self._index] = watermark
        if watermark == MAX_WATERMARK and self._sender is not None:
            self._inputs.statuses.end(self._sender)
        before = self._inputs.clock.switch(self._inputs.section)
        self._inputs.operator.advance_watermark(self._inputs.combined())
        self._inputs.clock.switch(before)

    def restore_watermark(self, watermark: int) -> None:
        self._inputs.watermarks[self._index] = watermark
        if watermark == MAX_WATERMARK and self._sender is not None:
            self._inputs.statuses.end(self._sender, again=True)
        self._inputs.operator.restore_watermark(self._inputs.combined())

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001
        inputs = self._inputs
        inputs.idle[self._index] = idle
        all_idle = all(inputs.idle)
        if not all_idle:
            inputs.operator.set_idle(False)
        inputs.operator.advance_watermark(inputs.combined())
        if all_idle:
            inputs.operator.set_idle(True)

    def separate(self) -> None:
        self._inputs.operator.separate()

    def set_backlog(self, backlog: bool) -> None:  # noqa: FBT001
        assert self._sender is not None, "level 0 sends no status"
        self._inputs.statuses.set_backlog(self._sender, backlog)


class _TimelessInput(_Input):
    """One input of an operator of a job without time: it receives records and the end of input."""

    __slots__ = ()

    def advance_watermark(self, watermark: int) -> None:
        spec = self._inputs.operator.spec
        check_watermark(watermark, f"operator {spec.name!r}", spec.origin)
        super().advance_watermark(watermark)

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001
        spec = self._inputs.operator.spec
        status = f"the watermark status {'idle' if idle else 'active'}"
        raise no_watermarks(status, f"operator {spec.name!r}", spec.origin)
