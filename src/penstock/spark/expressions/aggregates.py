"""Aggregates by key in Spark SQL: their parts merged, or finished with their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from penstock.connectors.spark_source import by_plain_name, by_position, column_name
from penstock.errors import CallSite
from penstock.expressions.keyed_aggregate import TALLY, KeyedAggregate
from penstock.expressions.kinds import name_of
from penstock.expressions.paned import PANE
from penstock.expressions.steps import ExpressionChain, SelectStep
from penstock.expressions.tree import Field
from penstock.expressions.typing import RecordType
from penstock.spark.expressions.projection import (
    after_steps,
    as_declared,
    built,
    check_session,
    outputs,
    selected,
)
from penstock.spark.expressions.scalars import SQL_TYPES, of_millis
from penstock.types.base import TypeInformation
from penstock.types.scalars import BasicTypeInfo

_RETAINS_KEYS = "spark.sql.retainGroupColumns"

_MERGED: dict[str, Callable[[Column], Column]] = {"sum": sf.sum, "min": sf.min, "max": sf.max}

NUMBER = "session"
"""Name of the column of the numbers of sessions."""

_SUM_TYPES = frozenset({"bigint", "double"})
"""Types of sums, whatever smaller numbers are added."""


def merged(
    frame: DataFrame,
    aggregate: KeyedAggregate,
    tasks: int,
    *,
    session_gap_ms: int | None = None,
    is_ordered: bool = True,
) -> DataFrame:
    """Return the parts of aggregates, one row per key; of sessions as `_of_sessions`."""
    keys = [sf.col(column_name(position)) for position in range(aggregate.keys)]
    rows = grouped(by_position(frame), aggregate)
    if session_gap_ms is not None:
        rows = _of_sessions(rows, aggregate, session_gap_ms)
    rows = rows.coalesce(tasks)
    if is_ordered:
        rows = rows.sortWithinPartitions(*keys)
    return rows.toDF(*frame.columns[: len(rows.columns)])


def _of_sessions(pieces: DataFrame, aggregate: KeyedAggregate, gap_ms: int) -> DataFrame:
    """Return sessions of the merged parts of `by_piece`, with the time of their first record in place of the pane.

    Tallies are merged once, so sessions with one stay in pieces.
    """
    pane = column_name(aggregate.parts.field_names.index(PANE))
    *_, last, first = pieces.columns
    if TALLY not in aggregate.merges:
        names = (column_name(position) for position in range(aggregate.keys))
        keys = [sf.col(name) for name in names if name != pane]
        numbered = numbered_sessions(pieces, keys, sf.col(first), sf.col(last), gap_ms)
        pieces = grouped(numbered.withColumn(pane, sf.col(NUMBER)).drop(NUMBER), aggregate)
    return pieces.withColumn(pane, sf.col(first)).drop(first)


def numbered_sessions(
    rows: DataFrame, keys: Sequence[Column], first: Column, last: Column, gap_ms: int
) -> DataFrame:
    """Return pieces of sessions with the number of their session among those of their key, in a further column.

    A session begins where the piece before ends more than a gap earlier. Pieces of a key do not overlap; one without times is a
    session of its own.
    """
    in_order = Window.partitionBy(*keys).orderBy(first)
    before = sf.lag(last).over(in_order)
    # No difference if it leaves LONG: first is less than a gap behind the least LONG then.
    is_apart = sf.coalesce(sf.try_subtract(first, sf.lit(gap_ms)) > before, sf.lit(False))  # noqa: FBT003 - a value
    begins = first.isNull() | before.isNull() | is_apart
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    marked = rows.withColumn(NUMBER, sf.when(begins, 1).otherwise(0))
    return marked.withColumn(NUMBER, sf.sum(NUMBER).over(so_far))


def finished(
    frame: DataFrame,
    chain: ExpressionChain,
    aggregate: KeyedAggregate,
    type_info: TypeInformation,
    origin: CallSite | None,
) -> DataFrame:
    """Return the results of aggregates, one row per key, in no order."""
    check_session(frame.sparkSession, origin)
    *steps, parts = chain.needed().steps
    assert isinstance(parts, SelectStep), "parts are one selection"
    rows, records = after_steps(by_plain_name(frame), chain.records, steps)
    if is_one_plan(rows, records, parts, aggregate):
        return _grouped_at_once(rows, records, parts, aggregate, type_info)
    rows, _ = after_steps(rows, records, [parts])
    rows = grouped(rows, aggregate)
    return rows.select(*_results(rows, aggregate, type_info))


def is_one_plan(
    rows: DataFrame, records: RecordType, parts: SelectStep, aggregate: KeyedAggregate
) -> bool:
    """Return whether Spark groups by the keys as they are, and computes results where it merges parts.

    False if Spark compares keys in another way than their declared type, which then is not the type of the results.
    """
    results = _selection(aggregate)
    names = [name for name, _ in parts.outputs[: aggregate.keys]]
    keys = [expression for _, expression in parts.outputs[: aggregate.keys]]
    first = [
        expression.name
        for _, expression in results.outputs[: aggregate.keys]
        if isinstance(expression, Field)
    ]
    types = _exact_types(rows, records)
    is_exact = all(isinstance(key, Field) and key.name in types for key in keys)
    return TALLY not in aggregate.merges and is_exact and first == names


def _exact_types(rows: DataFrame, records: RecordType) -> dict[str, str]:
    """Return fields to Spark's names of their types, of those which Spark has with exactly the declared type."""
    named = zip(records.field_names, records.field_types, rows.dtypes, strict=False)
    return {
        name: actual
        for name, kind, (_, actual) in named
        if isinstance(kind, BasicTypeInfo) and SQL_TYPES.get(kind.name) == actual
    }


