"""Where streams end: sinks, printing and collecting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, cast, overload

from penstock.api.functions.sink_functions import as_sink
from penstock.api.streams.collecting import CloseableIterator, collect_stream
from penstock.api.streams.dataframes import dataframe_of
from penstock.api.streams.operator_settings import OperatorSettings
from penstock.api.streams.sink_stream import DataStreamSink
from penstock.connectors.python.print_sink import PrintSink
from penstock.errors import ArgumentError, CallSite
from penstock.graph.endpoints import Sink
from penstock.program.operators import SINK
from penstock.types import TypeInformation
from penstock.types.type_parameters import T

if TYPE_CHECKING:
    from penstock.api.environment.environment import StreamExecutionEnvironment
    from penstock.api.environment.execution_config import ExecutionConfig
    from penstock.api.streams.data_stream import DataStream


class StreamEnds(OperatorSettings, Generic[T]):
    """Base of `DataStream`: what ends a stream."""

    def __init__(self, environment: StreamExecutionEnvironment, node_id: int) -> None:
        super().__init__(environment.graph, node_id)
        self._environment = environment

    def get_type(self) -> TypeInformation[T]:
        """Return the type of the records."""
        return self._environment.graph.node(self._node_id).type_info

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment the stream belongs to."""
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        """Return the settings of the environment that are about execution."""
        return self._environment.get_config()

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Write the stream to a sink, exactly once.

        Raises:
            ArgumentError: `sink` is not a sink.
            GraphError: The sink cannot write records of this type.
        """
        origin = CallSite.of_caller()
        if not isinstance(sink, Sink):
            raise ArgumentError(
                f"{sink!r} is not a sink",
                hint="Pass a FileSink, PrintSink, DiscardingSink or another Sink.",
                origin=origin,
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

    def add_sink(self, sink_func: Any) -> DataStreamSink:
        """Call a function once per record, in the workers: at least once.

        A task or micro-batch that is repeated after a failure calls it again. For exactly once
        pass a `Sink` with a committer to `sink_to`.

        Args:
            sink_func: A `SinkFunction`, or a callable of a record. A `Sink` is taken as by
                `sink_to`.

        Raises:
            ArgumentError: It is none of these.
        """
        return self.sink_to(as_sink(sink_func))

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print every record in the driver, in Flink's format.

        Args:
            sink_identifier: Put before each line.
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
            limit: Return a list of at most that many records and stop the job.

        Returns:
            An iterator over all records, which stops the job when closed; or a list.

        Raises:
            PenstockError: The program is wrong, or the job failed.
        """
        return collect_stream(cast("DataStream[T]", self), job_execution_name, limit)

    def to_dataframe(
        self, job_execution_name: str | None = None, directory: str | None = None
    ) -> Any:
        """Run the program and return this stream's records as a Spark DataFrame.

        The fields of the stream's row or tuple type are the columns. The rows have no order.

        Args:
            job_execution_name: Name of the job.
            directory: New directory for the rows, seen by the driver and all workers under the
                same name; it stays. None is a temporary one of this machine, which is removed
                when the program ends.

        Raises:
            ArgumentError: The directory is not empty.
            GraphError: The stream never ends, or its type has no columns.
            PenstockError: The program is wrong, or the job failed.
        """
        return dataframe_of(self, job_execution_name, directory)

    def _unkeyed_id(self) -> int:
        return self._node_id
