"""Decides which sources Spark SQL may fold as columns, before Python makes records.

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

SQL still differs for NULL, which a total says (`expressions.field_totals`).
"""

from __future__ import annotations

from typing import Any

from penstock.expressions.field_totals import FieldTotal
from penstock.plan.physical import PhysicalPlan, SourcePlan
from penstock.program.channel import ChannelSpec
from penstock.program.folding.fold import Fold
from penstock.program.partitioning import StreamPartitioner
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
    found = (
        (source.id, _of_source(source, channel, fold))
        for source in plan.sources
        if channels.get(source.id) == (channel.id,)
        and not chained.get(source.id)
        and not source.is_query
    )
    return tuple((source, columns) for source, columns in found if columns is not None)


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
