"""A chain of expressions as one projection of Spark SQL, before Python makes records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.connectors.column_positions import by_position, column_name
from penstock.errors import CallSite, ConfigError
from penstock.expressions.keyed_aggregate import TALLY, KeyedAggregate
from penstock.expressions.kinds import name_of
from penstock.expressions.paned import PANE
from penstock.expressions.steps import ExpressionChain, SelectStep, WhereStep
from penstock.expressions.tree import Expression, Field, Literal
from penstock.expressions.typing import RecordType
from penstock.spark.expressions.builders import BUILDERS
from penstock.spark.expressions.constants import constant
from penstock.spark.expressions.sql_types import SQL_TYPES
from penstock.types.arrow import arrow_schema
from penstock.types.base import TypeInformation
from penstock.types.scalars import BasicTypeInfo

_ANSI = "spark.sql.ansi.enabled"


def projected(frame: DataFrame, chain: ExpressionChain, origin: CallSite | None) -> DataFrame:
    """Return the results of a chain for the rows of a DataFrame.

    Args:
        frame: Rows whose columns are the fields that the chain reads, in their order.
        chain: The steps.
        origin: The user's line that made them.

    Raises:
        ConfigError: The session does not raise errors of arithmetic.
    """
    check_session(frame.sparkSession, origin)
    made = selected(by_position(frame), chain)
    return made.toDF(*chain.type_info.field_names)


def merged(
    frame: DataFrame, aggregate: KeyedAggregate, tasks: int, *, is_ordered: bool = True
) -> DataFrame:
    """Return the parts of aggregates, one row per key.

    Args:
        frame: A row of parts per record; its columns are those of `aggregate.parts`.
        aggregate: How parts are merged.
        tasks: Number of tasks that read the result.
        is_ordered: Whether rows have a deterministic order: a task that is repeated reads the same rows.
    """
    keys = [sf.col(column_name(at)) for at in range(aggregate.keys)]
    rows = grouped(by_position(frame), aggregate).coalesce(tasks)
    if is_ordered:
        rows = rows.sortWithinPartitions(*keys)
    return rows.toDF(*frame.columns)


def finished(
    frame: DataFrame,
    chain: ExpressionChain,
    aggregate: KeyedAggregate,
    type_info: TypeInformation,
    origin: CallSite | None,
) -> DataFrame:
    """Return the results of aggregates, one row per key, in no order.

    Args:
        frame: Rows whose columns are the fields that the chain reads, in their order.
        chain: The selection of parts.
        aggregate: How parts are merged, and what is made of them.
        type_info: Type of the results. Its fields are the columns.
        origin: The user's line that made the aggregates.

    Raises:
        ConfigError: The session does not raise errors of arithmetic.
    """
    check_session(frame.sparkSession, origin)
    rows = grouped(selected(by_position(frame), chain), aggregate)
    return rows.select(*_results(rows, aggregate.results, type_info))


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

    Args:
        frame: See `finished`.
        chain: The selection of parts and of the pane of each record, see `penstock.expressions.paned`.
        aggregate: How parts are merged by key and pane, and what is made of them and of the bounds of the window.
        width_ms: Length of a window, which is that of a pane.
        type_info: See `finished`.
        origin: See `finished`.

    Raises:
        ConfigError: The session does not raise errors of arithmetic.
    """
    check_session(frame.sparkSession, origin)
    rows = grouped(selected(by_position(frame), chain), aggregate)
    columns = [sf.col(column_name(at)) for at in range(len(rows.columns))]
    pane = columns.pop(aggregate.keys - 1)
    bounds = [sf.timestamp_millis(pane), sf.timestamp_millis(pane + sf.lit(width_ms))]
    fired = [*columns, *bounds][: len(aggregate.results.records.field_names)]
    rows = rows.select(
        *[each.alias(column_name(at)) for at, each in enumerate(fired)], pane.alias(PANE)
    )
    return rows.select(*_results(rows, aggregate.results, type_info), sf.col(PANE))


def check_session(session: SparkSession, origin: CallSite | None) -> None:
    """Check that a session raises errors of arithmetic.

    Raises:
        ConfigError: It does not.
    """
    if not has_errors(session):
        raise ConfigError(
            f"{_ANSI} is off in the Spark session, so Spark SQL would return NULL or a wrong number "
            "where an expression has no value",
            hint=f"Set {_ANSI} to true, or execution.batch.expressions and execution.batch.queries to false.",
            origin=origin,
        )


def has_errors(session: SparkSession) -> bool:
    """Return whether Spark SQL raises errors of arithmetic in a session."""
    return session.conf.get(_ANSI) == "true"


