"""The planner: a tuple of pure functions, each idempotent."""

from __future__ import annotations

from collections.abc import Callable

from penstock.config.configuration import Configuration
from penstock.graph.logical import LogicalGraph
from penstock.plan.endpoints import find_endpoints
from penstock.plan.explain import explain_chains, explain_channels
from penstock.plan.levels import assign_levels
from penstock.plan.modes import choose_mode, choose_runs
from penstock.plan.options import plan_options
from penstock.plan.parallelism import choose_parallelism
from penstock.plan.physical import PhysicalPlan

Phase = Callable[[PhysicalPlan], PhysicalPlan]

PHASES: tuple[Phase, ...] = (
    choose_parallelism,
    find_endpoints,
    choose_mode,  # after find_endpoints: boundedness is a property of the sources
    choose_runs,  # after choose_mode: BATCH is always one run
    assign_levels,
    explain_chains,  # after assign_levels: so do these two
    explain_channels,
)


def plan_job(graph: LogicalGraph, configuration: Configuration) -> PhysicalPlan:
    """Return the physical plan of a program.

    Raises:
        ConfigError: A setting cannot be used.
        GraphError: The program cannot run as configured.
    """
    plan = PhysicalPlan(graph, plan_options(configuration))
    for phase in PHASES:
        plan = phase(plan)
    return plan
