"""Records of a stream in this process: results that are collected, and caches."""

from __future__ import annotations

import queue
import shutil
import uuid
import weakref
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from tempfile import mkdtemp
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self

from penstock.api.environment.job import JobClient, JobExecutionResult, executor_for
from penstock.config.configuration import Configuration
from penstock.config.option import ConfigOption
from penstock.config.options import (
    CHECKPOINT_DIR,
    HISTORY,
    INTERVAL_DURING_BACKLOG,
    JOB_NAME,
    MAX_FILES_PER_BATCH,
    RECOVERY_PATH,
    RUNTIME_MODE,
    RuntimeExecutionMode,
)
from penstock.config.reporter_options import UI_PORT
from penstock.connectors.cache import CacheSink, CacheSource, cache_of, take_files
from penstock.connectors.python import collect_sink
from penstock.connectors.python.collect_sink import CollectSink
from penstock.errors import ArgumentError, CallSite, GraphError
from penstock.graph.logical import Node
from penstock.observe.notebook.card import Card, CardTable
from penstock.observe.notebook.live_job import display_of_notebook, unseen
from penstock.plan.planner import plan_job
from penstock.program.operators import SINK, SOURCE
from penstock.types.row import Row
from penstock.types.type_parameters import T

if TYPE_CHECKING:
    from penstock.api.environment.environment import StreamExecutionEnvironment
    from penstock.api.streams.data_stream import DataStream


def add_cache(stream: DataStream[Any]) -> int:
    """Add the node that reads a cached stream, and return its id; see `DataStream.cache`."""
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
    """Compute the cached streams that a job needs and that no job has computed yet."""
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
            hint=f"Unset {CHECKPOINT_DIR.key}, or leave cache() out.",
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


_CHUNKS_WAITING = 16
_POLL_SECONDS = 0.05

_UNSET: tuple[ConfigOption[Any], ...] = (
    CHECKPOINT_DIR,
    RECOVERY_PATH,
    HISTORY,
    INTERVAL_DURING_BACKLOG,
    UI_PORT,
)
"""Settings that a sample does without, whatever the program sets."""


