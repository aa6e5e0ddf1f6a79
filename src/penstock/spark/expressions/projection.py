"""A chain of expressions as one projection of Spark SQL, before Python makes records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.connectors.column_positions import by_position, column_name
from penstock.errors import CallSite, ConfigError
from penstock.expressions.keyed_aggregate import TALLY, KeyedAggregate
from penstock.expressions.kinds import name_of
from penstock.expressions.steps import ExpressionChain, WhereStep
from penstock.expressions.tree import Expression, Field, Literal
from penstock.expressions.typing import RecordType
from penstock.spark.expressions.builders import BUILDERS
from penstock.spark.expressions.casts import SQL_TYPES
from penstock.spark.expressions.constants import constant
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
    records = chain.records
    names = records.field_names
    for step in chain.needed().steps:
        frame = by_position(frame)
        columns = fields(frame, records)
        if isinstance(step, WhereStep):
            frame = frame.where(built(step.condition, columns))
            continue
        made = [_output(each, names, columns) for _, each in step.outputs]
        records = step.type_info
        names = records.field_names
        frame = frame.select(*[each.alias(column_name(at)) for at, each in enumerate(made)])
    return frame.toDF(*names)


def check_session(session: SparkSession, origin: CallSite | None) -> None:
    """Check that a session raises errors of arithmetic.

    Raises:
        ConfigError: It does not.
    """
    if session.conf.get(_ANSI) != "true":
        raise ConfigError(
            f"{_ANSI} is off in the Spark session, so Spark SQL would return NULL or a wrong number "
            "where an expression has no value",
            hint=f"Set {_ANSI} to true, or execution.batch.expressions and execution.batch.queries to false.",
            origin=origin,
        )


def merged(frame: DataFrame, aggregate: KeyedAggregate, tasks: int) -> DataFrame:
    """Return the parts of aggregates, one row per key.

    Args:
        frame: A row of parts per record; its columns are those of `aggregate.parts`.
        aggregate: How parts are merged.
        tasks: Number of tasks that read the result.

    Returns:
        Rows in a deterministic order: a task that is repeated reads the same rows.
    """
    keys = [sf.col(column_name(at)) for at in range(aggregate.keys)]
    rows = by_position(grouped(frame, aggregate)).coalesce(tasks)
    return rows.sortWithinPartitions(*keys).toDF(*frame.columns)  # type: ignore[no-any-return]


def grouped(frame: DataFrame, aggregate: KeyedAggregate) -> DataFrame:
    """Return the parts of aggregates, one row per key, in no order; see `merged`."""
    names, kinds = frame.columns, [kind for _, kind in frame.dtypes]
    merges = list(enumerate(zip(aggregate.merges, kinds, strict=True)))
    keys = [sf.col(column_name(at)) for at, (how, _) in merges if how is None]
    parts = [
        _MERGED[how](sf.col(column_name(at))).cast(kind).alias(column_name(at))
        for at, (how, kind) in merges
        if how is not None and how != TALLY
    ]
    rows = by_position(frame)
    for at, (how, _) in merges:
        if how == TALLY:
            rows = _counted(rows, at, keys, parts)
            entry = sf.when(sf.col("value").isNotNull(), sf.struct("value", "times"))
            counted = sf.sort_array(sf.collect_list(entry))  # without NULL
            known = sf.when(sf.size(counted) > 0, sf.map_from_entries(counted))
            parts = [*parts, known.alias(column_name(at))]
    ordered = [sf.col(column_name(at)) for at in range(len(names))]
    return rows.groupBy(*keys).agg(*parts).select(*ordered).toDF(*names)  # type: ignore[no-any-return]


def _counted(rows: DataFrame, at: int, keys: list[Column], parts: list[Column]) -> DataFrame:
    """Return a row per key and value of a tally, with the number of its records and the parts of these."""
    value = sf.map_keys(sf.col(column_name(at)))[0].alias("value")
    times = sf.count(sf.col(column_name(at))).alias("times")
    return rows.groupBy(*keys, value).agg(times, *parts)


_MERGED: dict[str, Callable[[Column], Column]] = {"sum": sf.sum, "min": sf.min, "max": sf.max}


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
