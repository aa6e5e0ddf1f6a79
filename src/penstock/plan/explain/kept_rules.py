"""Phase: where a run does not keep a rule that the program may count on, in words. After `assign_levels`.

| decision | the rule |
|---|---|
| checkpoints of a live run with history | FLIP-309: an interval of 0 turns checkpoints off while a source is in backlog |
| an operator that only history feeds | FLIP-327: its input is sorted by key while there is backlog |
| record attributes behind `key_by` in a batch run | FLIP-327: they keep their place between records |
| timers of the clock in history | FLIP-327: they fire when the clock reaches them, whatever is read meanwhile |
| `partition_custom` before a sink | the function is called for every record |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.config.options import INTERVAL_DURING_BACKLOG
from penstock.config.run_options import WATERMARK_LAG_THRESHOLD
from penstock.graph.logical import LogicalGraph, Node
from penstock.plan.phases.backlog import timed_sources
from penstock.plan.phases.edges import physical_inputs, region_of, sources_of
from penstock.plan.physical import Decision, PhysicalPlan, RunPlan
from penstock.program.channel import StreamPartitioner
from penstock.program.level import OperatorSpec
from penstock.program.operator_kind import Inputs, TimeUse
from penstock.program.operators import KEY_BY, SINK
from penstock.program.run_settings import RunKind
from penstock.program.traverse import reachable

_OWN = __name__.partition(".")[0]
_ATTRIBUTES = "process_record_attributes"

_NOT_OFF = (
    f"{INTERVAL_DURING_BACKLOG.key} of 0 cannot be kept: results of live input are visible only when they are "
    "committed, and history is read in the same micro-batches"
)
_NOT_SORTED = (
    "only history feeds it, but live input meets its results, so history is read in micro-batches; FLIP-327 "
    "sorts it by key to its end"
)
_LAG = (
    f"{INTERVAL_DURING_BACKLOG.key} of 0 cannot be kept: what is read without a commit would be held in memory; "
    f"a value above 0 is in force as long as a watermark lags ({WATERMARK_LAG_THRESHOLD.key})"
)
_TIMERS = (
    "those that are due behind the last record of their key fire there, the others in the live run, because "
    "state is written key group by key group; FLIP-327 fires them while other keys are read"
)


_NOT_BETWEEN = (
    "the run sorts the records of a key, so it delivers the first attributes before all records, and later ones behind "
    "all; FLIP-327 keeps them between records"
)


def explain_kept_rules(plan: PhysicalPlan) -> PhysicalPlan:
    """Add a decision for every rule that is not kept, and why."""
    decisions = [
        *_of_sinks(plan),
        *(decision for run in plan.runs for decision in _of_run(plan, run)),
    ]
    return replace(plan, decisions=tuple(dict.fromkeys((*plan.decisions, *decisions))))


def _of_run(plan: PhysicalPlan, run: RunPlan) -> Iterator[Decision]:
    name = f"run {run.index} ({run.name})"
    operators = [op for level in region_of(plan, run).levels for op in level.operators]
    if run.kind is RunKind.BATCH:
        yield from _of_batch_run(plan, run, name, operators)
        return
    if not plan.options.backlog_as_batch:
        return
    history = plan.backlog_sources(run)
    read = {reading.source for reading in run.readings}
    if history & read:
        yield Decision(f"checkpoints of {name}", "not off during backlog", _NOT_OFF)
        for op in operators:
            fed = sources_of(plan.graph, plan.graph.node(op.id))
            if op.kind.is_keyed and op.kind.inputs is Inputs.ONE and history.issuperset(fed):
                yield Decision(f"{op.name!r} in {name}", "not grouped by key", _NOT_SORTED)
    if plan.options.backlog_lag_ms is not None and read & timed_sources(plan):
        yield Decision(f"checkpoints of {name}", "not off while a watermark lags", _LAG)


def _of_batch_run(
    plan: PhysicalPlan, run: RunPlan, name: str, operators: list[OperatorSpec]
) -> Iterator[Decision]:
    for op in operators:
        if run.hands_over and _has_timers(op):
            subject = f"processing-time timers of {op.name!r} in {name}"
            yield Decision(subject, "may wait for the live run", _TIMERS)
        if _takes_attributes(op) and _are_sorted(plan.graph, op.id):
            subject = f"record attributes of {op.name!r} in {name}"
            yield Decision(subject, "not between records", _NOT_BETWEEN)


def _takes_attributes(op: OperatorSpec) -> bool:
    """Return whether an operator of the user's sees record attributes, as far as its class shows."""
    candidates = (getattr(type(op.function), f"{_ATTRIBUTES}{n}", None) for n in ("", "1", "2"))
    methods = [method for method in candidates if method is not None]
    has_own = any(str(method.__module__).partition(".")[0] != _OWN for method in methods)
    return op.kind.is_own and (has_own or not methods)


def _are_sorted(graph: LogicalGraph, node: int) -> bool:
    """Return whether a key is between an operator and one of the user's upstream, which may emit attributes."""

    def upstream(key: int) -> list[Node]:
        reached = reachable([key], lambda consumer: graph.node(consumer).inputs)
        return [graph.node(producer) for producer in reached]

    return any(
        ancestor.kind == KEY_BY and any(source.kind.is_own for source in upstream(ancestor.id))
        for ancestor in upstream(node)
    )


def _has_timers(op: OperatorSpec) -> bool:
    """Return whether a function of the user's may register timers: it has an `on_timer` of its own."""
    method = getattr(type(op.function), "on_timer", None)
    if not op.kind.is_keyed or op.kind.time is not TimeUse.TIMERS or method is None:
        return False
    return str(method.__module__).partition(".")[0] != _OWN


def _of_sinks(plan: PhysicalPlan) -> Iterator[Decision]:
    for sink in plan.graph.of_kind(SINK):
        for edge in physical_inputs(plan.graph, sink):
            partitioning = edge.partitioning
            if partitioning is not None and partitioning.partitioner is StreamPartitioner.CUSTOM:
                yield Decision(
                    f"partition_custom before sink {sink.name!r}",
                    "not called",
                    "a sink is written by the task that made its records, and has no subtasks to choose from",
                )
