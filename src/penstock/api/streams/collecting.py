"""`execute_and_collect`: the records of a stream, as an iterator in the driver."""

from __future__ import annotations

import queue
import uuid
from collections.abc import Iterator
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self

from penstock.api.environment.job import JobClient, JobExecutionResult
from penstock.connectors.python import collect_sink
from penstock.connectors.python.collect_sink import CollectSink
from penstock.errors import ArgumentError
from penstock.types.type_parameters import T

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream

_CHUNKS_WAITING = 16
_POLL_SECONDS = 0.05


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
        """Return the next record, waiting for it.

        Raises:
            PenstockError: The job failed.
        """
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
    """Run the program with a collecting sink on `stream`; see `execute_and_collect`.

    Raises:
        ArgumentError: `limit` is not a number of records.
    """
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
