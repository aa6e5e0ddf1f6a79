"""One call of the loop to the planner between two epochs: sources may block in each part of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.spark.live.epochs.epoch_planner import EpochPlanner
from penstock.spark.live.epochs.epoch_positions import EpochPositions, PlannedEpoch


@dataclass(frozen=True, slots=True)
class PlannerAnswer:
    """Next action of the loop.

    Attributes:
        planned: The next epoch; None if there is nothing to do.
        records_left: Pending records after it, None if no source knows them.
        files_left: Pending files after it, None if no source has files.
        waiting: Source id to split to pending records, as of the last second.
        seconds_to_next: If there is nothing to do: the time until a source has records, None if nobody knows.
    """

    planned: PlannedEpoch | None
    records_left: int | None
    files_left: int | None
    waiting: Mapping[int, Mapping[str, int]]
    seconds_to_next: float | None


def answer_of(planner: EpochPlanner, at: EpochPositions, **how: Any) -> PlannerAnswer:
    """Return the next epoch, and what is left behind it."""
    planned = planner.next(at, **how)
    after = at if planned is None else planned.after
    waits = planner.seconds_to_next(at) if planned is None else None
    records, files = planner.records_left(after), planner.files_left(after)
    waiting = planner.records_waiting(after) if records else {}
    return PlannerAnswer(planned, records, files, waiting, waits)
