"""The rounds of an upgrade as events describe them: what is new in a program reads until it meets the old job.

round 0     the history, in a batch run; the old job goes on
rounds …    what the old job has read meanwhile
last round  up to the position at which the old job has stopped: from there on both parts are one job
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.observe.events.job_events import RoundFinished, RoundProgress

_MOST_ROUNDS = 100


@dataclass(slots=True)
class RoundView:
    """One round.

    Attributes:
        number: As in `RoundProgress`.
        kind: As in `RoundProgress`.
        started_ms: When it began, in epoch milliseconds.
        seconds: Wall clock so far.
        records: Records read so far.
        progress: As in `RoundProgress`.
        finished_ms: When it ended, None if it has not.
        behind: As in `RoundFinished`.
        is_last: As in `RoundFinished`.
    """

    number: int
    kind: str
    started_ms: int
    seconds: float = 0.0
    records: int = 0
    progress: float | None = None
    finished_ms: int | None = None
    behind: Sequence[Mapping[str, Any]] = ()
    is_last: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as the status of a job has it."""
        return {
            "number": self.number,
            "kind": self.kind,
            "started_ms": self.started_ms,
            "finished_ms": self.finished_ms,
            "seconds": self.seconds,
            "records": self.records,
            "records_per_second": self.records / self.seconds if self.seconds > 0 else None,
            "progress": self.progress if self.finished_ms is None else 1.0,
            "behind": list(self.behind),
            "is_last": self.is_last,
        }


class RoundViews:
    """The rounds of one upgrade, also those of earlier drivers until it is complete."""

    def __init__(self) -> None:
        self.views: list[RoundView] = []

    def note(self, event: RoundProgress | RoundFinished) -> None:
        """Add an event. A round that begins again takes the place of its earlier attempt."""
        started = event.at_ms - round(event.seconds * 1000)
        view = RoundView(event.number, event.kind, started, event.seconds, event.records)
        if isinstance(event, RoundFinished):
            view.finished_ms, view.behind, view.is_last = event.at_ms, event.behind, event.is_last
        else:
            view.progress = event.progress
        earlier = [other for other in self.views if other.number < event.number]
        self.views = [*earlier, view][-_MOST_ROUNDS:]

    def of_next_driver(self, *, has_begun: bool) -> RoundViews:
        """Return those that are shown when a driver begins: none if the last one was followed by a run of the job."""
        is_over = has_begun and self.views and self.views[-1].is_last
        return RoundViews() if is_over else self
