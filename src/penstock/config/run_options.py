"""Options of runs: batch and live runs, restarts, the backlog of sources, Python workers, timestamps and watermarks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from penstock.config.option import NOT_BLANK, ConfigOption, Limit, one_of
from penstock.config.parse import BOOLEAN, DURATION, INTEGER, NUMBER, STRING, ZONE, Parser

SINGLE_TASK_WORK: ConfigOption[timedelta] = ConfigOption(
    key="execution.live.single-task-work",
    parse=DURATION,
    default=timedelta(milliseconds=30),
    description=(
        "An epoch with less work than this, estimated from earlier epochs, is one Spark task. 0 "
        "always uses a stage per level. Results are the same."
    ),
)

LIVE_OPTIONS: tuple[ConfigOption[Any], ...] = (SINGLE_TASK_WORK,)
"""The options of this module, in the order of the reference page."""


BATCH_COMBINE: ConfigOption[bool] = ConfigOption(
    key="execution.batch.combine",
    parse=BOOLEAN,
    default=True,
    description=(
        "Let a batch run combine records of a key before the exchange. Results are the same."
    ),
)

BATCH_EXPRESSIONS: ConfigOption[bool] = ConfigOption(
    key="execution.batch.expressions",
    parse=BOOLEAN,
    default=True,
    description=(
        "Let Spark SQL compute expressions directly behind a DataFrame or files of columns in a "
        "batch run. Results are the same."
    ),
)

BATCH_QUERIES: ConfigOption[bool] = ConfigOption(
    key="execution.batch.queries",
    parse=BOOLEAN,
    default=True,
    description=(
        "Let Spark SQL compute whole queries of SQL and joins by columns in a batch job. Rows are "
        "the same."
    ),
)

BATCH_OPTIONS: tuple[ConfigOption[Any], ...] = (BATCH_COMBINE, BATCH_EXPRESSIONS, BATCH_QUERIES)
"""The options of this module, in the order of the reference page."""


WATERMARK_LAG_THRESHOLD: ConfigOption[timedelta | None] = ConfigOption(
    key="pipeline.backlog.watermark-lag-threshold",
    parse=DURATION,
    default=None,
    description=(
        "A source of a live run is in backlog until its watermark is this close to the clock. When "
        "unset, only parts of a hybrid source before its last are backlog."
    ),
    check=Limit("must be more than 0", lambda value: value is None or value > timedelta(0)),
)

# FLIP-327, rule 14.
BACKLOG_OUTPUT: ConfigOption[str] = ConfigOption(
    key="pipeline.backlog.output",
    parse=Parser("choice", lambda text: text.strip().lower()),
    default="all",
    description=(
        "Results of rolling operators (`reduce`, `sum`, …, `last_value`) while history is read as "
        "a batch run: `all`, one per record, or only the `latest` of each key."
    ),
    check=one_of("all", "latest"),
)

BACKLOG_SHARE: ConfigOption[float] = ConfigOption(
    key="execution.backlog.share",
    parse=NUMBER,
    default=0.5,
    description="Share of history in a micro-batch that also reads live input.",
    check=Limit("must be more than 0 and less than 1", lambda value: 0 < value < 1),
)

BACKLOG_TASKS: ConfigOption[int | None] = ConfigOption(
    key="execution.backlog.tasks",
    parse=INTEGER,
    default=None,
    description=(
        "Most tasks of a batch run of one pipeline beside other pipelines; when unset, the cores "
        "without one for each pipeline that goes live."
    ),
    check=Limit("must be 1 or more", lambda value: value is None or value >= 1),
)

CATCH_UP_FACTOR: ConfigOption[int | None] = ConfigOption(
    key="execution.live.catch-up-factor",
    parse=INTEGER,
    default=None,
    description=(
        "Largest multiple of the usual records or files that a micro-batch takes while more wait. "
        "When unset it is 4, or 1 where the usual number is set."
    ),
    check=Limit("must be 1 or more", lambda value: value is None or value >= 1),
)

BACKLOG_OPTIONS: tuple[ConfigOption[Any], ...] = (
    WATERMARK_LAG_THRESHOLD,
    BACKLOG_OUTPUT,
    BACKLOG_SHARE,
    BACKLOG_TASKS,
    CATCH_UP_FACTOR,
)


PYTHON_FILES: ConfigOption[str | None] = ConfigOption(
    key="python.files",
    parse=STRING,
    default=None,
    description=(
        "Python files, packages, zip files, wheels and directories for the module search path of "
        "the workers, separated by commas."
    ),
    check=NOT_BLANK,
)

PYTHON_REQUIREMENTS: ConfigOption[str | None] = ConfigOption(
    key="python.requirements",
    parse=STRING,
    default=None,
    description=(
        "A `requirements.txt` for the workers; with `#` and a directory of packages behind it, "
        "pip uses no network."
    ),
    check=NOT_BLANK,
)

PYTHON_ARCHIVES: ConfigOption[str | None] = ConfigOption(
    key="python.archives",
    parse=STRING,
    default=None,
    description=(
        "Zip and tar archives that are unpacked in the current directory of the workers, "
        "separated by commas: `data.zip#data` in `data`."
    ),
    check=NOT_BLANK,
)

PYTHON_EXECUTABLE: ConfigOption[str | None] = ConfigOption(
    key="python.executable",
    parse=STRING,
    default=None,
    description=(
        "Interpreter of the workers, also in an unpacked archive; when unset, that of the "
        "program. It needs Penstock and the program's version of Python."
    ),
    check=NOT_BLANK,
)

PYTHON_OPTIONS: tuple[ConfigOption[Any], ...] = (
    PYTHON_FILES,
    PYTHON_REQUIREMENTS,
    PYTHON_ARCHIVES,
    PYTHON_EXECUTABLE,
)
"""The options of this module, in the order of the reference page."""


FORCE_TIMESTAMP_SUPPORT: ConfigOption[bool] = ConfigOption(
    key="pipeline.force-timestamp-support",
    parse=BOOLEAN,
    default=True,
    description=(
        "Let records always have timestamps. With false, a job without watermark strategies and "
        "with `pipeline.auto-watermark-interval` of 0 has no timestamps and watermarks "
        "(FLIP-330)."
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
        "Leave timestamps out wherever no later operator can read them. Results are the same."
    ),
)

LOCAL_TIME_ZONE: ConfigOption[str] = ConfigOption(
    key="table.local-time-zone",
    parse=ZONE,
    default="UTC",
    description=(
        "Zone of instants and of times without a zone in SQL: `Europe/Berlin`, or an offset such "
        "as `GMT-08:00`."
    ),
)

AUTO_WATERMARK_INTERVAL: ConfigOption[timedelta] = ConfigOption(
    key="pipeline.auto-watermark-interval",
    parse=DURATION,
    default=timedelta(milliseconds=200),
    description=(
        "Watermarks advance with every micro-batch. 0 is a condition of "
        "`pipeline.force-timestamp-support`."
    ),
)

LATENCY_INTERVAL: ConfigOption[timedelta] = ConfigOption(
    key="metrics.latency.interval",
    parse=DURATION,
    default=timedelta(0),
    description=(
        "Least time between two latency markers of a subtask of a source, for the metrics "
        "`<uid>.latency.<source>`; 0 sends none."
    ),
)

LATENCY_GRANULARITY: ConfigOption[str] = ConfigOption(
    key="metrics.latency.granularity",
    parse=Parser("choice", lambda text: text.strip().lower()),
    default="operator",
    description=(
        "One metric `<uid>.latency` per operator (`single`), one per source (`operator`), or one "
        "per subtask of a source (`subtask`)."
    ),
    check=one_of("single", "operator", "subtask"),
)

LATENCY_HISTORY_SIZE: ConfigOption[int | None] = ConfigOption(
    key="metrics.latency.history-size",
    parse=INTEGER,
    default=None,
    description=(
        "Number of latencies in a metric, the latest of all subtasks. When unset, it has all."
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


_STRATEGIES = {
    "disable": "none",
    "disabled": "none",
    "off": "none",
    "fixeddelay": "fixed-delay",
    "exponentialdelay": "exponential-delay",
    "failurerate": "failure-rate",
}
_NOT_ZERO: Limit[timedelta] = Limit("must be longer than 0", lambda value: value > timedelta(0))

RESTART_STRATEGY: ConfigOption[str] = ConfigOption(
    key="restart-strategy.type",
    parse=Parser("strategy", lambda text: _STRATEGIES.get(text.strip().lower(), text.strip())),
    default="none",
    description=(
        "Reaction to a failure: `none` fails the job; the others start it again from its last "
        "checkpoint, after the same time (`fixed-delay`), after a growing time (`exponential-"
        "delay`), or unless it fails too often (`failure-rate`)."
    ),
    check=one_of("none", "fixed-delay", "exponential-delay", "failure-rate"),
    fallback_keys=("restart-strategy",),
)

FIXED_ATTEMPTS: ConfigOption[int] = ConfigOption(
    key="restart-strategy.fixed-delay.attempts",
    parse=INTEGER,
    default=1,
    description="Number of restarts.",
    check=Limit("must be 0 or more", lambda value: value >= 0),
)

FIXED_DELAY: ConfigOption[timedelta] = ConfigOption(
    key="restart-strategy.fixed-delay.delay",
    parse=DURATION,
    default=timedelta(seconds=1),
    description="Time between a failure and the next start.",
)

EXPONENTIAL_INITIAL: ConfigOption[timedelta] = ConfigOption(
    key="restart-strategy.exponential-delay.initial-backoff",
    parse=DURATION,
    default=timedelta(seconds=1),
    description="Time between the first failure and the next start.",
    check=_NOT_ZERO,
)

EXPONENTIAL_MAXIMUM: ConfigOption[timedelta] = ConfigOption(
    key="restart-strategy.exponential-delay.max-backoff",
    parse=DURATION,
    default=timedelta(minutes=1),
    description="Longest time between a failure and the next start.",
    check=_NOT_ZERO,
)

EXPONENTIAL_MULTIPLIER: ConfigOption[float] = ConfigOption(
    key="restart-strategy.exponential-delay.backoff-multiplier",
    parse=NUMBER,
    default=1.5,
    description="Factor by which the time grows with each failure.",
    check=Limit("must be 1 or more", lambda value: value >= 1),
)

EXPONENTIAL_RESET: ConfigOption[timedelta] = ConfigOption(
    key="restart-strategy.exponential-delay.reset-backoff-threshold",
    parse=DURATION,
    default=timedelta(hours=1),
    description="Time without a failure after which the time is the initial one again.",
)

EXPONENTIAL_JITTER: ConfigOption[float] = ConfigOption(
    key="restart-strategy.exponential-delay.jitter-factor",
    parse=NUMBER,
    default=0.1,
    description="Largest random part of the time, up or down.",
    check=Limit("must be between 0 and 1", lambda value: 0 <= value <= 1),
)

EXPONENTIAL_ATTEMPTS: ConfigOption[int | None] = ConfigOption(
    key="restart-strategy.exponential-delay.attempts-before-reset-backoff",
    parse=INTEGER,
    default=None,
    description="Number of restarts; unset is without limit.",
    check=Limit("must be 0 or more", lambda value: value is None or value >= 0),
)

RATE_FAILURES: ConfigOption[int] = ConfigOption(
    key="restart-strategy.failure-rate.max-failures-per-interval",
    parse=INTEGER,
    default=1,
    description="Most failures within the interval.",
    check=Limit("must be 1 or more", lambda value: value >= 1),
)

RATE_INTERVAL: ConfigOption[timedelta] = ConfigOption(
    key="restart-strategy.failure-rate.failure-rate-interval",
    parse=DURATION,
    default=timedelta(minutes=1),
    description="Interval in which failures count.",
)

RATE_DELAY: ConfigOption[timedelta] = ConfigOption(
    key="restart-strategy.failure-rate.delay",
    parse=DURATION,
    default=timedelta(seconds=1),
    description="Time between a failure and the next start.",
)

OPTIONS_OF: dict[str, tuple[ConfigOption[Any], ...]] = {
    "none": (),
    "fixed-delay": (FIXED_ATTEMPTS, FIXED_DELAY),
    "exponential-delay": (
        EXPONENTIAL_INITIAL,
        EXPONENTIAL_MAXIMUM,
        EXPONENTIAL_MULTIPLIER,
        EXPONENTIAL_RESET,
        EXPONENTIAL_JITTER,
        EXPONENTIAL_ATTEMPTS,
    ),
    "failure-rate": (RATE_FAILURES, RATE_INTERVAL, RATE_DELAY),
}
"""Strategy to its options, in the order of the arguments that take their values."""

RESTART_OPTIONS: tuple[ConfigOption[Any], ...] = (
    RESTART_STRATEGY,
    *(option for options in OPTIONS_OF.values() for option in options),
)
"""The options of this module, in the order of the reference page."""
