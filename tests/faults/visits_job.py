"""The job most faults happen to: history, then live files; state, timers and two sinks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.drivers import MIXED, Drivers
from tests.spark.visits import (
    JOB,
    Visit,
    expected_quiet,
    expected_totals,
    make_visits,
    write_visits,
    written_quiet,
    written_totals,
)


@dataclass(slots=True)
class VisitsJob:
    """Input, output and drivers.

    Attributes:
        root: Directory of everything.
        settings: Configuration.
        count: How many visits there are; half of them, a few more, are history.
        epochs: In how many epochs the others come.
        mode: Whether history is a batch run.
        reads_files: Whether the live files are read as files, and not their rows by position.
    """

    root: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    count: int = 600
    epochs: int = 3
    mode: Mapping[str, str] = field(default_factory=lambda: MIXED)
    reads_files: bool = False
    visits: list[Visit] = field(init=False)
    drivers: Drivers = field(init=False)

    def __post_init__(self) -> None:
        """Write the input."""
        self.visits = make_visits(self.count)
        cut = self.count * 5 // 9
        files = self.epochs if self.reads_files else 3
        write_visits(self.data, self.visits, cut=cut, files=files)
        self.drivers = Drivers(
            JOB,
            (str(self.data), str(self.out), self.live),
            self.checkpoints,
            self.root / "markers",
            {**self.mode, **self.epoch_settings, **self.settings},
        )

    @property
    def live(self) -> str:
        """How the program reads the live files."""
        return "files" if self.reads_files else "positions"

    @property
    def epoch_settings(self) -> dict[str, str]:
        """The configuration that gives the live run the number of its epochs."""
        live = self.count - self.count * 5 // 9
        return {
            "execution.live.max-files-per-batch": "1",
            "execution.live.max-records-per-batch": str(-(-live // self.epochs)),
            "execution.live.catch-up-factor": "1",
        }

    @property
    def epoch_files(self) -> Path:
        """Directory of the records and segments of the loop."""
        return self.checkpoints / "run-1" / "epochs"

    def has_begun(self, epoch: int) -> bool:
        """Whether an epoch of the live run counts."""
        return (self.epoch_files / "records" / f"{epoch:012}").exists()

    @property
    def data(self) -> Path:
        """Input, below `history` and `live`."""
        return self.root / "data"

    @property
    def out(self) -> Path:
        """Output."""
        return self.root / "out"

    @property
    def checkpoints(self) -> Path:
        """The checkpoint directory."""
        return self.root / "job"

    def assert_nothing_visible(self) -> None:
        """Check that no sink shows anything."""
        assert written_totals(self.out) == (0, {})
        assert not written_quiet(self.out)

    def assert_nothing_wrong(self) -> None:
        """Check that what the sinks hold is part of what a replay gives, and nothing twice."""
        count, last = written_totals(self.out)
        assert count == sum(visits for visits, _ in last.values())
        wanted = expected_totals(self.visits)
        assert all(visits <= wanted[page][0] for page, (visits, _) in last.items())
        assert written_quiet(self.out) <= expected_quiet(self.visits)

    def assert_complete(self) -> None:
        """Check that the sinks hold what a replay of the input gives."""
        count, last = written_totals(self.out)
        assert last == expected_totals(self.visits)
        assert count == len(self.visits)
        assert written_quiet(self.out) == expected_quiet(self.visits)
