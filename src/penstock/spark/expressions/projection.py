"""A chain of expressions as one projection of Spark SQL, before Python makes records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType, MapType, StructType

from penstock.connectors.spark_source import by_plain_name, column_name
from penstock.errors import CallSite, ConfigError
from penstock.expressions.steps import ExpressionChain, SelectStep, Step, WhereStep
from penstock.expressions.tree import Expression, Field, Literal, fields_of
from penstock.expressions.typing import RecordType
from penstock.spark.expressions.builders import BUILDERS, constant
from penstock.spark.expressions.scalars import SQL_TYPES
from penstock.types.arrow import arrow_schema
from penstock.types.base import TypeInformation
from penstock.types.scalars import BasicTypeInfo

_ANSI = "spark.sql.ansi.enabled"


def projected(frame: DataFrame, chain: ExpressionChain, origin: CallSite | None) -> DataFrame:
    """Return the results of a chain for the rows of a DataFrame."""
    check_session(frame.sparkSession, origin)
    return selected(frame, chain).toDF(*chain.type_info.field_names)


def check_session(session: SparkSession, origin: CallSite | None) -> None:
    """Check that a session raises errors of arithmetic."""
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


def selected(frame: DataFrame, chain: ExpressionChain) -> DataFrame:
    """Return the results of a chain for the rows of a DataFrame, with plain names. Each step is a plan that Spark analyses."""
    rows, _ = after_steps(by_plain_name(frame), chain.records, chain.needed().steps)
    return rows


def after_steps(
    rows: DataFrame, records: RecordType, steps: Sequence[Step]
) -> tuple[DataFrame, RecordType]:
    """Return the result of steps on the rows of a DataFrame of `by_plain_name`, and the type of its records."""
    for step in steps:
        if isinstance(step, WhereStep):
            columns = fields(rows, records, [step.condition])
            rows = rows.where(built(step.condition, columns))
            continue
        selected = outputs(rows, records, step)
        records = step.type_info
        rows = rows.select(
            *[column.alias(column_name(position)) for position, column in enumerate(selected)]
        )
    return rows, records


def declared(rows: DataFrame, type_info: TypeInformation) -> DataFrame:
    """Return the columns of a DataFrame of `by_plain_name` with the names and types that a type of records has in Arrow."""
    # no cast keeps further metadata of a column, such as a comment
    return rows.select(*as_declared(((sf.col(name), None) for name in rows.columns), type_info))


def as_declared(
    columns: Iterable[tuple[Column, str | None]], type_info: TypeInformation
) -> list[Column]:
    """Return columns with the names and types that a type of records has in Arrow."""
    schema = from_arrow_schema(arrow_schema(type_info), prefer_timestamp_ntz=True)
    declared_columns = []
    for (column, known), field in zip(columns, schema, strict=True):
        declared = field.dataType.simpleString()
        # Spark reads the name of a type at once; a name of structs does not quote those of their fields.
        is_nested = isinstance(field.dataType, (ArrayType, MapType, StructType))
        cast = (
            column if known == declared else column.cast(field.dataType if is_nested else declared)
        )
        declared_columns.append(cast.alias(field.name))
    return declared_columns


def built(expression: Expression, columns: Mapping[str, Column]) -> Column:
    """Return a typed expression as a Spark column."""
    if isinstance(expression, Field):
        return columns[expression.name]
    if isinstance(expression, Literal):
        return constant(expression)
    arguments = [built(argument, columns) for argument in expression.arguments]
    return BUILDERS[expression.function](expression, *arguments)


def fields(
    frame: DataFrame, records: RecordType, read: Iterable[Expression] | None = None
) -> dict[str, Column]:
    """Return the fields of records as columns of exactly their types, without extras such as a collation."""
    only = None if read is None else {name for expression in read for name in fields_of(expression)}
    columns = {}
    named = zip(records.field_names, records.field_types, strict=True)
    for (name, kind), (spark_name, actual) in zip(named, frame.dtypes, strict=False):
        if only is not None and name not in only:
            continue
        exact = SQL_TYPES.get(kind.name) if isinstance(kind, BasicTypeInfo) else None
        column = sf.col(spark_name)
        columns[name] = column if exact is None or exact == actual else column.cast(exact)
    return columns


def outputs(rows: DataFrame, records: RecordType, step: SelectStep) -> list[Column]:
    """Return the columns that a step selects; a field alone keeps the type that Spark has for it."""
    spark_names = dict(zip(records.field_names, rows.columns, strict=False))
    results = [result for _, result in step.outputs]
    columns = fields(rows, records, [result for result in results if not isinstance(result, Field)])
    return [
        sf.col(spark_names[result.name]) if isinstance(result, Field) else built(result, columns)
        for result in results
    ]
