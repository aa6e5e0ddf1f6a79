"""The planner: a tuple of pure functions, each idempotent; and jobs that are one plan of Spark.

Phase: gives whole queries of SQL to Spark SQL, in BATCH mode.

    orders ─ where ─ join ─ group by ─ sink          [query of orders, customers] ─ sink
    customers ────────┘                        =>

The package of SQL notes at an operator what Spark SQL may compute in its place (`WholeQuery`). It does if all that is read are
columns of sources, and if no operator behind looks at timestamps, which rows of Spark SQL do not have. Of queries in one another the
outermost one that is legal counts. Everywhere else operators compute the same rows; tests force both.

Then `to_dataframe` needs no job, and what Spark may optimize does not end where Penstock begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from penstock.config.configuration import Configuration
from penstock.expressions.queries import is_projection
from penstock.expressions.steps import ExpressionChain
from penstock.graph.logical import LogicalGraph, Node
from penstock.graph.query_source import QueryRead, QuerySource, WholeQuery
from penstock.plan.explain.chaining import explain_backlog, explain_chains, explain_channels
from penstock.plan.explain.kept_rules import explain_kept_rules
from penstock.plan.folding.choice import choose_folds
from penstock.plan.options import plan_options
from penstock.plan.phases.bounded_region import cut_after_region, runs_as_batch
from penstock.plan.phases.copies import choose_copies
from penstock.plan.phases.generated_uids import check_uids, generate_uids
from penstock.plan.phases.levels import assign_levels, choose_parallelism
from penstock.plan.phases.modes import choose_mode, choose_runs, explain_readers
from penstock.plan.phases.operator_traits import check_fields
from penstock.plan.phases.pipelines import explain_tasks, find_endpoints, find_pipelines
from penstock.plan.phases.refusals import check_attributes, check_forwarding, check_keys
from penstock.plan.phases.time import decide_time, drop_timestamps
from penstock.plan.physical import Decision, PhysicalPlan
from penstock.plan.projections import place_expressions
from penstock.program.operator_kind import TimeUse
from penstock.program.operators import (
    KEYED_AGGREGATE,
    KEYED_CHANGES,
    KEYED_REGULAR_JOIN,
    KEYED_TOP_N,
    SOURCE,
)
from penstock.program.traverse import reachable
from penstock.types.records import RowTypeInfo

SUBJECT = "to_dataframe"
_QUERY = "one plan of Spark, without a job"
_JOB = "a job that writes Parquet files, which the DataFrame reads"


def job_because(plan: PhysicalPlan) -> str | None:
    """Return why the records of a sink need a job; completes "because …". None if Spark alone can make them."""
    for many, what in ((plan.sinks, "sinks"), (plan.sources, "sources"), (plan.runs, "runs")):
        if len(many) != 1:
            return f"the program has {len(many)} {what}"
    projected = {each.operator for each in plan.projections}
    projected |= {each.merged_for for each in plan.projections if each.merged_for is not None}
    operators = [op for level in plan.levels for op in level.operators]
    others = [op.name for op in operators if op.id not in projected]
    if others:
        return f"workers compute {', '.join(map(repr, others))}"
    if len(plan.projections) != 1:
        return "nothing is computed of columns"
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


_WHOLE = "Spark SQL computes the whole query"
_OPERATORS = "operators compute the query"
_SAME = "all of it means the same in Spark SQL, and it reads columns"
_Placed = tuple[Node, WholeQuery, ExpressionChain | None]
"""An operator, its query, and the expressions behind it that are evaluated with its own."""
_UNTIMED = frozenset({KEYED_CHANGES, KEYED_REGULAR_JOIN})
"""Kinds of operators that are called in order of time, and whose last rows do not depend on it."""


def place_queries(plan: PhysicalPlan) -> PhysicalPlan:
    """Put a source in the place of each query that Spark SQL computes. An early phase."""
    if not runs_as_batch(plan):
        return plan
    made: dict[int, _Placed] = {}
    decisions: list[Decision] = []
    inside: set[int] = set()
    for node in reversed(plan.graph.nodes):
        if node.id in inside:
            continue
        refusals: list[Decision] = []
        for found in _queries(node):
            _, whole, _ = found
            refused = _refused(plan, node, whole)
            if refused is None:
                made[node.id] = found
                inside.update(reachable([node.id], lambda key: plan.graph.node(key).inputs))
                decisions.append(Decision(repr(_name(whole)), _WHOLE, _SAME))
                break
            refusals.append(Decision(f"the query of {node.name!r}", _OPERATORS, refused))
        decisions += refusals[:1]  # those of queries in it follow from it
    new = [each for each in reversed(decisions) if each not in plan.decisions]
    plan = replace(plan, decisions=(*plan.decisions, *new))
    return replace(plan, graph=_placed(plan.graph, made)) if made else plan


def _queries(node: Node) -> Iterator[_Placed]:
    """Yield the queries of an operator, the outermost first."""
    part, behind = node, None
    while True:
        whole = part.query
        if whole is not None and not (whole.query is not None and is_projection(whole.query)):
            yield part, whole, behind
        if part.continued is None:
            return
        chain = part.continued.chain
        part, behind = part.continued.before, chain.followed_by(behind) if behind else chain


def _placed(graph: LogicalGraph, made: Mapping[int, _Placed]) -> LogicalGraph:
    """Return a graph with sources of queries, which may have expressions behind them."""
    nodes: dict[int, Node] = {}
    sources: dict[int, int] = {}
    for node in graph.nodes:
        place = 2 * node.id + 1  # a source before it has an even number
        inputs = tuple(2 * key + 1 for key in node.inputs)
        part, whole, behind = made.get(node.id, (node, None, None))
        if whole is None:
            nodes[place] = replace(node, id=place, inputs=inputs)
            continue
        if behind is None:
            sources[id(whole)] = place
            nodes[place] = _source(part, whole)
            continue
        source = sources.setdefault(id(whole), place - 1)
        nodes.setdefault(source, _source(part, whole))
        name = node.name.removeprefix(f"{part.name}, ")
        rest = replace(node, name=name, function=behind, query=None, continued=None)
        nodes[place] = replace(rest, id=place, inputs=(source,))
    return LogicalGraph.leading_to_sinks(nodes)


def _refused(plan: PhysicalPlan, node: Node, whole: WholeQuery) -> str | None:
    """Return why Spark SQL does not compute a query, None if it does."""
    if not plan.options.queries:
        return "execution.batch.queries is false"
    if whole.query is None:
        return whole.because
    for reader in _behind(plan.graph, node):
        is_timed = reader.kind.is_operator and reader.kind.time is not TimeUse.IGNORES
        if is_timed and not _is_untimed(reader):
            return f"{reader.name!r} behind it may look at timestamps"
    return next(filter(None, map(_not_columns, whole.reads)), None)


def _is_untimed(node: Node) -> bool:
    if node.kind == KEYED_AGGREGATE:
        return node.function.exact_because is not None
    if node.kind == KEYED_TOP_N:
        return not node.function.spec.identity
    return node.kind in _UNTIMED


def _behind(graph: LogicalGraph, node: Node) -> Iterator[Node]:
    found = {node.id}
    for each in graph.nodes:
        if not found.isdisjoint(each.inputs):
            found.add(each.id)
            yield each


def _not_columns(read: QueryRead) -> str | None:
    """Return why the records of a source are no columns for Spark SQL, None if they are."""
    part = read.source
    if part.unprojected_because is not None:
        return f"{part.describe()} is read, and {part.unprojected_because}"
    if part.get_produced_type() != read.type_info:
        return f"{part.describe()} has other types than {read.name!r} declares"
    return None if read.chain is None else read.chain.unprojected_because


def _name(whole: WholeQuery) -> str:
    return f"query of {', '.join(dict.fromkeys(each.name for each in whole.reads))}"


def _source(node: Node, whole: WholeQuery) -> Node:
    assert whole.query is not None, "it was asked"
    assert isinstance(node.type_info, RowTypeInfo), "rows of SQL have columns"
    source = QuerySource(
        whole.query,
        tuple(each.source for each in whole.reads),
        tuple(each.chain for each in whole.reads),
        node.type_info,
    )
    return Node(
        id=node.id,
        kind=SOURCE,
        name=_name(whole),
        uid=None,
        inputs=(),
        type_info=node.type_info,
        origin=node.origin,
        source=source,
    )


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
    explain_readers,  # after choose_runs: it depends on the parts that a run reads
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
