"""The options of the engine of live runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from penstock.config.option import ConfigOption, one_of
from penstock.config.parse import DURATION, Parser

LIVE_ENGINE: ConfigOption[str] = ConfigOption(
    key="execution.live.engine",
    parse=Parser("engine", lambda text: text.strip().lower()),
    default="jobs",
    description=(
        "What executes a live run. `jobs` is a loop in the driver: one plain Spark job per epoch, "
        "and one record that commits it. `query` is one query of Spark's Structured Streaming, "
        "with one micro-batch per epoch. `jobs` needs sources that are read by positions, which "
        "files have too; a streaming DataFrame has none, so a live run that reads one is executed by "
        "`query` whatever is set, and `penstock plan` says which and why. Results are the same."
    ),
    check=one_of("jobs", "query"),
)

SINGLE_TASK_WORK: ConfigOption[timedelta] = ConfigOption(
    key="execution.live.single-task-work",
    parse=DURATION,
    default=timedelta(milliseconds=30),
    description=(
        "An epoch of the engine `jobs` that is less work than this runs as one Spark task, with all "
        "levels, subtasks and sinks in it, because Spark would need longer to start its stages. Work "
        "is the time of user functions, state and sinks, estimated from earlier epochs; the first "
        "epoch and those with a savepoint always have one stage per level. 0 uses stages always. "
        "Results are the same."
    ),
)

LIVE_OPTIONS: tuple[ConfigOption[Any], ...] = (LIVE_ENGINE, SINGLE_TASK_WORK)
"""The options of this module, in the order of the reference page."""
