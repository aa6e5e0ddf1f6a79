"""Reads the records that a job has written as a DataFrame.

Refuses column names that the session does not distinguish, before any record is read.

Spark compares names case-insensitively unless `spark.sql.caseSensitive` is true. It refuses files with
two such columns, but its error names neither both columns nor a solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.config.configuration import Configuration
from penstock.connectors.spark_source import case_twins
from penstock.errors import CallSite, SourceError
from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.expressions.steps import ExpressionChain
from penstock.plan.physical import PhysicalPlan
from penstock.spark.expressions.aggregates import finished
from penstock.spark.expressions.projection import check_session, declared, selected
from penstock.spark.session.factory import get_session
from penstock.spark.sources.file_paths import escaped
from penstock.spark.sources.table import files_of
from penstock.types import RowTypeInfo, TypeInformation
from penstock.types.arrow import arrow_schema

_CASE = "spark.sql.caseSensitive"


def check_sources(session: SparkSession, plan: PhysicalPlan) -> None:
    """Refuse declared types of files with names that Spark does not distinguish."""
    for source in plan.sources:
        for part in source.parts:
            files = files_of(part)
            if files is not None and files.type_info is not None:
                _check(session, files.type_info, f"the type of {files.describe()}", source.origin)


def check_type(
    type_info: TypeInformation, configuration: Configuration, origin: CallSite | None
) -> None:
    """Refuse a type whose records cannot be read as a DataFrame."""
    if isinstance(type_info, RowTypeInfo):
        _check(get_session(configuration), type_info, "the type of the stream", origin)


def _check(
    session: SparkSession, type_info: RowTypeInfo, whose: str, origin: CallSite | None
) -> None:
    twins = case_twins(type_info)
    if twins is not None and session.conf.get(_CASE) == "false":
        raise SourceError(
            f"{whose} has the columns {twins[0]!r} and {twins[1]!r}, which Spark cannot distinguish",
            hint=f"Set {_CASE} to true in the session, or rename one of them.",
            origin=origin,
        )


def read_records(
    directory: Path, type_info: TypeInformation, configuration: Configuration
) -> DataFrame:
    """Return the records of the Parquet files of a directory, in no order."""
    return _read(get_session(configuration), [directory], type_info)


def read_staged(
    files: Sequence[Path], type_info: TypeInformation, origin: CallSite | None
) -> DataFrame:
    """Return the records of staged Parquet files, in no order, in the session of the job."""
    configuration = Configuration()
    check_type(type_info, configuration, origin)
    return _read(get_session(configuration), files, type_info)


def computed_records(
    dataframe: DataFrame,
    chain: ExpressionChain,
    aggregate: KeyedAggregate | None,
    type_info: TypeInformation,
    origin: CallSite | None,
) -> DataFrame:
    """Return the records that expressions make of the rows of a DataFrame. Spark computes them lazily."""
    if aggregate is not None:
        return finished(dataframe, chain, aggregate, type_info, origin)
    check_session(dataframe.sparkSession, origin)
    return declared(selected(dataframe, chain), type_info)


def _read(session: SparkSession, paths: Sequence[Path], type_info: TypeInformation) -> DataFrame:
    schema = from_arrow_schema(arrow_schema(type_info), prefer_timestamp_ntz=True)
    return session.read.schema(schema).parquet(*map(escaped, paths))
