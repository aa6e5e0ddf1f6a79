"""Options of runs: batch and live runs, the backlog of sources, Python workers, timestamps and watermarks."""

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
        "An epoch that is less work than this runs as one Spark task, with all "
        "levels, subtasks and sinks in it, because Spark would need longer to start its stages. Work "
        "is the time of user functions, state and sinks, estimated from earlier epochs; the first "
        "epoch and those with a savepoint always have one stage per level. 0 uses stages always. "
        "Results are the same."
    ),
)

LIVE_OPTIONS: tuple[ConfigOption[Any], ...] = (SINGLE_TASK_WORK,)
"""The options of this module, in the order of the reference page."""


BATCH_COMBINE: ConfigOption[bool] = ConfigOption(
    key="execution.batch.combine",
    parse=BOOLEAN,
    default=True,
    description=(
        "Let a batch run combine the records of a key before it exchanges them. It does so where only "
        "the last result of a key or window is required and the function is known to be "
        "associative, and commutative where records have timestamps. It changes the speed, never "
        "the result. A task uses up to `execution.sorted-inputs.memory` for it; once that is used "
        "up, it stops combining unless records became half as many or fewer."
    ),
)

BATCH_EXPRESSIONS: ConfigOption[bool] = ConfigOption(
    key="execution.batch.expressions",
    parse=BOOLEAN,
    default=True,
    description=(
        "Let Spark SQL compute expressions of columns that directly follow a DataFrame or files of "
        "columns (Parquet, ORC, Avro) in a batch run, before records are made of them. Otherwise workers "
        "compute them, as everywhere else. It changes the speed, never the result."
    ),
)

BATCH_QUERIES: ConfigOption[bool] = ConfigOption(
    key="execution.batch.queries",
    parse=BOOLEAN,
    default=True,
    description=(
        "Let Spark SQL compute whole queries of SQL in a batch job: joins, groups, windows and first rows of a "
        "DataFrame or files of columns, if every part of a query has the same meaning there. Otherwise operators "
        "compute them, as everywhere else. It changes the speed, never the rows."
    ),
)

BATCH_OPTIONS: tuple[ConfigOption[Any], ...] = (BATCH_COMBINE, BATCH_EXPRESSIONS, BATCH_QUERIES)
"""The options of this module, in the order of the reference page."""


WATERMARK_LAG_THRESHOLD: ConfigOption[timedelta | None] = ConfigOption(
    key="pipeline.backlog.watermark-lag-threshold",
    parse=DURATION,
    default=None,
    description=(
        "A source of a live run processes backlog as long as its watermark is further behind the "
        "clock than this. Once the source has caught up, it never has backlog again. When unset, and for "
        "sources without watermarks, only parts of a hybrid source before its last are backlog."
    ),
    check=Limit("must be more than 0", lambda value: value is None or value > timedelta(0)),
)

# FLIP-327, rule 14.
BACKLOG_OUTPUT: ConfigOption[str] = ConfigOption(
    key="pipeline.backlog.output",
    parse=Parser("choice", lambda text: text.strip().lower()),
    default="all",
    description=(
        "Results of rolling operators (`reduce`, `sum`, …, `last_value`) while history is read as a batch run: "
        "`all` results, one per record, or only the `latest` one of each key. A sink that keeps one value per key "
        "does not need it: see `upsert_to`."
    ),
    check=one_of("all", "latest"),
)

BACKLOG_SHARE: ConfigOption[float] = ConfigOption(
    key="execution.backlog.share",
    parse=NUMBER,
    default=0.5,
    description=(
        "Share of the records of a micro-batch that history gets while it is read in the same live run as live "
        "input. The live input has the rest, so a greater share reads history sooner and makes live results "
        "later. A micro-batch then has room for `execution.live.max-records-per-batch` records per source. The unused "
        "part of live input stays free."
    ),
    check=Limit("must be more than 0 and less than 1", lambda value: 0 < value < 1),
)

BACKLOG_TASKS: ConfigOption[int | None] = ConfigOption(
    key="execution.backlog.tasks",
    parse=INTEGER,
    default=None,
    description=(
        "Most tasks in which history of a pipeline is read as a batch run while the job has other pipelines. When "
        "unset there is one fewer than cores for each other pipeline that goes live, but one at least, so that live "
        "results are not made later by history, which takes longer. Where no other pipeline goes live there is no "
        "limit. As many as cores gives history all of them. The levels behind an exchange have no more tasks either, "
        "unless the program sets the number of subtasks."
    ),
    check=Limit("must be 1 or more", lambda value: value is None or value >= 1),
)

CATCH_UP_FACTOR: ConfigOption[int | None] = ConfigOption(
    key="execution.live.catch-up-factor",
    parse=INTEGER,
    default=None,
    description=(
        "While more records or files wait than this many micro-batches usually take, as after a "
        "long outage, a micro-batch takes up to so many times `execution.live.max-records-per-batch` "
        "or `execution.live.max-files-per-batch`. It takes more files only as long as those of a "
        "micro-batch have less than 512 MiB. "
        "Workers need memory for it. 1 never takes more than usual. When unset it is 4, but 1 where the usual "
        "number is set: that is a limit then."
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
        "Python files, packages, zip files, wheels and directories that functions import, "
        "separated by commas. The workers find them on their module search path, zip files and "
        "wheels unpacked."
    ),
    check=NOT_BLANK,
)

PYTHON_REQUIREMENTS: ConfigOption[str | None] = ConfigOption(
    key="python.requirements",
    parse=STRING,
    default=None,
    description=(
        "A `requirements.txt`, which pip installs once per content into a directory that is "
        "shipped to the workers. With `#` and a directory of packages behind it, only these "
        "packages are used, without a network."
    ),
    check=NOT_BLANK,
)

PYTHON_ARCHIVES: ConfigOption[str | None] = ConfigOption(
    key="python.archives",
    parse=STRING,
    default=None,
    description=(
        "Zip and tar archives that are unpacked in the current directory of the workers, "
        "separated by commas: `data.zip#data` in the directory `data`, `data.zip` in one of the "
        "archive's own name. The workers of a job with archives have a current directory of "
        "their own."
    ),
    check=NOT_BLANK,
)

PYTHON_EXECUTABLE: ConfigOption[str | None] = ConfigOption(
    key="python.executable",
    parse=STRING,
    default=None,
    description=(
        "The interpreter of the workers: a path, a command, or a path in an unpacked archive. It "
        "needs Penstock and its dependencies, and Python of the same version. When unset it is "
        "that of the program."
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
        "Let records always have timestamps. With false, a job that has no watermark "
        "strategy and whose `pipeline.auto-watermark-interval` is 0 runs without timestamps and "
        "watermarks (FLIP-330); a function that reads one then fails."
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
        "Leave timestamps out wherever no later operator can read them, also in "
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
        "Watermarks advance with every micro-batch, at any interval. 0 is one of the conditions "
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
        "sinks. Batch runs send none, because latency has no meaning there."
    ),
)

LATENCY_GRANULARITY: ConfigOption[str] = ConfigOption(
    key="metrics.latency.granularity",
    parse=Parser("choice", lambda text: text.strip().lower()),
    default="operator",
    description=(
        "Granularity of latencies: `single` is one metric `<uid>.latency` per operator and sink, "
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
