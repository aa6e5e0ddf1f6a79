"""The frame counter and the clock that the writers of one task share."""

from __future__ import annotations

from penstock.metrics.task_clock import TaskClock


class FrameSequence:
    """Numbers the frames of a task, and has the task's clock.

    Attributes:
        task: Index of the task.
        clock: Measures the task.
    """

    __slots__ = ("_next", "clock", "task")

    def __init__(self, task: int, clock: TaskClock | None = None) -> None:
        """Start at 0."""
        self.task = task
        self.clock = TaskClock() if clock is None else clock
        self._next = 0

    def take(self) -> int:
        """Return the next number."""
        number = self._next
        self._next = number + 1
        return number
