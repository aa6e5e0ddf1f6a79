"""Who feeds the inputs of an operator, and what they said: ends, and whether records are stale."""

from __future__ import annotations

from penstock.program.record_attributes import combined_backlog
from penstock.runtime.operators.base import Operator


class InputSpeakers:
    """Combines, per input of one operator, what all that feed it say (FLIP-327 §2.9).

    An input is in backlog as soon as one of them is, and not before all have spoken it is not. An
    operator hears a thing once. One that does not speak for itself passes the same on over all
    its inputs.
    """

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._numbers: list[int] = []
        self._said: list[bool | None] = []
        self._told: dict[int, bool] = {}
        self._passed_on: bool | None = None
        self._ended: set[int] = set()

    def add(self, number: int) -> int:
        """Return a speaker for input `number`."""
        self._numbers.append(number)
        self._said.append(None)
        return len(self._said) - 1

    def say(self, speaker: int, backlog: bool) -> None:  # noqa: FBT001
        """Take whether the records of a speaker that follow are stale."""
        self._said[speaker] = backlog
        number = self._numbers[speaker]
        of_input = combined_backlog(self._said[at] for at in self._of(number))
        if of_input is not None and self._told.get(number) is not of_input:
            self._told[number] = of_input
            self._operator.take_backlog(number, of_input)
        together = combined_backlog(self._said)
        passes_on = not self._operator.speaks_for_itself
        if passes_on and together is not None and together is not self._passed_on:
            self._passed_on = together
            self._operator.pass_backlog_on(together)

    def end(self, speaker: int, *, again: bool = False) -> None:
        """Take that a speaker has ended; `again` if that was told before a restart."""
        if speaker in self._ended:
            return
        self._ended.add(speaker)
        number = self._numbers[speaker]
        if self._ended.issuperset(self._of(number)):
            tell = self._operator.restore_ended if again else self._operator.input_ended
            tell(number)

    def _of(self, number: int) -> list[int]:
        return [at for at, of in enumerate(self._numbers) if of == number]
