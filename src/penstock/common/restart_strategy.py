"""The names of `pyflink.common.restart_strategy`."""

from penstock.api.environment.restart_strategies import (
    RestartStrategies,
    RestartStrategyConfiguration,
)

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]
