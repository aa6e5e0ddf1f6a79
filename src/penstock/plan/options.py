"""What planning reads from the configuration."""

from __future__ import annotations

import os
from datetime import timedelta

from penstock.config.configuration import Configuration
from penstock.config.options import (
    INTERVAL_DURING_BACKLOG,
    MAX_PARALLELISM,
    OPERATOR_CHAINING,
    PARALLELISM,
    RUNTIME_MODE,
)
from penstock.plan.physical import PlanOptions


def plan_options(configuration: Configuration) -> PlanOptions:
    """Validate the configuration and return the part that planning depends on.

    Raises:
        ConfigError: A key is unknown or a value cannot be used.
    """
    configuration.validate()
    max_parallelism = configuration.get(MAX_PARALLELISM)
    parallelism = configuration.get(PARALLELISM)
    if parallelism is None:
        parallelism = min(len(os.sched_getaffinity(0)), max_parallelism)
    return PlanOptions(
        mode=configuration.get(RUNTIME_MODE),
        mode_from=configuration.source_of(RUNTIME_MODE),
        backlog_as_batch=configuration.get(INTERVAL_DURING_BACKLOG) == timedelta(0),
        chaining=configuration.get(OPERATOR_CHAINING),
        default_parallelism=parallelism,
        parallelism=parallelism,
        max_parallelism=max_parallelism,
    )
