"""Ends of streams: sinks, printing and collecting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, cast, overload

from penstock.api.functions.endpoint_functions import as_sink
from penstock.api.functions.function_classes import ToKey
from penstock.api.streams.collecting import (
    CloseableIterator,
    collect_stream,
    show_records,
    take_records,
)
from penstock.api.streams.dataframes import dataframe_of
from penstock.api.streams.operator_settings import OperatorSettings
from penstock.api.streams.stream_base import StreamBase
from penstock.connectors.files.batch_function_sink import BatchEpoch, BatchFunctionSink
from penstock.connectors.python.print_sink import PrintSink
from penstock.errors import ArgumentError, CallSite
from penstock.graph.endpoints import Sink
from penstock.program.fold import LATEST_LAWS, latest
from penstock.program.operators import KEYED_LATEST, SINK
from penstock.types.type_parameters import T

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream


class DataStreamSink(OperatorSettings):
    """A handle to a sink of the program.

    Example:
        >>> numbers.sink_to(DiscardingSink()).name("ignored").get_name()
        'ignored'
    """


class StreamEnds(StreamBase[T], Generic[T]):
    """Base of `DataStream`: sinks and other ends of a stream."""

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Write the records to a sink: exactly once, unless the sink promises less (`FunctionSink`).

        Args:
            sink: Such as a `FileSink` or `PrintSink`.

        Returns:
            A handle to the sink, to set its name or uid.

        Raises:
            ArgumentError: `sink` is not a sink.
            GraphError: The sink cannot write records of this type.

        Example:
            >>> sink = numbers.sink_to(PrintSink()).name("numbers")
            >>> run_in_process(env).of("numbers")
            [1, 2, 3, 4]
        """
        origin = CallSite.of_caller()
        if not isinstance(sink, Sink):
            raise ArgumentError.here(
                f"{sink!r} is not a sink",
                hint="Pass a FileSink, PrintSink, DiscardingSink or another Sink.",
            )
        sink.check(self.get_type(), origin)
        node_id = self._environment.graph.add(
            SINK,
            sink.kind,
            (self._unkeyed_id(),),
            type_info=self.get_type(),
            origin=origin,
            sink=sink,
        )
        return DataStreamSink(self._graph, node_id)

    def upsert_to(self, sink: Sink, key: ToKey[T, Any] | None = None) -> DataStreamSink:
        """Write the last record of each key and micro-batch to a sink; of history read as a batch, the last of each key.

        For sinks that keep one value per key: a compacted topic, a table with a primary key. Their
        content in the end is the same in every mode, and the same as if every record had been written. "Last" is in order
        of arrival in a live run; a batch run reads each key in order of time, as keyed functions do.

        Args:
            sink: The sink. It gets each key once per micro-batch, and once of a batch run.
            key: A `KeySelector` or a callable of a record. A stream with a key needs none.

        Returns:
            A handle to the sink, to set its name or uid.

        Raises:
            ArgumentError: There is no key, or `sink` is not a sink.
            GraphError: The sink cannot write records of this type.

        Example:
            >>> totals = orders.key_by(lambda order: order[0]).sum(1)
            >>> sink = totals.upsert_to(DiscardingSink(), key=lambda order: order[0]).name("totals")
            >>> sorted(run_in_process(env).of("totals"))
            [('ann', 12, 1000), ('bob', 3, 2000)]
        """
        if key is None and not self.has_key:
            raise ArgumentError.here(
                "upsert_to was called without a key, on a stream that has none",
                hint="Pass key=…, a function of a record.",
            )
        stream = cast("DataStream[T]", self)
        keyed = stream if key is None else stream.key_by(key)
        last = keyed._derive(  # noqa: SLF001 - of the same class
            KEYED_LATEST,
            "upsert",
            self.get_type(),
            function=latest,
            method=None,
            promises=LATEST_LAWS,
        )
        return last.sink_to(sink)

    def for_each_batch(self, function: Callable[[Any, BatchEpoch], object]) -> DataStreamSink:
        """Call a function in the driver with the rows of each epoch as a Spark DataFrame, at least once.

        An epoch is a batch run or a micro-batch. The function may do whatever Spark can: `MERGE`, JDBC, Iceberg. A job
        that fails while the function runs, or before it has noted that it returned, calls it again with
        the same rows and the same epoch; write that epoch with the rows to have each row once.

        Args:
            function: Called with a DataFrame, whose columns are the fields of the stream's row or tuple type, and a
                `BatchEpoch`. The rows can be read until it returns. Epochs without rows do not call it, and calls
                do not overlap. It stays in the driver, so it may hold sessions and connections.

        Returns:
            A handle to the sink, to set its name or uid.

        Raises:
            ArgumentError: `function` cannot be called.
            GraphError: The type of the stream has no columns.

        Example:
            >>> rows = numbers.map(lambda n: (n,), Types.TUPLE([Types.LONG()]))
            >>> def write(frame, epoch):
            ...     frame.write.mode("overwrite").parquet(f"numbers/{epoch}")
            >>> sink = rows.for_each_batch(write).name("numbers")
            >>> run_in_process(env).of("numbers")  # in process no sink is called
            [(1,), (2,), (3,), (4,)]
        """
        return self.sink_to(BatchFunctionSink(function))

    def add_sink(self, sink_func: Any) -> DataStreamSink:
        """Call a function for each record, in the workers, at least once.

        A task or micro-batch that is repeated after a failure calls it again. For exactly once
        pass a `Sink` with a committer to `sink_to`.

        Args:
            sink_func: A `SinkFunction`, or a callable of a record. A `Sink` is taken as by
                `sink_to`.

        Returns:
            A handle to the sink, to set its name or uid.

        Raises:
            ArgumentError: It is none of these.

        Example:
            >>> sink = numbers.add_sink(lambda n: None).name("calls")
            >>> run_in_process(env).of("calls")  # in process no sink is called
            [1, 2, 3, 4]
        """
        return self.sink_to(as_sink(sink_func))

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print every record in the driver, in Flink's format.

        Args:
            sink_identifier: Prefix of each line; None is none.

        Returns:
            A handle to the sink, to set its name or uid.

        Example:
            >>> sink = numbers.print("n")
            >>> result = env.execute()  # doctest: +SKIP
            n> 1
            n> 2
            n> 3
            n> 4
        """
        parallel = self._environment.get_parallelism() > 1
        return self.sink_to(PrintSink(sink_identifier, show_subtask=parallel))

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: None = None
    ) -> CloseableIterator[T]: ...

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, *, limit: int
    ) -> list[T]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[T]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator[T] | list[T]:
        """Run the program and return this stream's records.

        Args:
            job_execution_name: Name of the job.
            limit: Greatest number of records to return, as a list; the job is then cancelled.
                None returns an iterator over all records.

        Returns:
            An iterator over all records, which cancels the job when closed; or a list. Records of
            different subtasks have no order.

        Raises:
            ArgumentError: `limit` is not a number of records.
            PenstockError: The program is wrong, or the job failed.

        Example:
            >>> with numbers.execute_and_collect() as records:  # doctest: +SKIP
            ...     print(sorted(records))
            [1, 2, 3, 4]
        """
        return collect_stream(cast("DataStream[T]", self), job_execution_name, limit)

    def take(self, limit: int = 10) -> list[T]:
        """Return the first records of the stream, from a temporary job of its own.

        The job reads the sources from their beginning, as a stream, and is cancelled when it has returned enough
        records. It touches no checkpoint, restores no state, writes to no sink and confirms no position to a log.
        For an unbounded stream without records the call waits until it is interrupted.

        Args:
            limit: Greatest number of records. Operators that emit at the end of their input need all of it.

        Returns:
            Up to `limit` records; those of different subtasks have no order.

        Raises:
            ArgumentError: `limit` is not a number of records.
            GraphError: A source keeps its place at a server, or the command line sets a checkpoint
                directory.
            PenstockError: The program is wrong, or the sample failed.

        Example:
            >>> numbers.map(lambda n: n * n).take(2)  # doctest: +SKIP
            [1, 4]
        """
        return take_records(cast("DataStream[T]", self), limit)

    def show(self, limit: int = 10) -> None:
        """Print the first records of the stream, in a notebook as a table; see `take`.

        Args:
            limit: Greatest number of records.

        Raises:
            PenstockError: As `take`.

        Example:
            >>> numbers.show(2)  # doctest: +SKIP
            Collection
            1
            2
        """
        show_records(cast("DataStream[T]", self), limit)

    def to_dataframe(
        self, job_execution_name: str | None = None, directory: str | None = None
    ) -> Any:
        """Run the program and return this stream's records as a Spark DataFrame.

        The fields of the stream's row or tuple type are the columns. The rows have no order. In BATCH mode a program that
        is only expressions of columns of one DataFrame is no job: Spark computes the rows lazily, with one plan for
        both.

        Args:
            job_execution_name: Name of the job.
            directory: New directory for the rows, seen by the driver and all workers under the
                same path; it is not removed. None is a temporary one of this machine, which is
                removed when the program ends. With a directory the program always runs.

        Returns:
            A `pyspark.sql.DataFrame`.

        Raises:
            ArgumentError: The directory is not empty.
            GraphError: The stream never ends, or its type has no columns.
            PenstockError: The program is wrong, or the job failed.

        Example:
            >>> orders.to_dataframe().count()  # doctest: +SKIP
            3
        """
        return dataframe_of(self, job_execution_name, directory)
