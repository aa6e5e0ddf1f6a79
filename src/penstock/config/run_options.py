"""Options of runs: batch runs, live runs, and the backlog of sources."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from penstock.config.option import ConfigOption, Limit, one_of
from penstock.config.parse import BOOLEAN, DURATION, INTEGER, NUMBER, Parser

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
        "Whether a batch run combines the records of a key before it exchanges them, where only "
        "the last result of a key or window is asked for and the function is known to be "
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
        "Whether Spark SQL computes expressions of columns that directly follow a DataFrame or files of "
        "columns (Parquet, ORC, Avro) in a batch run, before records are made of them. Otherwise workers "
        "compute them, as everywhere else. It changes the speed, never the result."
    ),
)

BATCH_QUERIES: ConfigOption[bool] = ConfigOption(
    key="execution.batch.queries",
    parse=BOOLEAN,
    default=True,
    description=(
        "Whether Spark SQL computes whole queries of SQL in a batch job: joins, groups, windows and first rows of a "
        "DataFrame or files of columns, if all that is in a query has the same meaning there. Otherwise operators "
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
        "clock than this. Once it is not, it never is again. When unset, and for sources without "
        "watermarks, only parts of a hybrid source before its last are backlog."
    ),
    check=Limit("must be more than 0", lambda value: value is None or value > timedelta(0)),
)

# FLIP-327, rule 14.
BACKLOG_OUTPUT: ConfigOption[str] = ConfigOption(
    key="pipeline.backlog.output",
    parse=Parser("choice", lambda text: text.strip().lower()),
    default="all",
    description=(
        "What rolling operators (`reduce`, `sum`, …, `last_value`) give while history is read as a batch run: "
        "`all` results, one per record, or only the `latest` one of each key. A sink that keeps one value per key "
        "needs it not: see `upsert_to`."
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
        "later. A micro-batch then has room for `execution.live.max-records-per-batch` records per source. What "
        "live input leaves of its part stays free."
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
        "or `execution.live.max-files-per-batch`. Of files it does so as long as those of a "
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
