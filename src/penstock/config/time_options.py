"""Options about timestamps, watermarks and latency markers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from penstock.config.option import ConfigOption, Limit, one_of
from penstock.config.parse import BOOLEAN, DURATION, INTEGER, Parser
from penstock.config.time_zone import ZONE

FORCE_TIMESTAMP_SUPPORT: ConfigOption[bool] = ConfigOption(
    key="pipeline.force-timestamp-support",
    parse=BOOLEAN,
    default=True,
    description=(
        "Whether records can always have timestamps. With false, a job that has no watermark "
        "strategy and whose `pipeline.auto-watermark-interval` is 0 runs without timestamps and "
        "watermarks (FLIP-330); asking for one is then an error."
    ),
    deprecated=(
        "A later major version leaves timestamps out wherever there is no watermark strategy."
    ),
)

DROP_UNUSED_TIMESTAMPS: ConfigOption[bool] = ConfigOption(
    key="pipeline.drop-unused-timestamps",
    parse=BOOLEAN,
    default=True,
    description=(
        "Whether timestamps are left out wherever no operator behind can look at them, also in "
        "jobs that use time elsewhere. It changes the speed, never the result."
    ),
)

LOCAL_TIME_ZONE: ConfigOption[str] = ConfigOption(
    key="table.local-time-zone",
    parse=ZONE,
    default="UTC",
    description=(
        "The zone in which SQL shows instants (TIMESTAMP_LTZ) and takes times without a zone: a "
        "name such as `Europe/Berlin`, or an offset such as `GMT-08:00`. Flink's default is the "
        "zone of the machine."
    ),
)

AUTO_WATERMARK_INTERVAL: ConfigOption[timedelta] = ConfigOption(
    key="pipeline.auto-watermark-interval",
    parse=DURATION,
    default=timedelta(milliseconds=200),
    description=(
        "Watermarks advance with every micro-batch, whatever it is. 0 is one of the conditions "
        "under which a job runs without them, see `pipeline.force-timestamp-support`."
    ),
)

LATENCY_INTERVAL: ConfigOption[timedelta] = ConfigOption(
    key="metrics.latency.interval",
    parse=DURATION,
    default=timedelta(0),
    description=(
        "Least time between two latency markers that a subtask of a source sends through a live "
        "run; 0 sends none. They give the metrics `<uid>.latency.<source>` of operators and "
        "sinks. Batch runs send none: nobody waits for a record of theirs."
    ),
)

LATENCY_GRANULARITY: ConfigOption[str] = ConfigOption(
    key="metrics.latency.granularity",
    parse=Parser("choice", lambda text: text.strip().lower()),
    default="operator",
    description=(
        "What latencies are told apart by: `single` is one metric `<uid>.latency` per operator and sink, "
        "`operator` one per source, `<uid>.latency.<source>`, and `subtask` one per subtask of a source, "
        "`<uid>.latency.<source>.<subtask>`."
    ),
    check=one_of("single", "operator", "subtask"),
)

LATENCY_HISTORY_SIZE: ConfigOption[int | None] = ConfigOption(
    key="metrics.latency.history-size",
    parse=INTEGER,
    default=None,
    description=(
        "Number of latencies in a metric, the latest ones of all subtasks together. When unset, a "
        "metric has all latencies since the job started; in Flink it has the latest 128 of a subtask."
    ),
    check=Limit("must be 1 or more", lambda value: value is None or value >= 1),
)

TIME_OPTIONS: tuple[ConfigOption[Any], ...] = (
    FORCE_TIMESTAMP_SUPPORT,
    DROP_UNUSED_TIMESTAMPS,
    AUTO_WATERMARK_INTERVAL,
    LOCAL_TIME_ZONE,
    LATENCY_INTERVAL,
    LATENCY_GRANULARITY,
    LATENCY_HISTORY_SIZE,
)
"""The options of this module, in the order of the reference page."""
