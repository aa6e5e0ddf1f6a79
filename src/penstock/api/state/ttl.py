"""Time-to-live of state: `StateTtlConfig`, its builder and its cleanup strategies."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeAlias, TypeVar

from penstock.errors import ArgumentError
from penstock.state.handles.ttl import StateVisibility as TtlVisibility
from penstock.state.handles.ttl import TimeToLive
from penstock.state.handles.ttl import UpdateType as TtlUpdateType
from penstock.types import Duration, Time

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
        return CleanupStrategyKind.FULL_STATE_SCAN_SNAPSHOT in self._strategies

    def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
        """Return the strategy that was set; by default 5 entries per access, none per record."""
        strategy: IncrementalCleanupStrategy | None = self._strategies.get(
            CleanupStrategyKind.INCREMENTAL_CLEANUP
        )
        if strategy is None and self._in_background:
            return IncrementalCleanupStrategy(_DEFAULT_CLEANUP_SIZE, False)  # noqa: FBT003 - PyFlink's signature
        return strategy

    def get_rocksdb_compact_filter_cleanup_strategy(
        self,
    ) -> RocksdbCompactFilterCleanupStrategy | None:
        """Return the strategy that was set; by default the clock is read every 1000 entries."""
        strategy: RocksdbCompactFilterCleanupStrategy | None
        strategy = self._strategies.get(CleanupStrategyKind.ROCKSDB_COMPACTION_FILTER)
        if strategy is None and self._in_background:
            return RocksdbCompactFilterCleanupStrategy(_DEFAULT_CLOCK_ENTRIES)
        return strategy


def _count(what: str, number: Any) -> int:
    if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
        return number
    raise ArgumentError.here(
        f"{what} is {number!r}", hint="Pass a whole number that is not negative."
    )


E = TypeVar("E", bound=Enum)


class TtlTimeCharacteristic(Enum):
    """The clock by which values expire."""

    ProcessingTime = 0
    """The wall clock of the worker."""


class StateTtlConfigBuilder:
    """Builds a `StateTtlConfig`; every method but `build` returns the builder.

    Example:
        >>> StateTtlConfig.new_builder(Time.hours(1)).return_expired_if_not_cleaned_up().build()
        StateTtlConfig(3600000 ms, OnCreateAndWrite, ReturnExpiredIfNotCleanedUp)
    """

    def __init__(self, ttl: Time | Duration) -> None:
        self._ttl = _length(ttl)
        self._update = TtlUpdateType.OnCreateAndWrite
        self._visibility = TtlVisibility.NeverReturnExpired
        self._clock = TtlTimeCharacteristic.ProcessingTime
        self._in_background = True
        self._strategies: dict[CleanupStrategyKind, CleanupStrategy] = {}

    def set_update_type(self, update_type: TtlUpdateType) -> StateTtlConfigBuilder:
        """Set which accesses restart the time-to-live of a value: `update_type`."""
        self._update = _member(TtlUpdateType, update_type)
        return self

    def update_ttl_on_create_and_write(self) -> StateTtlConfigBuilder:
        """Restart the time-to-live at every write; the default."""
        return self.set_update_type(TtlUpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> StateTtlConfigBuilder:
        """Restart the time-to-live at every write and read."""
        return self.set_update_type(TtlUpdateType.OnReadAndWrite)

    def set_state_visibility(self, state_visibility: TtlVisibility) -> StateTtlConfigBuilder:
        """Set whether an expired value can be read: `state_visibility`."""
        self._visibility = _member(TtlVisibility, state_visibility)
        return self

    def return_expired_if_not_cleaned_up(self) -> StateTtlConfigBuilder:
        """Return an expired value, once, if it was not removed yet."""
        return self.set_state_visibility(TtlVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> StateTtlConfigBuilder:
        """Never return an expired value; the default."""
        return self.set_state_visibility(TtlVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(
        self, ttl_time_characteristic: TtlTimeCharacteristic
    ) -> StateTtlConfigBuilder:
        """Set the clock; `ttl_time_characteristic` can only be processing time."""
        self._clock = _member(TtlTimeCharacteristic, ttl_time_characteristic)
        return self

    def use_processing_time(self) -> StateTtlConfigBuilder:
        """Use the wall clock; the default."""
        return self.set_ttl_time_characteristic(TtlTimeCharacteristic.ProcessingTime)

    def cleanup_full_snapshot(self) -> StateTtlConfigBuilder:
        """Remove expired values before a savepoint or a hand-over between runs."""
        self._strategies[CleanupStrategyKind.FULL_STATE_SCAN_SNAPSHOT] = (
            CleanupStrategies.EMPTY_STRATEGY
        )
        return self

    def cleanup_incrementally(
        self,
        cleanup_size: int,
        run_cleanup_for_every_record: bool,  # noqa: FBT001 - PyFlink's signature
    ) -> StateTtlConfigBuilder:
        """Check some entries at each access of the state, and remove those that have expired.

        Args:
            cleanup_size: Entries per access; 0 for none.
            run_cleanup_for_every_record: Check as many per record, too.
        """
        self._strategies[CleanupStrategyKind.INCREMENTAL_CLEANUP] = IncrementalCleanupStrategy(
            cleanup_size, run_cleanup_for_every_record
        )
        return self

    def cleanup_in_rocksdb_compact_filter(
        self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
    ) -> StateTtlConfigBuilder:
        """Remove expired values of a key group when its log is compacted.

        Args:
            query_time_after_num_entries: Entries after which the clock is read again.
            periodic_compaction_time: Has no effect: logs are compacted by their size.
        """
        self._strategies[CleanupStrategyKind.ROCKSDB_COMPACTION_FILTER] = (
            RocksdbCompactFilterCleanupStrategy(
                query_time_after_num_entries, periodic_compaction_time
            )
        )
        return self

    def disable_cleanup_in_background(self) -> StateTtlConfigBuilder:
        """Disable the strategies that were not set explicitly."""
        self._in_background = False
        return self

    def set_ttl(self, ttl: Time | Duration) -> StateTtlConfigBuilder:
        """Set the time-to-live of a value to `ttl`."""
        self._ttl = _length(ttl)
        return self

    def build(self) -> StateTtlConfig:
        """Return the configuration."""
        cleanup = CleanupStrategies(self._strategies, self._in_background)
        return StateTtlConfig(self._update, self._visibility, self._clock, self._ttl, cleanup)


class StateTtlConfig:
    """The time-to-live of the values of a state, for `StateDescriptor.enable_time_to_live`.

    Example:
        >>> StateTtlConfig.new_builder(Time.days(1)).update_ttl_on_read_and_write().build()
        StateTtlConfig(86400000 ms, OnReadAndWrite, NeverReturnExpired)
        >>> ttl = StateTtlConfig.new_builder(Time.hours(1)).build()
        >>> ttl.is_enabled(), ttl.get_ttl().to_milliseconds(), ttl.get_update_type().name
        (True, 3600000, 'OnCreateAndWrite')
        >>> ttl.get_state_visibility().name, ttl.get_ttl_time_characteristic().name
        ('NeverReturnExpired', 'ProcessingTime')
        >>> ttl.get_cleanup_strategies().is_cleanup_in_background()
        True
    """

    UpdateType: TypeAlias = TtlUpdateType
    StateVisibility: TypeAlias = TtlVisibility
    TtlTimeCharacteristic: TypeAlias = TtlTimeCharacteristic
    Builder: TypeAlias = StateTtlConfigBuilder
    CleanupStrategies: TypeAlias = CleanupStrategies

    def __init__(
        self,
        update_type: TtlUpdateType,
        state_visibility: TtlVisibility,
        ttl_time_characteristic: TtlTimeCharacteristic,
        ttl: Time | Duration,
        cleanup_strategies: CleanupStrategies,
    ) -> None:
        self._update = _member(TtlUpdateType, update_type)
        self._visibility = _member(TtlVisibility, state_visibility)
        self._clock = _member(TtlTimeCharacteristic, ttl_time_characteristic)
        self._ttl = _length(ttl)
        self._cleanup = cleanup_strategies

    @staticmethod
    def new_builder(ttl: Time | Duration) -> StateTtlConfigBuilder:
        """Return a builder.

        Args:
            ttl: The time-to-live; at least one millisecond.

        Raises:
            ArgumentError: `ttl` is no length of time, or not a positive one.
        """
        return StateTtlConfigBuilder(ttl)

    def get_update_type(self) -> TtlUpdateType:
        """Return which accesses restart the time-to-live of a value."""
        return self._update

    def get_state_visibility(self) -> TtlVisibility:
        """Return whether an expired value can be read."""
        return self._visibility

    def get_ttl(self) -> Time:
        """Return the time-to-live."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """Return the clock."""
        return self._clock

    def is_enabled(self) -> bool:
        """Return whether values expire."""
        return self._update is not TtlUpdateType.Disabled

    def get_cleanup_strategies(self) -> CleanupStrategies:
        """Return the strategies that remove expired values which are not read."""
        return self._cleanup

    def rule(self) -> TimeToLive | None:
        """Return the time-to-live in the form of the runtime; None if values do not expire."""
        if not self.is_enabled():
            return None
        incremental = self._cleanup.get_incremental_cleanup_strategy()
        rewriting = self._cleanup.get_rocksdb_compact_filter_cleanup_strategy()
        return TimeToLive(
            self._ttl.to_milliseconds(),
            self._update,
            self._visibility,
            sweep_size=incremental.get_cleanup_size() if incremental else 0,
            sweeps_per_record=bool(incremental and incremental.run_cleanup_for_every_record()),
            cleans_snapshots=self._cleanup.in_full_snapshot(),
            cleans_rewrites=rewriting is not None,
            clock_entries=rewriting.get_query_time_after_num_entries() if rewriting else 0,
        )

    def __repr__(self) -> str:
        return f"StateTtlConfig({self._ttl}, {self._update.name}, {self._visibility.name})"


def _length(ttl: Any) -> Time:
    time = Time.milliseconds(ttl.to_millis()) if isinstance(ttl, Duration) else ttl
    if isinstance(time, Time) and time.to_milliseconds() > 0:
        return time
    raise ArgumentError.here(
        f"a time-to-live of {ttl!r}",
        hint="Pass a length of at least one millisecond, e.g. Time.hours(1).",
    )


def _member(enum: type[E], member: Any) -> E:
    if isinstance(member, enum):
        return member
    raise ArgumentError.here(
        f"{member!r} was given where StateTtlConfig takes a {enum.__name__}",
        hint=f"Pass one of {', '.join(f'{enum.__name__}.{known.name}' for known in enum)}.",
    )
