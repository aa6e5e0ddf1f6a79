"""Cumulating windows: of SQL's CUMULATE, which grow step by step."""

from __future__ import annotations

from penstock.api.windows.timed_assigners import EventTimeAssigner, RegularAssigner
from penstock.program.regular_windows import RegularWindows


class CumulatingEventTimeWindows(EventTimeAssigner, RegularAssigner):
    """Windows by the timestamps of records, of which all that begin together end a step apart, up to one length."""

    def __init__(self, size: int, step: int, offset: int) -> None:
        """Make windows of up to `size` milliseconds, a multiple of `step`, one of which starts at `offset`."""
        self.size, self.step, self.offset = size, step, offset

    @property
    def regular(self) -> RegularWindows:
        """The windows."""
        return RegularWindows(self.size, self.step, self.offset, grows=self.step < self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.step}, {self.offset})"
