"""What a run passes to the next one."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HandOver:
    """What goes over beside keyed state.

    Attributes:
        watermarks: Channel to group to watermark; group -1 stands for every subtask.
        memory: uid to what an operator remembers.
    """

    watermarks: dict[int, dict[int, int]] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
