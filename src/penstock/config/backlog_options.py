"""Options of the backlog of sources, except its checkpoint interval."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from penstock.config.option import ConfigOption, Limit, one_of
from penstock.config.parse import DURATION, INTEGER, NUMBER, Parser

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
        "What rolling operators (`reduce`, `sum`, …, `top_n`) give while history is read as a batch run: "
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
