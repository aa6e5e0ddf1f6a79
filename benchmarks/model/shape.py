"""What one system computes in a bounded program; the same object on both sides of the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

BATCH, STREAMING, MIXED = "BATCH", "STREAMING", "MIXED"

MODES: dict[str, dict[str, str]] = {
    BATCH: {"execution.runtime-mode": "BATCH"},
    STREAMING: {"execution.runtime-mode": "STREAMING"},
    MIXED: {
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.interval-during-backlog": "0",
    },
}
"""Mode of a system of ours to its settings."""


WINDOW_RECORDS = "window-records"
"""Option: records of a key in a window, two if a program has no such option."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of a program's input, and how it is run.

    Attributes:
        records: Records that are there from the start.
        live: Records that follow them as live ones; 0 unless the mode is MIXED.
        keys: Number of different keys.
        parallelism: Cores and subtasks.
        mode: BATCH, STREAMING or MIXED.
        parameters: The program's own options.
    """

    records: int
    live: int
    keys: int
    parallelism: int
    mode: str
    parameters: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All records; record `i` is the same one in every mode."""
        return self.records + self.live

    @property
    def lanes(self) -> int:
        """Into how many ranges of equal length the records can be cut, one per subtask."""
        return 1 if self.records % self.parallelism else self.parallelism

    @property
    def window_ms(self) -> int:
        """Length of a window in milliseconds: record v, at v ms, is of key v % K."""
        return self.parameters.get(WINDOW_RECORDS, 2) * self.keys

    def to_json(self) -> dict[str, Any]:
        """Return its attributes."""
        return asdict(self)