def _grouped_at_once(
    rows: DataFrame,
    records: RecordType,
    parts: SelectStep,
    aggregate: KeyedAggregate,
    type_info: TypeInformation,
) -> DataFrame:
    """Return results by one plan: its keys and results are expressions of the rows. Spark merges equal parts once."""
    types, kinds, columns = _exact_types(rows, records), {}, {}
    selection = zip(parts.outputs, outputs(rows, records, parts), strict=True)
    for ((name, expression), column), merge in zip(selection, aggregate.merges, strict=True):
        kinds[name] = SQL_TYPES[name_of(expression)]
        merged_part = column if merge is None else _MERGED[merge](column)
        if merge == "sum":
            has_type = kinds[name] in _SUM_TYPES
        else:  # the cast of a key drops further metadata of its column, such as a comment
            has_type = (
                merge is not None and isinstance(expression, Field) and expression.name in types
            )
        columns[name] = merged_part if has_type else merged_part.cast(kinds[name])
    emitted = [
        (columns[expression.name], kinds[expression.name])
        if isinstance(expression, Field)
        else (built(expression, columns), None)
        for _, expression in _selection(aggregate).outputs
    ]
    named = as_declared(emitted, type_info)
    return by_keys(rows, named[: aggregate.keys], named[aggregate.keys :])


def by_keys(rows: DataFrame, keys: Sequence[Column], others: Sequence[Column]) -> DataFrame:
    """Return keys and other columns, one row per key; a setting of the session may leave out the keys."""
    if not others:
        return rows.select(*keys).distinct()
    retains_keys = rows.sparkSession.conf.get(_RETAINS_KEYS) == "true"
    return rows.groupBy(*keys).agg(*(() if retains_keys else keys), *others)


def finished_windows(
    frame: DataFrame,
    chain: ExpressionChain,
    aggregate: KeyedAggregate,
    width_ms: int,
    type_info: TypeInformation,
    origin: CallSite | None,
) -> DataFrame:
    """Return the results of windows, one row per key and window, and behind their columns the begin of the window.

    It is NULL if a record of the key has no timestamp.
    """
    check_session(frame.sparkSession, origin)
    rows = grouped(selected(frame, chain), aggregate)
    columns = [sf.col(column_name(position)) for position in range(len(rows.columns))]
    pane = columns.pop(aggregate.keys - 1)
    fired = columns
    kinds = aggregate.results.records.field_types[len(columns) :]
    if kinds:  # the bounds of the window
        limits = (pane, pane + sf.lit(width_ms))
        fired = [
            *columns,
            *(of_millis(kind, limit) for kind, limit in zip(kinds, limits, strict=True)),
        ]
    rows = rows.select(
        *[column.alias(column_name(position)) for position, column in enumerate(fired)],
        pane.alias(PANE),
    )
    return rows.select(*_results(rows, aggregate, type_info), sf.col(PANE))


def grouped(rows: DataFrame, aggregate: KeyedAggregate) -> DataFrame:
    """Return the parts of aggregates of a DataFrame of `by_position`, as one, one row per key, in no order; see `merged`."""
    kinds = [kind for _, kind in rows.dtypes]
    merges = list(enumerate(zip(aggregate.merges, kinds, strict=True)))
    keys = [sf.col(column_name(position)) for position, (merge, _) in merges if merge is None]
    parts = [
        _MERGED[merge](sf.col(column_name(position))).cast(kind).alias(column_name(position))
        for position, (merge, kind) in merges
        if merge is not None and merge != TALLY
    ]
    has_tally = False
    for position, (merge, _) in merges:
        if merge == TALLY:
            has_tally = True
            rows = _counted(rows, position, keys, parts)
            entry = sf.when(sf.col("value").isNotNull(), sf.struct("value", "times"))
            counted = sf.sort_array(sf.collect_list(entry))  # without NULL
            tally = sf.when(sf.size(counted) > 0, sf.map_from_entries(counted))
            parts = [*parts, tally.alias(column_name(position))]
    merged = by_keys(rows, keys, parts)
    if not has_tally:  # columns are in order
        return merged
    return merged.select(*[sf.col(column_name(position)) for position in range(len(kinds))])


def _counted(rows: DataFrame, position: int, keys: list[Column], parts: list[Column]) -> DataFrame:
    """Return a row per key and value of a tally, with the number of its records and the parts of these."""
    value = sf.map_keys(sf.col(column_name(position)))[0].alias("value")
    times = sf.count(sf.col(column_name(position))).alias("times")
    return by_keys(rows, [*keys, value], [times, *parts])


def _results(
    rows: DataFrame, aggregate: KeyedAggregate, type_info: TypeInformation
) -> list[Column]:
    columns = outputs(rows, aggregate.results.records, _selection(aggregate))
    return as_declared(((column, None) for column in columns), type_info)


def _selection(aggregate: KeyedAggregate) -> SelectStep:
    (step,) = aggregate.results.steps
    assert isinstance(step, SelectStep), "results are one selection"
    return step
