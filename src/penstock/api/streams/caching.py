"""`DataStream.cache`: records computed once, for several jobs of one program."""

from __future__ import annotations

import shutil
import weakref
from dataclasses import replace
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from penstock.api.environment.job import executor_for
from penstock.config.configuration import Configuration
from penstock.config.execution_mode import RuntimeExecutionMode
from penstock.config.options import CHECKPOINT_DIR, RUNTIME_MODE
from penstock.connectors.cache import CacheSink, CacheSource, cache_of, take_files
from penstock.errors import CallSite, GraphError
from penstock.graph.logical import Node
from penstock.plan.planner import plan_job
from penstock.program.operators import SINK, SOURCE

if TYPE_CHECKING:
    from penstock.api.environment.environment import StreamExecutionEnvironment
    from penstock.api.streams.data_stream import DataStream


def add_cache(stream: DataStream[Any]) -> int:
    """Add the node that reads a cached stream, and return its id; see `DataStream.cache`.

    Raises:
        GraphError: A source of the stream is unbounded.
    """
    environment, origin = stream.get_execution_environment(), CallSite.of_caller()
    graph = environment.graph
    endless = [node for node in graph.sources_of(stream.node_id) if _is_endless(node)]
    if endless:
        raise GraphError(
            f"cache() was called on a stream of {endless[0].name!r}, which never ends",
            hint="Cache bounded streams only.",
            origin=origin,
        )
    type_info = stream.get_type()
    return graph.add(
        SOURCE,
        "cache",
        (),
        type_info=type_info,
        origin=origin,
        source=CacheSource(stream.node_id, type_info),
    )


def fill_caches(environment: StreamExecutionEnvironment, sink: int | None = None) -> None:
    """Compute the cached streams that a job needs and that no job has computed yet.

    Args:
        environment: Of the program.
        sink: Id of the only sink of the job; None is all.

    Raises:
        GraphError: The job has a checkpoint directory.
        PenstockError: The program is wrong, or the computation failed.
    """
    for node in environment.graph.logical_graph(sink).of_kind(SOURCE):
        source = cache_of(node.source)
        if source is not None and source.files is None:
            _fill(environment, node, source)


def _fill(environment: StreamExecutionEnvironment, node: Node, source: CacheSource) -> None:
    settings = Configuration(environment.get_configuration())
    if settings.get(CHECKPOINT_DIR) is not None:
        raise GraphError(
            "a job with a checkpoint directory reads a cached stream; the cache ends with this "
            "program, so the job could not be resumed",
            hint=f"Unset {CHECKPOINT_DIR.key}, or do without cache().",
            origin=node.origin,
        )
    settings.set(RUNTIME_MODE, RuntimeExecutionMode.BATCH)
    graph, directory = environment.graph, mkdtemp(prefix="penstock-cache-")
    weakref.finalize(graph, shutil.rmtree, directory, ignore_errors=True)
    sink = graph.add(
        SINK,
        "cache",
        (source.stream,),
        type_info=source.type_info,
        origin=node.origin,
        sink=CacheSink(directory),
    )
    try:
        fill_caches(environment, sink)
        plan = plan_job(graph.logical_graph(sink), settings)
        executor_for(settings).submit(plan, settings).get_job_execution_result().result()
    finally:
        graph.remove(sink)
    graph.change(graph.id_of_source(source), source=replace(source, files=take_files(directory)))


def _is_endless(node: Node) -> bool:
    return node.source is not None and not node.source.is_bounded
