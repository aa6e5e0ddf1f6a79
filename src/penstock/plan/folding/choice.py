"""Phase: chooses the places at which each run folds the records of a key. After `drop_timestamps`.

A record passes the places in their order, and earlier ones are faster: folded records need not be sent,
buffered or written to state. So the phase chooses every legal place (`plan.folding.places`).
`PhysicalPlan.folds` contains the choice. Every other legal choice gives the same results; tests force
all of them.

The phase also chooses the sources that Spark SQL may fold as columns, before Python makes records:

    columns ──▶ Spark SQL: parts of `FieldTotal`, merged by key ──▶ a record per key ──▶ the plan without it

The fold equals that of the sender (`plan.folding.places`). In addition SQL must compute the same values
as Python. So these conditions must hold:

* Every part of the source reads columns of the declared types, and only the keyed operator reads its
  records.
* The records of a key come only from that source, and in a batch run from one part of it.
* A record is a row of two fields: a whole number that `sum`, `min` or `max` of the API aggregates (or
  a text, of `min` and `max`), and the key, which the selector only reads. Other fields would keep the
  values of the first record, and SQL has no first record.
* The key is a whole number, text, a boolean or a date, whose equality is the same in SQL and Python.

SQL still differs for NULL, which a total counts (`expressions.field_totals`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any

from penstock.expressions.field_totals import FieldTotal
from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.plan.folding.places import Folding, folding_of, is_legal, obstacles, panes_in_state
from penstock.plan.phases.edges import Region, region_of
from penstock.plan.phases.time import untimed_channels
from penstock.plan.physical import Decision, PhysicalPlan, PlannedFold, RunPlan, SourcePlan
from penstock.program.channel import SINK_LEVEL, ChannelSpec, StreamPartitioner
from penstock.program.fold import ChannelFold, Fold, FoldPlan, Place
from penstock.program.level import OperatorSpec
from penstock.program.operator_fold import fold_of, function_of
from penstock.program.run_settings import RunKind
from penstock.program.selected_field import field_position
from penstock.types import RowTypeInfo, Types

_NUMBERS = frozenset(map(repr, (Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG())))
_TEXT = repr(Types.STRING())
_KEYS = _NUMBERS | {_TEXT, repr(Types.BOOLEAN()), repr(Types.SQL_DATE())}
_FIELDS = {"sum": _NUMBERS, "min": _NUMBERS | {_TEXT}, "max": _NUMBERS | {_TEXT}}
"""Aggregation to the types of which Spark SQL has the same one."""


def columns_folded(
    plan: PhysicalPlan, channel: ChannelSpec, fold: Fold
) -> tuple[tuple[int, FieldTotal], ...]:
    """Return the sources of a channel that SQL may fold as columns, each with its fold."""
    if channel.source_level != 0 or channel.partitioner is not StreamPartitioner.HASH:
        return ()
    if not plan.options.projects:
        return ()
    target = (channel.target_level, channel.target_operator)
    feeding: set[int] = set()
    for other in plan.channels:
        if (other.target_level, other.target_operator) == target:
            feeding.update(other.sources)
        if len(feeding) > 1:  # at the second one, and not behind all of a union of a thousand
            return ()
    readings = (r for run in plan.runs if run.kind is RunKind.BATCH for r in run.readings)
    if any(len(r.parts) > 1 for r in readings if r.source in feeding):
        return ()
    chained, channels = dict(plan.source_operators), dict(plan.source_channels)
    candidates = (
        (source.id, _of_source(source, channel, fold))
        for source in plan.sources
        if channels.get(source.id) == (channel.id,)
        and not chained.get(source.id)
        and not source.is_query
    )
    return tuple((source, columns) for source, columns in candidates if columns is not None)


def _of_source(source: SourcePlan, channel: ChannelSpec, fold: Fold) -> FieldTotal | None:
    declared = source.type_info
    aggregate = getattr(fold.add, "of_column", None)
    if aggregate is None or fold.accumulator_type not in (None, declared):
        return None
    if not isinstance(declared, RowTypeInfo) or not all(
        part.as_split is None
        and part.unprojected_because is None
        and part.get_produced_type() == declared
        for part in source.parts
    ):
        return None
    names, kinds = declared.get_field_names(), list(map(repr, declared.get_field_types()))
    how, position = aggregate
    field = names.index(position) if isinstance(position, str) else position
    key = _key(channel, names)
    if key is None or sorted((key, field)) != list(range(len(names))):
        return None  # other fields, or the key itself is aggregated
    if names[0].lower() == names[1].lower():
        return None  # Spark does not distinguish these names
    if kinds[field] not in _FIELDS[how] or kinds[key] not in _KEYS:
        return None
    return FieldTotal(declared, names[key], names[field], how)


def _key(channel: ChannelSpec, names: list[str]) -> int | None:
    selector: Any = channel.key_selector
    return None if selector is None else field_position(selector, names)


_WORDS = {
    Place.SOURCE_SQL: "by Spark SQL",
    Place.SENDER: "before they are sent",
    Place.RECEIVER_FRAME: "by frame",
    Place.RECEIVER_GROUP: "by key group",
    Place.STATE: "in state",
}
"""Place to its name in plans, in the order in which records pass them."""


def choose_folds(plan: PhysicalPlan) -> PhysicalPlan:
    """Choose the places of every operator that folds, in every run, and explain the refused ones."""
    folds: list[PlannedFold] = []
    decisions = list(plan.decisions)
    for folding in _foldings(plan):
        refused = obstacles(folding) | _columns_refused(plan, folding)
        places = frozenset(Place) - refused.keys()
        # the sender sends records, so frames of accumulators are not legal
        if not is_legal(folding, places):
            places -= {Place.RECEIVER_FRAME}
        folds.append(PlannedFold(folding.run.index, folding.op.id, _plan(folding, places)))
        decisions += [d for d in _decisions(plan, folding, places, refused) if d not in decisions]
    return replace(plan, folds=tuple(folds), decisions=tuple(decisions))


def legal_places(plan: PhysicalPlan, run: RunPlan, operator: int) -> tuple[frozenset[Place], ...]:
    """Return every legal choice of places of an operator in a run."""
    folding = next(f for f in _foldings(plan) if f.run == run and f.op.id == operator)
    free = [
        place
        for place in Place
        if place is not Place.STATE and place not in _columns_refused(plan, folding)
    ]
    choices = [frozenset({Place.STATE})]
    for place in free:
        choices += [choice | {place} for choice in choices]
    return tuple(choice for choice in choices if is_legal(folding, choice))


def with_folds(plan: PhysicalPlan, run: RunPlan, region: Region) -> Region:
    """Return the region of a run, with `plan.folds` applied to its operators and channels."""
    chosen = {fold.operator: fold.plan for fold in plan.folds if fold.run == run.index}
    folding = {op.id: op for level in region.levels for op in level.operators if op.id in chosen}
    keyed = frozenset(id_ for id_, how in chosen.items() if how.takes_keys)
    folded = keyed | {id_ for id_, how in chosen.items() if how.as_columns}
    senders = Counter(c.source_level for c in region.channels if _is_for(c, folded))

    def channel(spec: ChannelSpec) -> ChannelSpec:
        if not _is_for(spec, folded):
            return spec
        target = spec.target_operator
        share = plan.options.sorted_inputs_bytes // senders[spec.source_level]
        fold = _channel_fold(plan, run, spec, folding[target], chosen[target], share)
        return replace(spec, fold=fold)

    def operator(spec: OperatorSpec) -> OperatorSpec:
        how = chosen.get(spec.id)
        selectors = (itemgetter(0),) if spec.id in keyed else spec.key_selectors
        return spec if how is None else replace(spec, key_selectors=selectors, folding=how)

    return replace(
        region,
        channels=tuple(map(channel, region.channels)),
        levels=tuple(
            replace(level, operators=tuple(map(operator, level.operators)))
            for level in region.levels
        ),
    )


def _foldings(plan: PhysicalPlan) -> Iterator[Folding]:
    untimed = untimed_channels(plan)
    for run in plan.runs:
        for level in region_of(plan, run).levels:
            for op in level.operators:
                folding = folding_of(plan, run, op, untimed)
                if folding is not None:
                    yield folding


def _plan(folding: Folding, places: frozenset[Place]) -> FoldPlan:
    panes = panes_in_state(folding)
    return FoldPlan(
        places,
        folding.emit,
        ignores_order=folding.ignores_order,
        panes=panes,
        as_columns=folding.as_columns,
    )


def _channel_fold(
    plan: PhysicalPlan,
    run: RunPlan,
    spec: ChannelSpec,
    op: OperatorSpec,
    how: FoldPlan,
    memory_bytes: int,
) -> ChannelFold:
    fold = fold_of(op)
    assert fold is not None, "what keeps all records does not take them with their keys"
    window, function = op.window, function_of(op)
    has_sessions = window is not None and window.session_gap_ms is not None
    is_of_sql = isinstance(function, KeyedAggregate) and function.is_merged_alike_by_sql
    return ChannelFold(
        fold=fold,
        folds=Place.SENDER in how.places,
        name=op.name,
        uid=op.uid,
        origin=op.origin,
        memory_bytes=memory_bytes,
        panes=None if window is None else window.panes,
        session_gap_ms=None if window is None else window.session_gap_ms,
        assigner=None if window is None else window.assigner,
        columns=columns_folded(plan, spec, fold) if Place.SOURCE_SQL in how.places else (),
        aggregate=function if how.as_columns else None,
        of_sessions=function if has_sessions and is_of_sql and not how.as_columns else None,
        keeps_time=window is not None or (run.kind is RunKind.BATCH and not how.ignores_order),
    )


def _columns_refused(plan: PhysicalPlan, folding: Folding) -> dict[Place, str]:
    fold = folding.fold
    if fold is not None and any(columns_folded(plan, spec, fold) for spec in folding.fed):
        return {}
    return {Place.SOURCE_SQL: "it does not read two plain columns of a source"}


def _decisions(
    plan: PhysicalPlan, folding: Folding, places: frozenset[Place], refused: dict[Place, str]
) -> Iterator[Decision]:
    run, op, fold = folding.run, folding.op, folding.fold
    if Place.SOURCE_SQL in places and fold is not None:
        for source, columns in (
            c for spec in folding.fed for c in columns_folded(plan, spec, fold)
        ):
            yield Decision(
                f"columns of {plan.source(source).name!r}",
                "combined by Spark SQL before records are made of them",
                f"{columns.how} of {columns.field!r} by {columns.key!r} is the same there; NULLs are "
                "left to Python",
            )
    words = [word for place, word in _WORDS.items() if place in places]
    promised = filter(None, (folding.promises.associative, folding.promises.commutative))
    yield Decision(
        f"records of {op.name!r} in run {run.index} ({run.name})",
        ("kept " if fold is None else "folded ")
        + ("as columns, " if folding.as_columns else "")
        + ", ".join(words),
        refused[Place.SENDER] if Place.SENDER in refused else "; ".join(dict.fromkeys(promised)),
    )


def _is_for(channel: ChannelSpec, operators: frozenset[int]) -> bool:
    return channel.target_level != SINK_LEVEL and channel.target_operator in operators
