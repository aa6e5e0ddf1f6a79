"""`StateTtlConfig` keeps what it is told, has Flink's defaults, and refuses nonsense."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Duration, Time
from penstock.datastream.state import StateTtlConfig
from penstock.errors import ArgumentError
from penstock.state.handles.ttl import TimeToLive

Update = StateTtlConfig.UpdateType
Visibility = StateTtlConfig.StateVisibility
Clock = StateTtlConfig.TtlTimeCharacteristic
Cleanup = StateTtlConfig.CleanupStrategies


# Untyped, as in a program nobody type-checks.
config_class: Any = StateTtlConfig


def builder():
    return StateTtlConfig.new_builder(Time.seconds(1))


def test_defaults():
    config = builder().build()
    assert config.get_ttl() == Time.seconds(1)
    assert config.get_update_type() is Update.OnCreateAndWrite
    assert config.get_state_visibility() is Visibility.NeverReturnExpired
    assert config.get_ttl_time_characteristic() is Clock.ProcessingTime
    assert config.is_enabled()
    cleanup = config.get_cleanup_strategies()
    assert cleanup.is_cleanup_in_background()
    assert not cleanup.in_full_snapshot()
    incremental = cleanup.get_incremental_cleanup_strategy()
    assert incremental.get_cleanup_size() == 5
    assert not incremental.run_cleanup_for_every_record()
    rewriting = cleanup.get_rocksdb_compact_filter_cleanup_strategy()
    assert rewriting.get_query_time_after_num_entries() == 1000
    assert rewriting.get_periodic_compaction_time() == Duration.of_days(30)
    assert config.rule() == TimeToLive(1000)


def test_everything_that_is_set_is_read_back():
    config = (
        builder()
        .set_ttl(Duration.of_minutes(2))
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .cleanup_full_snapshot()
        .cleanup_incrementally(7, True)
        .cleanup_in_rocksdb_compact_filter(9, Duration.of_days(1))
        .disable_cleanup_in_background()
        .build()
    )
    assert config.get_ttl() == Time.minutes(2)
    cleanup = config.get_cleanup_strategies()
    assert not cleanup.is_cleanup_in_background()
    assert cleanup.in_full_snapshot()
    assert cleanup.get_incremental_cleanup_strategy().get_cleanup_size() == 7
    assert cleanup.get_incremental_cleanup_strategy().run_cleanup_for_every_record()
    rewriting = cleanup.get_rocksdb_compact_filter_cleanup_strategy()
    assert rewriting.get_periodic_compaction_time() == Duration.of_days(1)
    assert config.rule() == TimeToLive(
        120_000,
        Update.OnReadAndWrite,
        Visibility.ReturnExpiredIfNotCleanedUp,
        sweep_size=7,
        sweeps_per_record=True,
        cleans_snapshots=True,
        cleans_rewrites=True,
        clock_entries=9,
    )
    assert repr(config) == (
        "StateTtlConfig(120000 ms, OnReadAndWrite, ReturnExpiredIfNotCleanedUp)"
    )


def test_the_opposites_win_if_they_come_last():
    made = builder().update_ttl_on_read_and_write().update_ttl_on_create_and_write()
    config = made.return_expired_if_not_cleaned_up().never_return_expired().build()
    assert config.get_update_type() is Update.OnCreateAndWrite
    assert config.get_state_visibility() is Visibility.NeverReturnExpired


def test_without_background_only_what_is_set_cleans_up():
    cleanup = builder().disable_cleanup_in_background().build().get_cleanup_strategies()
    assert cleanup.get_incremental_cleanup_strategy() is None
    assert cleanup.get_rocksdb_compact_filter_cleanup_strategy() is None
    rule = builder().disable_cleanup_in_background().build().rule()
    assert (rule.sweep_size, rule.cleans_rewrites, rule.cleans_snapshots) == (0, False, False)


def test_disabled_means_that_nothing_expires():
    config = builder().set_update_type(Update.Disabled).build()
    assert not config.is_enabled()
    assert config.rule() is None


def test_a_builder_can_go_on_after_building():
    made = builder()
    before = made.build()
    made.cleanup_full_snapshot()
    assert not before.get_cleanup_strategies().in_full_snapshot()


def test_the_constructor_takes_the_parts():
    strategies = Cleanup(
        {Cleanup.Strategies.FULL_STATE_SCAN_SNAPSHOT: Cleanup.EMPTY_STRATEGY}, False
    )
    config = StateTtlConfig(
        Update.OnReadAndWrite,
        Visibility.NeverReturnExpired,
        Clock.ProcessingTime,
        Time.days(1),
        strategies,
    )
    rule = config.rule()
    assert rule is not None
    assert rule.cleans_snapshots
    assert rule.sweep_size == 0


REFUSED = {
    "number": lambda: config_class.new_builder(5),
    "nothing": lambda: StateTtlConfig.new_builder(Time.milliseconds(0)),
    "negative": lambda: builder().set_ttl(Duration.of_millis(-1)),
    "under a millisecond": lambda: builder().set_ttl(Duration.of_nanos(5)),
    "update type": lambda: builder().set_update_type("OnReadAndWrite"),
    "visibility": lambda: builder().set_state_visibility(Update.OnCreateAndWrite),
    "clock": lambda: builder().set_ttl_time_characteristic("event"),
    "cleanup size": lambda: builder().cleanup_incrementally(-1, False),
    "fraction": lambda: builder().cleanup_incrementally(1.5, False),
    "entries": lambda: builder().cleanup_in_rocksdb_compact_filter("9"),
}


@pytest.mark.parametrize("build", REFUSED.values(), ids=REFUSED)
def test_nonsense_is_refused_at_the_users_line(build):
    with pytest.raises(ArgumentError) as caught:
        build()
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__
