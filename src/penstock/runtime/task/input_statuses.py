"""The statuses of an operator's inputs: ends and backlog."""

from __future__ import annotations

from penstock.program.record_attributes import combined_backlog
from penstock.runtime.operators.base import Operator


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
        of_input = combined_backlog(self._backlogs[at] for at in self._of(number))
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
        return [at for at, of in enumerate(self._numbers) if of == number]
