"""History with a parallelism of its own: what a plan says of it, and when it is refused."""

from __future__ import annotations

import pytest

from penstock.common import WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream.connectors import DataGeneratorSource, HybridSource
from penstock.errors import ConfigError, GraphError
from penstock.plan.phases.pipelines import task_groups
from penstock.plan.physical import PhysicalPlan
from tests.runtime.jobs import MIXED, STREAMING, environment

OPTION = "execution.history.parallelism"


def plan_of(settings: dict[str, str], own: int | None = None) -> PhysicalPlan:
    env = environment({**settings, OPTION: "6"}, 2)
    parts = [DataGeneratorSource(lambda i: i, count=100) for _ in range(2)]
    source = HybridSource.builder(parts[0]).add_source(parts[1]).build()
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    summed = numbers.key_by(lambda i: i % 7).reduce(max)
    if own is not None:
        summed.set_parallelism(own)
    summed.sink_to(DiscardingSink())
    return env.plan()


def test_history_is_read_by_its_own_number_of_tasks() -> None:
    plan = plan_of(MIXED)
    history, live = plan.runs
    assert plan.history_tasks(history) == 6
    assert plan.history_tasks(live) is None
    assert [each.tasks for each in task_groups(plan, history)] == [6]
    assert [each.tasks for each in task_groups(plan, live)] == [2]
    decision = next(d for d in plan.decisions if d.subject.startswith("tasks per level of run 0"))
    assert decision.choice == "6"
    assert decision.reason == f"{OPTION}; the live run has 2"


def test_it_needs_a_batch_run_and_functions_that_do_not_count_subtasks() -> None:
    with pytest.raises(ConfigError, match=r"needs execution[.]history=batch"):
        plan_of(STREAMING)
    with pytest.raises(ConfigError, match=r"must not exceed pipeline[.]max-parallelism"):
        plan_of({**MIXED, "pipeline.max-parallelism": "4"})
    with pytest.raises(GraphError, match="depends on the number of subtasks"):
        plan_of(MIXED, own=2)
