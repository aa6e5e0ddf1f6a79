"""A log that is read as another one says: what both say of themselves, in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.graph.dataset import Dataset
from penstock.graph.log_source import LogSource
from penstock.graph.log_values import LogBatch, LogSplit


class WrappedLog(LogSource):
    """A log that passes on what `source` says and does; a subclass overrides what is different."""

    __slots__ = ()

    source: LogSource

    @property
    def makes_records_anew(self) -> bool:  # type: ignore[override]
        """True if records are new every time. A subclass with a `read` of its own does not inherit it."""
        return self.source.makes_records_anew

    @property
    def is_dense(self) -> bool:  # type: ignore[override]
        """True if every position has a record."""
        return self.source.is_dense

    @property
    def is_single(self) -> bool:  # type: ignore[override]
        """True if a position has at most one record."""
        return self.source.is_single

    @property
    def read_timeout_seconds(self) -> float:  # type: ignore[override]
        """Time for which reading may wait for records below the head."""
        return self.source.read_timeout_seconds

    @property
    def confirm_timeout_seconds(self) -> float:  # type: ignore[override]
        """Time for which the end of a run waits for the last call of `confirm`."""
        return self.source.confirm_timeout_seconds

    @property
    def discovery_seconds(self) -> float:  # type: ignore[override]
        """Least time between two calls of `discover`."""
        return self.source.discovery_seconds

    @property
    def counts_records(self) -> bool:  # type: ignore[override]
        """True if the wrapped log counts records by positions."""
        return self.source.counts_records

    @property
    def records_per_second(self) -> int | None:  # type: ignore[override]
        """The rate limit of the source in live runs."""
        return self.source.records_per_second

    @property
    def gives_timestamps(self) -> bool:
        """True if records may have timestamps before any strategy assigns them."""
        return self.source.gives_timestamps

    @property
    def is_divisible(self) -> bool:
        """True if tasks may read ranges of one split at the same time."""
        return self.source.is_divisible

    @property
    def knows_costs(self) -> bool:
        """True if the source knows costs."""
        return self.source.knows_costs

    @property
    def is_confirmed(self) -> bool:
        """True if the source is told of commits."""
        return self.source.is_confirmed

    def datasets(self) -> Sequence[Dataset]:
        """Return what the source reads."""
        return self.source.datasets()

    def discover(self, known: Mapping[str, int]) -> Sequence[LogSplit]:
        """Return the splits of the source."""
        return self.source.discover(known)

    def read(self, split: str, start: int, end: int) -> LogBatch:
        """Return records of a range."""
        return self.source.read(split, start, end)

    def cost(self, split: str, start: int, end: int) -> int | None:
        """Return how much there is to read in a range."""
        return self.source.cost(split, start, end)

    def confirm(self, positions: Mapping[str, int]) -> None:
        """Tell the source what the job will not read again."""
        self.source.confirm(positions)