def selected(rows: DataFrame, chain: ExpressionChain) -> DataFrame:
    """Return the results of a chain for a DataFrame of `by_position`, as one. Each step is a plan that Spark analyses."""
    records = chain.records
    for step in chain.needed().steps:
        columns = fields(rows, records)
        if isinstance(step, WhereStep):
            rows = rows.where(built(step.condition, columns))
            continue
        made = [_output(each, records.field_names, columns) for _, each in step.outputs]
        records = step.type_info
        rows = rows.select(*[each.alias(column_name(at)) for at, each in enumerate(made)])
    return rows


def declared(rows: DataFrame, type_info: TypeInformation) -> DataFrame:
    """Return the columns of a DataFrame of `by_position` with the names and types that a type of records has in Arrow."""
    columns = [sf.col(column_name(at)) for at in range(len(rows.columns))]
    return rows.select(*_as_declared(columns, type_info))


def _results(rows: DataFrame, chain: ExpressionChain, type_info: TypeInformation) -> list[Column]:
    (step,) = chain.steps
    assert isinstance(step, SelectStep), "results are one selection"
    columns = fields(rows, chain.records)
    made = [_output(each, chain.records.field_names, columns) for _, each in step.outputs]
    return _as_declared(made, type_info)


def _as_declared(columns: Sequence[Column], type_info: TypeInformation) -> list[Column]:
    schema = from_arrow_schema(arrow_schema(type_info), prefer_timestamp_ntz=True)
    return [
        each.cast(field.dataType).alias(field.name)
        for each, field in zip(columns, schema, strict=True)
    ]


_MERGED: dict[str, Callable[[Column], Column]] = {"sum": sf.sum, "min": sf.min, "max": sf.max}


def grouped(rows: DataFrame, aggregate: KeyedAggregate) -> DataFrame:
    """Return the parts of aggregates of a DataFrame of `by_position`, as one, one row per key, in no order; see `merged`."""
    kinds = [kind for _, kind in rows.dtypes]
    merges = list(enumerate(zip(aggregate.merges, kinds, strict=True)))
    keys = [sf.col(column_name(at)) for at, (how, _) in merges if how is None]
    parts = [
        _MERGED[how](sf.col(column_name(at))).cast(kind).alias(column_name(at))
        for at, (how, kind) in merges
        if how is not None and how != TALLY
    ]
    has_tally = False
    for at, (how, _) in merges:
        if how == TALLY:
            has_tally = True
            rows = _counted(rows, at, keys, parts)
            entry = sf.when(sf.col("value").isNotNull(), sf.struct("value", "times"))
            counted = sf.sort_array(sf.collect_list(entry))  # without NULL
            known = sf.when(sf.size(counted) > 0, sf.map_from_entries(counted))
            parts = [*parts, known.alias(column_name(at))]
    made = rows.groupBy(*keys).agg(*parts)
    if not has_tally:  # columns are in order
        return made
    return made.select(*[sf.col(column_name(at)) for at in range(len(kinds))])


def _counted(rows: DataFrame, at: int, keys: list[Column], parts: list[Column]) -> DataFrame:
    """Return a row per key and value of a tally, with the number of its records and the parts of these."""
    value = sf.map_keys(sf.col(column_name(at)))[0].alias("value")
    times = sf.count(sf.col(column_name(at))).alias("times")
    return rows.groupBy(*keys, value).agg(times, *parts)


def built(expression: Expression, columns: Mapping[str, Column]) -> Column:
    """Return a typed expression as a Spark column.

    Args:
        expression: The expression.
        columns: Name of a field to its column, which has the type of the field.
    """
    if isinstance(expression, Field):
        return columns[expression.name]
    if isinstance(expression, Literal):
        return constant(name_of(expression), expression.value)
    arguments = [built(each, columns) for each in expression.arguments]
    return BUILDERS[expression.function](expression, *arguments)


def fields(frame: DataFrame, records: RecordType) -> dict[str, Column]:
    """Return the fields of records as columns of their types; Spark may know more, such as a collation.

    Args:
        frame: A DataFrame of `by_position`, whose first columns are the fields.
        records: Type of the records.
    """
    columns = {}
    named = zip(records.field_names, records.field_types, strict=True)
    for (at, (name, kind)), (_, actual) in zip(enumerate(named), frame.dtypes, strict=False):
        wanted = SQL_TYPES.get(kind.name) if isinstance(kind, BasicTypeInfo) else None
        column = sf.col(column_name(at))
        columns[name] = column if wanted is None or wanted == actual else column.cast(wanted)
    return columns


def _output(expression: Expression, names: Sequence[str], columns: Mapping[str, Column]) -> Column:
    """Return a selected column; a field alone keeps the type that Spark has for it."""
    if isinstance(expression, Field):
        return sf.col(column_name(names.index(expression.name)))
    return built(expression, columns)
