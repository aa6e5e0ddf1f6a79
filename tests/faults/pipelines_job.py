"""The job whose pipelines are killed one by one: visits, a bounded region, what reads its results, and a log."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from tests.faults.drivers import Drivers
from tests.faults.jobs import visits_beside
from tests.faults.visits_job import VisitsJob
from tests.log_world import AppendedLog
from tests.spark.jobs import enriched


@dataclass(slots=True)
class PipelinesJob:
    """Input, output and drivers.

    Attributes:
        root: Directory of everything.
    """

    root: Path
    visits: VisitsJob = field(init=False)
    drivers: Drivers = field(init=False)

    def __post_init__(self) -> None:
        """Write the input."""
        self.visits = VisitsJob(self.root, count=900, epochs=16)
        self.drivers = self.visits.drivers
        self.drivers.script = Path(visits_beside.__file__)
        self.drivers.arguments = (self._data, str(self.visits.out))
        visits_beside.write_logs(self._data)

    @property
    def _data(self) -> str:
        return str(self.visits.data)

    def rows(self, sink: str) -> Counter[tuple[int, ...]]:
        """Return the rows that a sink shows."""
        return Counter(
            tuple(row.values())
            for path in (self.visits.out / sink).glob("*.parquet")
            for row in pq.read_table(path).to_pylist()
        )

    def clicks_confirmed(self) -> int:
        """Return of how many clicks the log was told that they will not be read again."""
        return _confirmed(visits_beside.clicks_of(self._data))

    def bounded_confirmed(self) -> int:
        """Return the same of the records of the bounded region."""
        return _confirmed(visits_beside.bounded_of(self._data))

    def assert_nothing_doubled(self) -> None:
        """Check that sinks show part of a replay, nothing twice, and that nothing was confirmed before it is shown."""
        clicks = self.rows("clicks")
        assert clicks <= visits_beside.expected_clicks()
        totals, seen = enriched.answer(self.rows("enriched"))
        wanted_totals, wanted_seen = enriched.expected()
        assert totals <= wanted_totals
        assert seen <= wanted_seen
        assert self.clicks_confirmed() <= clicks.total()

    def assert_complete(self) -> None:
        """Check that the sinks hold what a replay of the input gives, and that logs were told."""
        self.visits.assert_complete()
        assert self.rows("clicks") == visits_beside.expected_clicks()
        assert enriched.answer(self.rows("enriched")) == enriched.expected()
        assert self.clicks_confirmed() == visits_beside.COUNT
        assert self.bounded_confirmed() == enriched.BOUNDED


def _confirmed(log: AppendedLog) -> int:
    """Return how many records begin before the positions that were confirmed last."""
    return sum(
        1 + (Path(log.directory) / f"{split}.log").read_bytes()[: position - 1].count(b"\n")
        for split, position in log.confirmed().items()
        if position
    )
