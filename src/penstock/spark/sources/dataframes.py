"""Reads the records that a job has written as a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.config.configuration import Configuration
from penstock.errors import CallSite
from penstock.expressions.keyed_aggregate import KeyedAggregate
from penstock.expressions.steps import ExpressionChain
from penstock.spark.expressions.aggregates import finished
from penstock.spark.expressions.projection import check_session, declared, selected
from penstock.spark.session.factory import get_session
from penstock.spark.sources.column_names import check_type
from penstock.spark.sources.file_paths import escaped
from penstock.types import TypeInformation
from penstock.types.arrow import arrow_schema


def read_records(
    directory: Path, type_info: TypeInformation, configuration: Configuration
) -> DataFrame:
    """Return the records of the Parquet files of a directory, in no order."""
    return _read(get_session(configuration), [directory], type_info)


def read_staged(
    files: Sequence[Path], type_info: TypeInformation, origin: CallSite | None
) -> DataFrame:
    """Return the records of staged Parquet files, in no order, in the session of the job.

    Raises:
        SourceError: Two fields have names that the session does not distinguish.
    """
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
    """Return the records that expressions make of the rows of a DataFrame, which Spark computes when they are asked for.

    Raises:
        ConfigError: The session does not raise errors of arithmetic.
    """
    if aggregate is not None:
        return finished(dataframe, chain, aggregate, type_info, origin)
    check_session(dataframe.sparkSession, origin)
    return declared(selected(dataframe, chain), type_info)


def _read(session: SparkSession, paths: Sequence[Path], type_info: TypeInformation) -> DataFrame:
    schema = from_arrow_schema(arrow_schema(type_info), prefer_timestamp_ntz=True)
    return session.read.schema(schema).parquet(*map(escaped, paths))
