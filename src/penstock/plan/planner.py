"""The planner: a tuple of pure functions, each idempotent."""

from __future__ import annotations

from collections.abc import Callable

from penstock.config.configuration import Configuration
from penstock.graph.logical import LogicalGraph
from penstock.plan.explain.backlog import explain_backlog
from penstock.plan.explain.chaining import explain_chains, explain_channels
from penstock.plan.explain.kept_rules import explain_kept_rules
from penstock.plan.folding.choice import choose_folds
from penstock.plan.options import plan_options
from penstock.plan.phases.bounded_region import cut_after_region
from penstock.plan.phases.copies import choose_copies
from penstock.plan.phases.endpoints import find_endpoints
from penstock.plan.phases.fields import check_fields
from penstock.plan.phases.forwarding import check_forwarding
from penstock.plan.phases.generated_uids import generate_uids
from penstock.plan.phases.keys import check_keys
from penstock.plan.phases.levels import assign_levels
from penstock.plan.phases.live_engine import choose_engines
from penstock.plan.phases.modes import choose_mode, choose_runs
from penstock.plan.phases.parallelism import choose_parallelism
from penstock.plan.phases.pipelines import explain_tasks, find_pipelines
from penstock.plan.phases.time import decide_time, drop_timestamps
from penstock.plan.phases.uids import check_uids
from penstock.plan.phases.unused_attributes import check_attributes
from penstock.plan.physical import PhysicalPlan
from penstock.plan.projections import place_expressions
from penstock.plan.queries import place_queries

Phase = Callable[[PhysicalPlan], PhysicalPlan]

PHASES: tuple[Phase, ...] = (
    generate_uids,  # before cut_after_region: positions are those of the user's graph in every mode
    check_uids,  # before cut_after_region, which adds operators of our own
    check_attributes,  # before cut_after_region: it checks the functions of the user's graph
    check_fields,  # before cut_after_region, which changes the graph
    check_keys,  # before cut_after_region, like check_fields
    check_forwarding,  # before cut_after_region, which puts sources between operators
    place_queries,  # after the checks, which are of the user's graph; before the others: it changes the graph
    cut_after_region,  # before the others: it changes the graph
    choose_parallelism,
    find_endpoints,
    choose_mode,  # after find_endpoints: boundedness is a property of the sources
    find_pipelines,  # after choose_mode: BATCH is always one pipeline
    choose_runs,  # after find_pipelines: each has runs of its own
    explain_tasks,  # after choose_runs: live runs are known then
    choose_engines,  # after choose_runs: it depends on the parts that a run reads
    assign_levels,
    decide_time,  # after assign_levels: it reads channels
    drop_timestamps,  # after decide_time: it applies to the other jobs
    choose_folds,  # after drop_timestamps: order matters of records with timestamps
    place_expressions,  # after choose_folds: what SQL folds has no operator before it
    explain_backlog,  # after assign_levels: it reads operators
    explain_kept_rules,  # after assign_levels, like explain_backlog
    explain_chains,  # after assign_levels: this one and the next read operators too
    explain_channels,
    choose_copies,  # after assign_levels, whose chains it reads, and place_expressions: SQL keeps no records
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
