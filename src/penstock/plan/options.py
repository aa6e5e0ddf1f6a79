"""The options of the planner, read from the configuration."""

from __future__ import annotations

import os
from datetime import timedelta

from penstock.config.configuration import Configuration
from penstock.config.options import (
    AUTO_UIDS,
    CHECKPOINT_DIR,
    ENABLE_CODED_ROWDATA,
    EVOLUTION_SINKS,
    HISTORY,
    HISTORY_PARALLELISM,
    HISTORY_TABLES,
    IGNORE_KEY_KINDS,
    INTERVAL_DURING_BACKLOG,
    MAX_PARALLELISM,
    OBJECT_REUSE,
    OPERATOR_CHAINING,
    PARALLELISM,
    RUNTIME_MODE,
    SHADOW,
    SORTED_INPUTS_MEMORY,
    START_EMPTY,
    STATE_COMPRESSION,
    STATE_TTL,
    VERIFY_OBJECT_REUSE,
    ShadowSinks,
)
from penstock.config.parse import parse_list
from penstock.config.run_options import (
    AUTO_WATERMARK_INTERVAL,
    BACKLOG_OUTPUT,
    BACKLOG_SHARE,
    BACKLOG_TASKS,
    BATCH_COMBINE,
    BATCH_EXPRESSIONS,
    BATCH_QUERIES,
    DROP_UNUSED_TIMESTAMPS,
    FORCE_TIMESTAMP_SUPPORT,
    LATENCY_GRANULARITY,
    LATENCY_HISTORY_SIZE,
    LATENCY_INTERVAL,
)
from penstock.plan.phases.backlog import backlog_lag_ms
from penstock.plan.phases.shadow import OUTPUTS
from penstock.plan.physical import HistoryChoices, PlanOptions, Redirection
from penstock.program.run_settings import LatencyGranularity


def plan_options(configuration: Configuration) -> PlanOptions:
    """Validate the configuration and return the options of the planner."""
    configuration.validate()
    max_parallelism = configuration.get(MAX_PARALLELISM)
    parallelism = configuration.get(PARALLELISM)
    if parallelism is None:
        parallelism = min(len(os.sched_getaffinity(0)), max_parallelism)
    return PlanOptions(
        parallelism_is_set=configuration.get(PARALLELISM) is not None,
        mode=configuration.get(RUNTIME_MODE),
        mode_from=configuration.source_of(RUNTIME_MODE),
        backlog_as_batch=configuration.get(HISTORY) == "batch"
        or configuration.get(INTERVAL_DURING_BACKLOG) == timedelta(0),
        chaining=configuration.get(OPERATOR_CHAINING),
        default_parallelism=parallelism,
        parallelism=parallelism,
        max_parallelism=max_parallelism,
        force_timestamps=configuration.get(FORCE_TIMESTAMP_SUPPORT),
        auto_watermarks=configuration.get(AUTO_WATERMARK_INTERVAL) != timedelta(0),
        drop_unused_timestamps=configuration.get(DROP_UNUSED_TIMESTAMPS),
        latency_interval_ms=configuration.get(LATENCY_INTERVAL) // timedelta(milliseconds=1),
        latency_granularity=LatencyGranularity(configuration.get(LATENCY_GRANULARITY)),
        latency_history=configuration.get(LATENCY_HISTORY_SIZE),
        sorted_inputs_bytes=configuration.get(SORTED_INPUTS_MEMORY),
        backlog_lag_ms=backlog_lag_ms(configuration),
        backlog_share=configuration.get(BACKLOG_SHARE),
        backlog_tasks=configuration.get(BACKLOG_TASKS),
        history_parallelism=configuration.get(HISTORY_PARALLELISM),
        combines=configuration.get(BATCH_COMBINE),
        projects=configuration.get(BATCH_EXPRESSIONS),
        queries=configuration.get(BATCH_QUERIES),
        makes_uids=configuration.get(AUTO_UIDS),
        ignores_key_kinds=configuration.get(IGNORE_KEY_KINDS),
        latest_in_backlog=configuration.get(BACKLOG_OUTPUT) == "latest",
        state_ttl_ms=configuration.get(STATE_TTL) // timedelta(milliseconds=1) or None,
        coded_rows=configuration.get(ENABLE_CODED_ROWDATA),
        state_compression=configuration.get(STATE_COMPRESSION),
        object_reuse=configuration.get(OBJECT_REUSE),
        verify_object_reuse=configuration.get(VERIFY_OBJECT_REUSE),
        redirection=_redirection(configuration),
        new_sinks_from_now=configuration.get(EVOLUTION_SINKS) == "now",
        history_choices=_history_choices(configuration),
    )


def _history_choices(configuration: Configuration) -> HistoryChoices:
    empty, tables = (
        parse_list(configuration.get(option) or "") for option in (START_EMPTY, HISTORY_TABLES)
    )
    pairs = (pair.partition("=") for pair in tables)
    return HistoryChoices(tuple(empty), {uid: path for uid, _, path in pairs})


def _redirection(configuration: Configuration) -> Redirection | None:
    sinks, directory = configuration.get(SHADOW), configuration.get(CHECKPOINT_DIR)
    if sinks is ShadowSinks.OFF or directory is None:
        return None
    return Redirection(f"{directory.rstrip('/')}/{OUTPUTS}", sinks is ShadowSinks.FILES)
