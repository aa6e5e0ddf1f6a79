"""Reads the records that a job has written as a DataFrame."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.config.configuration import Configuration
from penstock.spark.session.factory import get_session
from penstock.spark.sources.file_paths import escaped
from penstock.types import TypeInformation
from penstock.types.arrow import arrow_schema


def read_records(
    directory: Path, type_info: TypeInformation, configuration: Configuration
) -> DataFrame:
    """Return the records of the Parquet files of a directory, in no order.

    Args:
        directory: Directory of the files; it may be empty.
        type_info: Type of the records. Its fields are the columns.
        configuration: Configuration of the job, for the session.
    """
    schema = from_arrow_schema(arrow_schema(type_info), prefer_timestamp_ntz=True)
    return get_session(configuration).read.schema(schema).parquet(escaped(directory))
