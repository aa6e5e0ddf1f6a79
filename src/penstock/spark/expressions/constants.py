"""Constants in Spark SQL."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as sf

from penstock.expressions.facts import spark_type
from penstock.expressions.kinds import DECIMAL, name_of
from penstock.expressions.tree import Literal
from penstock.spark.expressions import scalars
from penstock.spark.expressions.scalars import SQL_TYPES
from penstock.types.sql_types import SqlType

_TIMES = frozenset({"SqlDate", "SqlTimestamp", "TimestampLtz"})


def constant(literal: Literal) -> Column:
    """Build a constant of a basic type."""
    name, value = name_of(literal), literal.value
    # a decimal of SQL has the digits of its type
    kind = spark_type(literal.kind) if isinstance(literal.kind, SqlType) else SQL_TYPES[name]
    assert kind is not None, "queries have the type"
    if value is None:
        return sf.lit(None).cast(kind)
    if name in _TIMES:
        return scalars.constant(name, value)
    return sf.lit(f"{value:f}" if name == DECIMAL else value).cast(kind)
