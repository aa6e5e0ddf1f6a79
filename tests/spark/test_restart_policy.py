"""When a failed job is started again."""

from __future__ import annotations

import pickle
from datetime import timedelta

import pytest

from penstock.config import Configuration
from penstock.config.run_options import OPTIONS_OF
from penstock.errors import (
    CallSite,
    ConfigError,
    JobFailedError,
    PenstockError,
    SinkError,
    UserCodeError,
    UserFunctionError,
    WorkerStartError,
)
from penstock.spark.driver.restart_policy import (
    POLICIES,
    ExponentialDelay,
    FailureRate,
    FixedDelay,
    Restart,
    RestartPolicy,
    Restarts,
)


def delays(policy: RestartPolicy, times: list[float]) -> list[float | None]:
    restarts = [policy.after_failure(now) for now in times]
    return [None if again is None else again.delay_seconds for again in restarts]


def exponential(configuration: Configuration, chance: float) -> ExponentialDelay:
    values = map(configuration.get, OPTIONS_OF["exponential-delay"])
    return ExponentialDelay(*values, chance=lambda: chance)


def test_fixed_delay_has_so_many_attempts() -> None:
    policy = FixedDelay(2, timedelta(seconds=1.5))
    assert policy.after_failure(0) == Restart(1, 2, 1.5)
    assert policy.after_failure(1) == Restart(2, 2, 1.5)
    assert policy.after_failure(2) is None


def test_exponential_delay_grows_to_its_maximum_and_begins_again() -> None:
    conf = Configuration.from_dict(
        {
            "restart-strategy.exponential-delay.initial-backoff": "1 s",
            "restart-strategy.exponential-delay.max-backoff": "5 s",
            "restart-strategy.exponential-delay.backoff-multiplier": 2.0,
            "restart-strategy.exponential-delay.reset-backoff-threshold": "1 min",
        }
    )
    policy = exponential(conf, 0.5)
    assert delays(policy, [0, 10, 20, 30, 40]) == [1, 2, 4, 5, 5]
    assert delays(policy, [40 + 5 + 60]) == [1]


def test_exponential_delay_jitters_and_may_have_a_limit() -> None:
    conf = Configuration.from_dict(
        {
            "restart-strategy.exponential-delay.jitter-factor": 0.5,
            "restart-strategy.exponential-delay.attempts-before-reset-backoff": 1,
        }
    )
    assert delays(exponential(conf, 0.0), [0, 1]) == [0.5, None]
    assert delays(exponential(conf, 1.0), [0]) == [1.5]


def test_failure_rate_counts_within_its_interval() -> None:
    policy = FailureRate(2, timedelta(seconds=10), timedelta(seconds=1))
    assert delays(policy, [0, 5, 20, 21, 22]) == [1, 1, 1, 1, None]


@pytest.mark.parametrize("name", POLICIES)
def test_every_strategy_can_be_configured(name: str) -> None:
    restarts = Restarts(Configuration.from_dict({"restart-strategy.type": name}))
    again = restarts.after(JobFailedError("x", hint="y"))
    assert (again is None) == (name == "none")


def test_what_a_restart_cannot_change_is_not_tried_again() -> None:
    conf = Configuration.from_dict({"restart-strategy.type": "fixed-delay"})
    for final in (ConfigError, UserCodeError):
        assert Restarts(conf).after(final("x", hint="y")) is None
    made = SinkError("x", hint="y")
    assert Restarts(conf).after(made) is not None
    made.permanent()
    sent = PenstockError.from_wire(made.to_wire())
    assert sent is not None
    for each in (made, sent, pickle.loads(pickle.dumps(made))):
        assert Restarts(conf).after(each) is None
    origin = CallSite("job.py", 1, "main")
    assert Restarts(conf).after(UserFunctionError("x", hint="y", origin=origin)) is not None


@pytest.mark.parametrize("name", POLICIES)
def test_a_worker_that_did_not_start_is_started_twice_more_under_every_strategy(name: str) -> None:
    restarts = Restarts(Configuration.from_dict({"restart-strategy.type": name}))
    failure = WorkerStartError("x", hint="y")
    assert [restarts.after(failure) for _ in range(2)] == [Restart(1, 2, 1.0), Restart(2, 2, 1.0)]
    assert (restarts.after(failure) is None) == (name == "none"), "now the strategy is asked"
