"""Settings without effect that a user would wait for are told of, once."""

from __future__ import annotations

import pytest

from penstock.api.environment import environment_settings
from penstock.common import Configuration
from penstock.config.accepted_options import (
    ACCEPTED_PREFIXES,
    IGNORED_PREFIXES,
    REFUSED_KEYS,
)
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import ConfigError, SqlError
from penstock.testing import collect

REPORTER = {
    "metrics.reporter.prom.port": "9249",
    "metrics.reporter.jmx.port": "8789",
    "rest.port": "1",
}


def test_reporters_are_told_of_once(monkeypatch, caplog):
    monkeypatch.setattr(environment_settings, "_logged", set())
    for _ in range(2):
        environment_settings.log_ignored_settings(Configuration.from_dict(REPORTER))
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith("reporter of metrics jmx has no effect: ")
    assert "metrics.log-interval" in message


@pytest.mark.parametrize("prefix", IGNORED_PREFIXES)
def test_each_of_them_says_what_holds_instead(prefix):
    assert prefix in ACCEPTED_PREFIXES


@pytest.mark.parametrize("key", REFUSED_KEYS)
def test_a_key_that_would_change_results_is_refused(key):
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({key: "x"}))
    with pytest.raises(ConfigError, match=f"{key}.*would change results") as caught:
        collect(env.from_collection([1]))
    assert REFUSED_KEYS[key].instead in str(caught.value)
    with pytest.raises(SqlError, match="would change results"):
        StreamExecutionEnvironment.get_execution_environment().execute_sql(f"SET '{key}' = 'x'")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pipeline.time-characteristic", "EventTime"),
        ("fs.default-scheme", "file:///"),
        ("execution.state-recovery.claim-mode", "NO_CLAIM"),
        ("execution.checkpointing.checkpoints-after-tasks-finish", "true"),
        ("table.sql-dialect", "default"),
        ("table.exec.legacy-cast-behaviour", "DISABLED"),
    ],
)
def test_the_value_that_means_what_is_done_here_is_accepted(key, value):
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({key: value})
    )
    assert collect(env.from_collection([1])) == [1]
    env.execute_sql(f"SET '{key}' = '{value}'")


@pytest.mark.parametrize(
    "key",
    [
        "table.exec.sink.not-null-enforcer",
        "table.exec.source.idle-timeout",
        "table.exec.sink.upsert-materialize",
        "execution.runtime-mod",
    ],
)
def test_a_key_that_nobody_reads_is_refused(key):
    with pytest.raises(SqlError, match="unknown configuration key"):
        StreamExecutionEnvironment.get_execution_environment().execute_sql(f"SET '{key}' = 'x'")


def test_options_of_rocksdb_are_accepted_and_those_of_nobody_are_not():
    Configuration.from_dict({"state.backend.rocksdb.block.cache-size": "64m"}).validate()
    with pytest.raises(ConfigError, match="rockdb"):
        Configuration.from_dict({"state.backend.rockdb.block.cache-size": "64m"}).validate()