class CloseableIterator(Iterator[T], Generic[T]):
    """The records of a stream as the job commits them; closing it cancels the job.

    Use it in a `with`, which closes it.

    Example:
        >>> with numbers.execute_and_collect() as records:  # doctest: +SKIP
        ...     print(sorted(records))
        [1, 2, 3, 4]
    """

    def __init__(self, token: str) -> None:
        self._token = token
        self._chunks: queue.Queue[list[Any]] = queue.Queue(_CHUNKS_WAITING)
        self._current: Iterator[T] = iter(())
        self._client: JobClient | None = None
        self._closed = False
        collect_sink.register(token, self._accept)

    def attach(self, client: JobClient) -> None:
        """Set the job that produces the records; for `execute_and_collect`."""
        self._client = client

    def __next__(self) -> T:
        """Return the next record, waiting for it."""
        while True:
            for value in self._current:
                return value
            if self._closed:
                raise StopIteration
            try:
                self._current = iter(self._chunks.get(timeout=_POLL_SECONDS))
            except queue.Empty:
                self._stop_if_job_ended()

    def next(self) -> T:
        """Return the next record, as `next(iterator)` does (PyFlink's name).

        Raises:
            PenstockError: The job failed.

        Example:
            >>> with numbers.execute_and_collect() as records:  # doctest: +SKIP
            ...     print(records.next())
            1
        """
        return next(self)

    def job_result(self) -> JobExecutionResult:
        """Wait for the end of the job and return its result; call it after the last record.

        Raises:
            PenstockError: The job failed, or was cancelled.

        Example:
            >>> with numbers.execute_and_collect() as records:  # doctest: +SKIP
            ...     n_records = len(list(records))
            ...     net_runtime_ms = records.job_result().get_net_runtime()
        """
        assert self._client is not None, "the iterator is returned with its job"
        return self._client.get_job_execution_result().result()

    def close(self) -> None:
        """Cancel the job, if it still runs.

        Example:
            >>> records = numbers.execute_and_collect()  # doctest: +SKIP
            >>> records.close()  # doctest: +SKIP
        """
        if self._closed:
            return
        self._closed = True
        client = self._client
        if client is not None and not client.get_job_status().result().is_globally_terminal_state():
            client.cancel()
        collect_sink.unregister(self._token)

    def __enter__(self) -> Self:
        """Return the iterator."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def _accept(self, values: list[Any]) -> None:
        while not self._closed:
            try:
                self._chunks.put(values, timeout=_POLL_SECONDS)
            except queue.Full:
                continue
            return

    def _stop_if_job_ended(self) -> None:
        client = self._client
        if client is None or not client.get_job_status().result().is_globally_terminal_state():
            return
        if self._chunks.empty():
            self._closed = True
            collect_sink.unregister(self._token)
            client.get_job_execution_result().result()  # raises if the job failed


def collect_stream(
    stream: DataStream[T], job_name: str | None, limit: int | None
) -> CloseableIterator[T] | list[T]:
    """Run the program with a collecting sink on `stream`; see `execute_and_collect`."""
    if limit is not None and (type(limit) is not int or limit < 0):
        raise ArgumentError.here(
            f"execute_and_collect got the limit {limit!r}", hint="Pass an int, 0 or more."
        )
    token = uuid.uuid4().hex
    stream.sink_to(CollectSink(token)).name("collect")
    records: CloseableIterator[T] = CloseableIterator(token)
    try:
        records.attach(stream.get_execution_environment().execute_async(job_name))
    except BaseException:
        collect_sink.unregister(token)
        raise
    if limit is None:
        return records
    with records:
        return list(islice(records, limit))


def take_records(stream: DataStream[T], limit: int) -> list[T]:
    """Return the first records of a stream; see `DataStream.take`."""
    if type(limit) is not int or limit < 0:
        raise ArgumentError.here(f"take got {limit!r}", hint="Pass an int, 0 or more.")
    if limit == 0:
        return []
    environment = stream.get_execution_environment()
    settings = _settings(environment.get_configuration(), stream.get_name())
    for node in environment.graph.sources_of(stream.node_id):
        if node.source is not None and node.source.takes_snapshot:
            raise GraphError(
                f"source {node.name!r} captures what is there when a job starts, and keeps its place "
                "at the server; a sample would take that place",
                hint="Take records of another stream, such as a collection of examples.",
                origin=node.origin,
            )
    token = uuid.uuid4().hex
    sink = stream.sink_to(CollectSink(token)).name("sample")
    try:
        with unseen():
            fill_caches(environment, sink.node_id)
        plan = plan_job(environment.graph.logical_graph(sink.node_id), settings)
    finally:
        environment.graph.remove(sink.node_id)
    plan = replace(plan, options=replace(plan.options, confirms=False))
    records: CloseableIterator[T] = CloseableIterator(token)
    try:
        with unseen():
            records.attach(executor_for(settings).submit(plan, settings))
    except BaseException:
        collect_sink.unregister(token)
        raise
    with records:
        return list(islice(records, limit))


def show_records(stream: DataStream[Any], limit: int) -> None:
    """Show the first records of a stream; see `DataStream.show`."""
    records = take_records(stream, limit)
    names = getattr(stream.get_type(), "get_field_names", lambda: None)()
    if names and all(
        isinstance(record, tuple | list | Row) and len(record) == len(names) for record in records
    ):
        table = CardTable("", names, [[repr(value) for value in record] for record in records])
    else:
        table = CardTable("", [stream.get_name()], [[repr(record)] for record in records])
    card = Card("" if records else "no records", tables=(table,))
    display = display_of_notebook()
    if display is None:
        print(card.to_text())  # noqa: T201 - what it is for
    else:
        bundle = {"text/html": card.to_html(), "text/plain": card.to_text()}
        display(bundle, raw=True)


def _settings(configuration: Configuration, name: str) -> Configuration:
    settings = Configuration(configuration)
    for option in _UNSET:
        for key in option.keys:
            settings.remove_config(key)
    if settings.get(CHECKPOINT_DIR) is not None:
        raise GraphError(
            f"{CHECKPOINT_DIR.key} is set by {settings.source_of(CHECKPOINT_DIR)}, so a sample would use it",
            hint="Take samples in a process of its own, without that setting.",
        )
    settings.set(RUNTIME_MODE, RuntimeExecutionMode.STREAMING)
    settings.set(MAX_FILES_PER_BATCH, 1)
    settings.set(JOB_NAME, f"sample of {name}")
    return settings
