"""The hand-over: values other than keyed state that a run passes to the next run."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HandOver:
    """The values other than keyed state that a run passes to the next run.

    Attributes:
        watermarks: Channel to group to watermark; group -1 means every subtask.
        memory: uid to the value that the operator's `memory` returned.
    """

    watermarks: dict[int, dict[int, int]] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
