"""The job in which history in files meets live input: orders and clicks in one count."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from tests.faults.drivers import MIXED, Drivers
from tests.spark.jobs import orders_in_files, orders_in_frame

SETTINGS = {
    "execution.live.max-records-per-batch": "200",
    "execution.live.max-files-per-batch": "4",
    "execution.live.catch-up-factor": "1",
}


@dataclass(slots=True)
class MeetingJob:
    """Input, output and drivers.

    Attributes:
        root: Directory of everything.
        is_frame: Whether history is a DataFrame, and not in files.
    """

    root: Path
    is_frame: bool = False
    drivers: Drivers = field(init=False)

    def __post_init__(self) -> None:
        """Write the input."""
        data = self.root / "data"
        script, arguments = orders_in_files.__file__, (str(data), str(self.root / "out"))
        if self.is_frame:
            script, arguments = (
                orders_in_frame.__file__,
                (str(self.root / "out"), str(data / "gate")),
            )
            data.mkdir(parents=True)
            (data / "gate").touch()
        else:
            orders_in_files.write_input(data)
        self.drivers = Drivers(
            Path(script),
            arguments,
            self.root / "job",
            self.root / "markers",
            MIXED | SETTINGS,
        )

    def shown(self) -> orders_in_files.Counts:
        """Return the rows that are visible."""
        return Counter(
            tuple(row.values())
            for path in (self.root / "out" / "files").glob("*.parquet")
            for row in pq.read_table(path).to_pylist()
        )

    def assert_nothing_doubled(self) -> None:
        """Check that what is visible is part of a replay, nothing twice."""
        assert self.shown() <= orders_in_files.expected()

    def assert_complete(self) -> None:
        """Check that what is visible is a replay of the input."""
        assert self.shown() == orders_in_files.expected()
