"""Constants in Spark SQL."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as sf

from penstock.expressions.kinds import DECIMAL
from penstock.spark.expressions import scalars
from penstock.spark.expressions.scalars import SQL_TYPES

_TIMES = frozenset({"SqlDate", "SqlTimestamp", "TimestampLtz"})


def constant(name: str, value: Any) -> Column:
    """Build a constant of a basic type."""
    kind = SQL_TYPES[name]
    if value is None:
        return sf.lit(None).cast(kind)
    if name in _TIMES:
        return scalars.constant(name, value)
    return sf.lit(str(value) if name == DECIMAL else value).cast(kind)
