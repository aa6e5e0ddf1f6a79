"""Refuses column names that the session does not distinguish, before any record is read.

Spark compares names case-insensitively unless `spark.sql.caseSensitive` is true. It refuses files with
two such columns, but its error names neither both columns nor a solution.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.config.configuration import Configuration
from penstock.connectors.column_positions import case_twins
from penstock.errors import CallSite, SourceError
from penstock.plan.physical import PhysicalPlan
from penstock.spark.session.factory import get_session
from penstock.spark.sources.table import files_of
from penstock.types import RowTypeInfo, TypeInformation

_CASE = "spark.sql.caseSensitive"


def check_sources(session: SparkSession, plan: PhysicalPlan) -> None:
    """Refuse declared types of files with names that Spark does not distinguish.

    Raises:
        SourceError: A type has two such names.
    """
    for source in plan.sources:
        for part in source.parts:
            files = files_of(part)
            if files is not None and files.type_info is not None:
                _check(session, files.type_info, f"the type of {files.describe()}", source.origin)


def check_type(
    type_info: TypeInformation, configuration: Configuration, origin: CallSite | None
) -> None:
    """Refuse a type whose records cannot be read as a DataFrame.

    Raises:
        SourceError: It has two names that Spark does not distinguish.
    """
    if isinstance(type_info, RowTypeInfo):
        _check(get_session(configuration), type_info, "the type of the stream", origin)


def _check(
    session: SparkSession, type_info: RowTypeInfo, whose: str, origin: CallSite | None
) -> None:
    twins = case_twins(type_info)
    if twins is not None and session.conf.get(_CASE) == "false":
        raise SourceError(
            f"{whose} has the columns {twins[0]!r} and {twins[1]!r}, which Spark cannot tell apart",
            hint=f"Set {_CASE} to true in the session, or rename one of them.",
            origin=origin,
        )
