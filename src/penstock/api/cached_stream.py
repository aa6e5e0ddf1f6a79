"""`DataStream.cache`: records computed once, and used by this job and those after it."""

from __future__ import annotations

import shutil
import weakref
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from penstock.api.data_stream import DataStream
from penstock.api.job import executor_for
from penstock.api.no_operator import NoOperator
from penstock.config.configuration import Configuration
from penstock.config.execution_mode import RuntimeExecutionMode
from penstock.config.options import CHECKPOINT_DIR, RUNTIME_MODE
from penstock.connectors.cache import CacheSink, CacheSource, take_files
from penstock.errors import CallSite, GraphError
from penstock.graph.logical import Node, NodeKind
from penstock.plan.planner import plan_job
from penstock.types.type_parameters import T

if TYPE_CHECKING:
    from penstock.api.environment import StreamExecutionEnvironment


class CachedDataStream(NoOperator, DataStream[T]):
    """A stream whose records are kept from the first job that needs them.

    The first `execute` that reads the stream computes it by a batch run of its own, into files
    of the temporary directory; that job and all later ones of the environment read the files.
    They are removed by `invalidate`, or when the program ends. Timestamps are not kept: assign
    them behind `cache()`.
    """

    def invalidate(self) -> None:
        """Remove the records; the next job that needs them computes them again.

        Not to be called while a job reads them.
        """
        source = self._source()
        for file in source.files or ():
            Path(file.path).unlink(missing_ok=True)
        self._graph.change(self._node_id, source=replace(source, files=None))

    def cache(self) -> CachedDataStream[T]:
        """Return this stream: it is cached already."""
        return self

    def _source(self) -> CacheSource:
        source = self._graph.node(self._node_id).source
        assert isinstance(source, CacheSource), source
        return source

    def _refusal(self, call: str) -> GraphError:
        return GraphError(
            f"{call} was called on the result of cache(), which is not an operator",
            hint="Call it on the stream before cache() or on what is computed from it.",
            origin=CallSite.of_caller(),
        )


def cached(stream: DataStream[T]) -> CachedDataStream[T]:
    """Return the cached form of a stream; see `DataStream.cache`.

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
    node_id = graph.add(
        NodeKind.SOURCE,
        "cache",
        (),
        type_info=type_info,
        origin=origin,
        source=CacheSource(stream.node_id, type_info),
    )
    return CachedDataStream(environment, node_id)


def fill_caches(environment: StreamExecutionEnvironment, sink: int | None = None) -> None:
    """Compute the cached streams that a job needs and that no job has computed yet.

    Args:
        environment: Of the program.
        sink: Id of the only sink of the job; None is all.

    Raises:
        GraphError: The job has a checkpoint directory.
        PenstockError: The program is wrong, or the computation failed.
    """
    for node in environment.graph.logical_graph(sink).of_kind(NodeKind.SOURCE):
        if isinstance(node.source, CacheSource) and node.source.files is None:
            _fill(environment, node, node.source)


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
        NodeKind.SINK,
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


DataStream._cached = staticmethod(cached)  # noqa: SLF001 - see there
