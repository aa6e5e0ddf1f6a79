"""State of `map_groups` and of aggregates of columns over drivers that are killed in history, at the hand-over and live.

Finds state that is lost at the hand-over, records that count twice behind a kill.
"""

from __future__ import annotations

from pathlib import Path

from tests.faults.drivers import MIXED, Drivers
from tests.faults.jobs import groups

PLACES = ["batch.staged:1", "live.started:1", "epoch.record-linked:2", "live.committed:2"]
COUNT = 400


def test_no_state_is_lost_and_nothing_counts_twice(tmp_path: Path) -> None:
    drivers = Drivers(
        Path(groups.__file__),
        (str(tmp_path / "out"), str(COUNT)),
        tmp_path / "job",
        tmp_path / "markers",
        {**MIXED, "execution.live.max-records-per-batch": "40"},
    )
    for place in PLACES:
        drivers.is_killed_at(place)
    drivers.succeeds()
    groups.check(tmp_path / "out", COUNT)
