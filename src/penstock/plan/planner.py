"""The planner: a tuple of pure functions, each idempotent; and jobs that are one plan of Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.config.configuration import Configuration
from penstock.config.options import RuntimeExecutionMode
from penstock.graph.logical import LogicalGraph
from penstock.plan.compat.bootstrap import Stretch, choose_stretch
from penstock.plan.explain.chaining import explain_backlog, explain_chains, explain_channels
from penstock.plan.explain.kept_rules import explain_kept_rules
from penstock.plan.folding.choice import choose_folds
from penstock.plan.options import plan_options
from penstock.plan.phases.bounded_region import cut_after_region
from penstock.plan.phases.copies import choose_copies
from penstock.plan.phases.generated_uids import check_uids, generate_uids
from penstock.plan.phases.levels import assign_levels, choose_parallelism
from penstock.plan.phases.modes import choose_mode, choose_runs, explain_readers
from penstock.plan.phases.operator_traits import check_fields
from penstock.plan.phases.pipelines import explain_tasks, find_endpoints, find_pipelines
from penstock.plan.phases.refusals import check_attributes, check_forwarding, check_keys
from penstock.plan.phases.shadow import redirect_sinks
from penstock.plan.phases.time import decide_time, drop_timestamps
from penstock.plan.physical import Decision, PhysicalPlan, PlanOptions
from penstock.plan.placement.expressions import place_expressions
from penstock.plan.placement.first_rows import place_first_rows
from penstock.plan.placement.queries import place_queries

SUBJECT = "to_dataframe"
_QUERY = "one plan of Spark, without a job"
_JOB = "a job that writes Parquet files, which the DataFrame reads"


def job_because(plan: PhysicalPlan) -> str | None:
    """Return why the records of a sink need a job; completes "because …". None if Spark alone can make them."""
    for many, what in ((plan.sinks, "sinks"), (plan.sources, "sources"), (plan.runs, "runs")):
        if len(many) != 1:
            return f"the program has {len(many)} {what}"
    if plan.sources[0].is_query:
        return "Spark SQL computes the whole query"
    projected = {projection.operator for projection in plan.projections}
    projected |= {
        projection.merged_for
        for projection in plan.projections
        if projection.merged_for is not None
    }
    operators = [op for level in plan.levels for op in level.operators]
    others = [op.name for op in operators if op.id not in projected]
    if others:
        return f"workers compute {', '.join(map(repr, others))}"
    if len(plan.projections) != 1:
        return "the plan has no expressions of columns"
    merged = plan.projections[0].merged_for
    if merged is not None:
        refused: str | None = plan.graph.node(merged).function.results.unprojected_because
        return refused
    return None


def dataframe_decision(refused: str | None) -> Decision:
    """Return the choice of `to_dataframe`, for plans."""
    if refused is None:
        return Decision(SUBJECT, _QUERY, "expressions of one DataFrame are all it has to compute")
    return Decision(SUBJECT, _JOB, refused)


Phase = Callable[[PhysicalPlan], PhysicalPlan]

PHASES: tuple[Phase, ...] = (
    generate_uids,  # before cut_after_region: positions are those of the user's graph in every mode
    check_uids,  # before cut_after_region, which adds operators of our own
    check_attributes,  # before cut_after_region: it checks the functions of the user's graph
    check_fields,  # before cut_after_region, which changes the graph
    check_keys,  # before cut_after_region, like check_fields
    check_forwarding,  # before cut_after_region, which puts sources between operators
    redirect_sinks,  # after the checks, which are of the user's graph; before place_queries, which changes it
    place_queries,  # after the checks, which are of the user's graph; before the others: it changes the graph
    cut_after_region,  # before the others: it changes the graph
    choose_parallelism,
    find_endpoints,
    choose_mode,  # after find_endpoints: boundedness is a property of the sources
    find_pipelines,  # after choose_mode: BATCH is always one pipeline
    choose_runs,  # after find_pipelines: each has runs of its own
    explain_tasks,  # after choose_runs: live runs are known then
    explain_readers,  # after choose_runs: it depends on the parts that a run reads
    assign_levels,
    decide_time,  # after assign_levels: it reads channels
    drop_timestamps,  # after decide_time: it applies to the other jobs
    choose_folds,  # after drop_timestamps: order matters of records with timestamps
    place_expressions,  # after choose_folds: what SQL folds has no operator before it
    place_first_rows,  # after place_expressions: it reads what SQL evaluates
    explain_backlog,  # after assign_levels: it reads operators
    explain_kept_rules,  # after assign_levels, like explain_backlog
    explain_chains,  # after assign_levels: this one and the next read operators too
    explain_channels,
    choose_copies,  # after assign_levels, whose chains it reads, and place_expressions: SQL keeps no records
)


def plan_job(graph: LogicalGraph, configuration: Configuration) -> PhysicalPlan:
    """Return the physical plan of a program."""
    plan = PhysicalPlan(graph, plan_options(configuration), program=graph)
    for phase in PHASES:
        plan = phase(plan)
    return plan


def plan_stretch(graph: LogicalGraph, options: PlanOptions, stretch: Stretch) -> PhysicalPlan:
    """Return the plan by which a part of a program reaches stored positions; see `plan.compat.bootstrap`."""
    confirms = options.confirms and options.redirection is None
    # The graph has the sinks of a shadow already.
    given = replace(
        options, mode=RuntimeExecutionMode.STREAMING, redirection=None, confirms=confirms
    )
    plan = PhysicalPlan(graph, given)
    for phase in PHASES:
        plan = choose_stretch(plan, stretch=stretch) if phase is choose_runs else phase(plan)
    return plan
