"""The planner: a tuple of pure functions, each idempotent."""

from __future__ import annotations

from collections.abc import Callable

from penstock.config.configuration import Configuration
from penstock.graph.logical import LogicalGraph
from penstock.plan.explain.backlog import explain_backlog
from penstock.plan.explain.chaining import explain_chains, explain_channels
from penstock.plan.folding.choice import choose_folds
from penstock.plan.options import plan_options
from penstock.plan.phases.asked_attributes import check_attributes
from penstock.plan.phases.blocking import cut_behind_ends
from penstock.plan.phases.copies import choose_copies
from penstock.plan.phases.endpoints import find_endpoints
from penstock.plan.phases.fields import check_fields
from penstock.plan.phases.forwarding import check_forwarding
from penstock.plan.phases.keys import check_keys
from penstock.plan.phases.levels import assign_levels
from penstock.plan.phases.modes import choose_mode, choose_runs
from penstock.plan.phases.parallelism import choose_parallelism
from penstock.plan.phases.places import name_places
from penstock.plan.phases.time import decide_time, drop_timestamps
from penstock.plan.phases.uids import check_uids
from penstock.plan.physical import PhysicalPlan

Phase = Callable[[PhysicalPlan], PhysicalPlan]

PHASES: tuple[Phase, ...] = (
    name_places,  # before cut_behind_ends: places are those of the user's graph, in every mode
    check_uids,  # before cut_behind_ends, which adds operators of our own
    check_attributes,  # before cut_behind_ends: it is about the functions of the user's graph
    check_fields,  # before cut_behind_ends, which changes the graph
    check_keys,  # before cut_behind_ends, as check_fields
    check_forwarding,  # before cut_behind_ends, which puts sources between operators
    cut_behind_ends,  # before the others: it changes the graph
    choose_parallelism,
    find_endpoints,
    choose_mode,  # after find_endpoints: boundedness is a property of the sources
    choose_runs,  # after choose_mode: BATCH is always one run
    assign_levels,
    decide_time,  # after assign_levels: it looks at channels
    drop_timestamps,  # after decide_time: what that left
    choose_folds,  # after drop_timestamps: order matters of records with timestamps
    explain_backlog,  # after assign_levels: it looks at operators
    explain_chains,  # after assign_levels: so do these two
    explain_channels,
    choose_copies,  # after assign_levels: it looks at chains
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
