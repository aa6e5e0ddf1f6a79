"""Strategies that remove expired values which are not read: inner classes of `StateTtlConfig`."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeAlias

from penstock.errors import ArgumentError
from penstock.types import Duration

_DEFAULT_CLEANUP_SIZE = 5
_DEFAULT_CLOCK_ENTRIES = 1000
_MONTH = Duration.of_days(30)


class CleanupStrategy(ABC):  # noqa: B024 - as in PyFlink, the root of classes without a common method
    """Base of the strategies that remove expired values."""


class EmptyCleanupStrategy(CleanupStrategy):
    """A strategy without parameters."""


class IncrementalCleanupStrategy(CleanupStrategy):
    """Some entries are checked per access."""

    def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:  # noqa: FBT001 - PyFlink's signature
        self._cleanup_size = _count("cleanup_size", cleanup_size)
        self._every_record = bool(run_cleanup_for_every_record)

    def get_cleanup_size(self) -> int:
        """Return the number of entries checked per access."""
        return self._cleanup_size

    def run_cleanup_for_every_record(self) -> bool:
        """Return whether as many are checked per record."""
        return self._every_record


class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
    """All entries of a key group are checked when its log is compacted."""

    def __init__(
        self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
    ) -> None:
        self._entries = _count("query_time_after_num_entries", query_time_after_num_entries)
        self._period = _MONTH if periodic_compaction_time is None else periodic_compaction_time

    def get_query_time_after_num_entries(self) -> int:
        """Return the number of entries after which the clock is read again."""
        return self._entries

    def get_periodic_compaction_time(self) -> Duration:
        """Return the time that was set, which has no effect."""
        return self._period


class CleanupStrategyKind(Enum):
    """The kinds of cleanup strategies."""

    FULL_STATE_SCAN_SNAPSHOT = 0
    INCREMENTAL_CLEANUP = 1
    ROCKSDB_COMPACTION_FILTER = 2


_Kind = CleanupStrategyKind
_EMPTY = EmptyCleanupStrategy()


class CleanupStrategies:
    """The strategies that remove expired values which are not read.

    A value that is read is always removed if it has expired.
    """

    Strategies: TypeAlias = CleanupStrategyKind
    CleanupStrategy: TypeAlias = CleanupStrategy
    EmptyCleanupStrategy: TypeAlias = EmptyCleanupStrategy
    IncrementalCleanupStrategy: TypeAlias = IncrementalCleanupStrategy
    RocksdbCompactFilterCleanupStrategy: TypeAlias = RocksdbCompactFilterCleanupStrategy
    EMPTY_STRATEGY = _EMPTY

    def __init__(
        self,
        strategies: Mapping[CleanupStrategyKind, CleanupStrategy],
        is_cleanup_in_background: bool,  # noqa: FBT001 - PyFlink's signature
    ) -> None:
        self._strategies: dict[CleanupStrategyKind, Any] = dict(strategies)
        self._in_background = is_cleanup_in_background

    def is_cleanup_in_background(self) -> bool:
        """Return whether strategies that were not set have their defaults."""
        return self._in_background

    def in_full_snapshot(self) -> bool:
        """Return whether expired values are removed before a savepoint or a hand-over."""
        return _Kind.FULL_STATE_SCAN_SNAPSHOT in self._strategies

    def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
        """Return the strategy that was set; by default 5 entries per access, none per record."""
        found: IncrementalCleanupStrategy | None = self._strategies.get(_Kind.INCREMENTAL_CLEANUP)
        if found is None and self._in_background:
            return IncrementalCleanupStrategy(_DEFAULT_CLEANUP_SIZE, False)  # noqa: FBT003 - PyFlink's signature
        return found

    def get_rocksdb_compact_filter_cleanup_strategy(
        self,
    ) -> RocksdbCompactFilterCleanupStrategy | None:
        """Return the strategy that was set; by default the clock is read every 1000 entries."""
        found: RocksdbCompactFilterCleanupStrategy | None
        found = self._strategies.get(_Kind.ROCKSDB_COMPACTION_FILTER)
        if found is None and self._in_background:
            return RocksdbCompactFilterCleanupStrategy(_DEFAULT_CLOCK_ENTRIES)
        return found


def _count(what: str, number: Any) -> int:
    if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
        return number
    raise ArgumentError.here(
        f"{what} is {number!r}", hint="Pass a whole number that is not negative."
    )
