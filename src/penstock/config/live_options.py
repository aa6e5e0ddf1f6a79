"""The options of live runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from penstock.config.option import ConfigOption
from penstock.config.parse import DURATION

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
