"""Streams from Spark's DataFrames, and DataFrames of streams."""

from __future__ import annotations

import atexit
import shutil
from dataclasses import replace
from pkgutil import resolve_name
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from penstock.api.environment.job import PlanReady
from penstock.config.options import PLAN_ONLY, TARGET
from penstock.connectors.files.file_sink import FileSink
from penstock.connectors.local_path import local_path
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.connectors.spark_source import SparkSource, chosen
from penstock.errors import ArgumentError, CallSite, GraphError, did_you_mean
from penstock.plan.physical import PhysicalPlan
from penstock.plan.planner import SUBJECT, dataframe_decision, job_because
from penstock.types import TypeInformation
from penstock.types.records import RowTypeInfo

if TYPE_CHECKING:
    from penstock.api.streams.stream_ends import StreamEnds

READER = "penstock.spark.sources.dataframes:read_records"
"""Name of the function that makes the DataFrame. A name, because layers below must not import the layers above them."""

COMPUTER = "penstock.spark.sources.dataframes:computed_records"
"""Name of the function that makes it of expressions alone."""

CHECK = "penstock.spark.sources.dataframes:check_type"
"""Name of the function that refuses names a DataFrame cannot have."""


def source_of(dataframe: Any, type_info: TypeInformation | None) -> SparkSource:
    """Return the source that reads the columns a declared type names.

    Raises:
        ArgumentError: It is no DataFrame, or has not the columns.
    """
    source = SparkSource(dataframe)
    if not isinstance(type_info, RowTypeInfo):
        return source
    names, columns = type_info.get_field_names(), list(dataframe.columns)
    if names == columns:
        return source
    if set(names) <= set(columns):
        return SparkSource(chosen(dataframe, names))
    if names == [f"f{i}" for i in range(len(columns))]:
        return SparkSource(dataframe.toDF(*names))
    missing = [name for name in names if name not in columns]
    raise ArgumentError.here(
        f"the DataFrame has the columns {', '.join(columns)}, and not {', '.join(missing)}"
        + did_you_mean(missing[0], tuple(columns)),
        hint="Name the columns in Types.ROW_NAMED, or give a type to each of them in Types.ROW.",
    )


def dataframe_of(stream: StreamEnds[Any], job_name: str | None, directory: str | None) -> Any:
    """Run the program and return the records of `stream`; see `DataStream.to_dataframe`."""
    environment, origin = stream.get_execution_environment(), CallSite.of_caller()
    for source in environment.graph.sources_of(stream.node_id):
        if source.source is not None and not source.source.is_bounded:
            raise GraphError(
                f"to_dataframe() was called on a stream of {source.name!r}, which never ends",
                hint="Write it with FileSink.parquet(path), execute_async(), and read the "
                "directory with spark.readStream.",
                origin=origin,
            )
    plan = _planned(stream)
    refused = _job_because(plan, directory)
    if environment.get_configuration().get(TARGET) == PLAN_ONLY:
        decisions = (*plan.decisions, dataframe_decision(refused))
        raise PlanReady(replace(plan, decisions=decisions), environment.get_configuration())
    if refused is None:
        return _computed_by_spark(stream, plan)
    path = directory
    if path is None:
        path = mkdtemp(prefix="penstock-dataframe-")
        atexit.register(shutil.rmtree, path, ignore_errors=True)
    elif (here := local_path(path)).exists() and any(here.iterdir()):
        raise ArgumentError(
            f"to_dataframe got the directory {path!r}, which is not empty",
            hint="Pass a new one: what is in it would be in the DataFrame.",
            origin=origin,
        )
    type_info = stream.get_type()
    resolve_name(CHECK)(type_info, environment.get_configuration(), origin)
    sink = FileSink.parquet(path)
    stream.sink_to(sink).name(SUBJECT)
    environment.execute(job_name)
    return resolve_name(READER)(sink.path, type_info, environment.get_configuration())


def _planned(stream: StreamEnds[Any]) -> PhysicalPlan:
    """Return the plan of a program that ends with `to_dataframe`."""
    environment = stream.get_execution_environment()
    sink = stream.sink_to(DiscardingSink()).name(SUBJECT).node_id
    try:
        return environment.plan()
    finally:
        environment.graph.remove(sink)


def _job_because(plan: PhysicalPlan, directory: str | None) -> str | None:
    """Return why a DataFrame needs a job; None if it is expressions of one DataFrame."""
    if directory is not None:
        return "it was given a directory"
    refused = job_because(plan)
    if refused is None and not isinstance(plan.sources[0].parts[0], SparkSource):
        return f"{plan.sources[0].name!r} is not a DataFrame"
    return refused


def _computed_by_spark(stream: StreamEnds[Any], plan: PhysicalPlan) -> Any:
    """Return the DataFrame of a program that is expressions of one DataFrame."""
    environment, (projection,) = stream.get_execution_environment(), plan.projections
    part = plan.sources[0].parts[0]
    assert isinstance(part, SparkSource), "it was checked"
    node = plan.graph.node(projection.operator)
    type_info, origin = stream.get_type(), node.origin
    resolve_name(CHECK)(type_info, environment.get_configuration(), origin)
    merges = (
        None if projection.merged_for is None else plan.graph.node(projection.merged_for).function
    )
    return resolve_name(COMPUTER)(part.dataframe, node.function, merges, type_info, origin)
