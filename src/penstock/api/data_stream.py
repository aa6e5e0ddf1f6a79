"""`DataStream`: records without a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

from penstock.api.collecting import CloseableIterator, collect_stream
from penstock.api.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
)
from penstock.api.sink_stream import DataStreamSink
from penstock.api.user_code import checked_label, checked_type, method_of, name_of
from penstock.api.watermark import WatermarkStrategy, checked_strategy
from penstock.connectors.print_sink import PrintSink
from penstock.errors import ArgumentError, CallSite, GraphError
from penstock.graph.endpoints import Sink, Source
from penstock.graph.logical import NodeKind
from penstock.types import TypeInformation

if TYPE_CHECKING:
    from penstock.api.environment import StreamExecutionEnvironment
    from penstock.api.keyed_stream import KeyedStream


class DataStream:
    """A stream of records of one type: a handle to a node of the program."""

    # Set by `keyed_stream`, which derives from this class and so cannot be imported here.
    _keyed: ClassVar[type[KeyedStream]]

    def __init__(self, environment: StreamExecutionEnvironment, node_id: int) -> None:
        self._environment = environment
        self._node_id = node_id

    @classmethod
    def of_source(
        cls,
        environment: StreamExecutionEnvironment,
        source: Source,
        strategy: WatermarkStrategy,
        name: str,
        type_info: TypeInformation,
        origin: CallSite | None,
    ) -> DataStream:
        """Return the stream of a source; for the environment."""
        node_id = environment.graph.add(
            NodeKind.SOURCE, name, (), type_info=type_info, origin=origin, source=source
        )
        stream = DataStream(environment, node_id)
        if checked_strategy(strategy).watermarking() is None:
            return stream
        return stream.assign_timestamps_and_watermarks(strategy)

    @property
    def node_id(self) -> int:
        """Id of the node in the environment's graph."""
        return self._node_id

    def get_name(self) -> str:
        """Return the name of the operator."""
        return self._environment.graph.node(self._node_id).name

    def name(self, name: str) -> Self:
        """Name the operator, for plans, progress and messages.

        Raises:
            ArgumentError: `name` is not a string, or blank.
        """
        self._environment.graph.change(self._node_id, name=checked_label(name, "name"))
        return self

    def uid(self, uid: str) -> Self:
        """Give the operator a stable identity, under which its state is kept.

        Raises:
            ArgumentError: `uid` is not a string, or blank.
        """
        self._environment.graph.change(self._node_id, uid=checked_label(uid, "uid"))
        return self

    def get_type(self) -> TypeInformation:
        """Return the type of the records."""
        return self._environment.graph.node(self._node_id).type_info

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment the stream belongs to."""
        return self._environment

    def map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Replace each record by the function's result.

        Args:
            func: A callable or `MapFunction`.
            output_type: Type the results are brought to; None is any Python object, left as
                it is.

        Raises:
            ArgumentError: `func` is neither, or `output_type` is no type.
        """
        method = method_of(func, MapFunction, "map", "map")
        return self._apply(NodeKind.MAP, "map", func, method, output_type)

    def flat_map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Replace each record by the results the function returns or yields.

        Raises:
            ArgumentError: `func` is neither a callable nor a `FlatMapFunction`.
        """
        method = method_of(func, FlatMapFunction, "flat_map", "flat_map")
        return self._apply(NodeKind.FLAT_MAP, "flat_map", func, method, output_type)

    def filter(self, func: Any) -> DataStream:
        """Keep the records for which the function is true.

        Raises:
            ArgumentError: `func` is neither a callable nor a `FilterFunction`.
        """
        method = method_of(func, FilterFunction, "filter", "filter")
        return self._apply(NodeKind.FILTER, "filter", func, method, self.get_type())

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Process each record with access to time.

        Raises:
            ArgumentError: `func` is not a `ProcessFunction`.
        """
        method = method_of(
            func,
            ProcessFunction,
            "process_element",
            "process",
            allow_callable=False,
            hints={KeyedProcessFunction: "Call key_by before process: this function needs a key."},
        )
        return self._apply(NodeKind.PROCESS, "process", func, method, output_type)

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Give records timestamps and the stream watermarks; replaces earlier ones.

        Raises:
            ArgumentError: `watermark_strategy` is not a strategy.
        """
        marks = checked_strategy(watermark_strategy).watermarking()
        return self._derive(NodeKind.TIMESTAMPS, "timestamps", self.get_type(), watermarking=marks)

    def union(self, *streams: DataStream) -> DataStream:
        """Return all records of this stream and the others, in no particular order.

        Raises:
            ArgumentError: One of `streams` is no stream.
            GraphError: No other stream, one of another environment, or of another type.
        """
        origin = CallSite.of_caller()
        if not streams:
            raise GraphError("union got no other stream", hint="Pass at least one.", origin=origin)
        for other in streams:
            if not isinstance(other, DataStream):
                raise ArgumentError(
                    f"{other!r} is not a stream", hint="Pass DataStreams.", origin=origin
                )
            if other.get_execution_environment() is not self._environment:
                raise GraphError(
                    "the streams belong to different environments",
                    hint="Create all streams of a job in one environment.",
                    origin=origin,
                )
            if str(other.get_type()) != str(self.get_type()):
                raise GraphError(
                    f"the streams have types {self.get_type()} and {other.get_type()}",
                    hint="Map them to one type first.",
                    origin=origin,
                )
        inputs = (self._node_id, *(other.node_id for other in streams))
        node_id = self._environment.graph.add(
            NodeKind.UNION, "union", inputs, type_info=self.get_type(), origin=origin
        )
        return DataStream(self._environment, node_id)

    def key_by(self, key_selector: Any, key_type: TypeInformation | None = None) -> KeyedStream:
        """Partition the stream by key; all records of a key are processed together, in order.

        Keys are compared as Python compares them: 1, 1.0 and True are one key.

        Args:
            key_selector: A callable or `KeySelector`; must be deterministic.
            key_type: Accepted for PyFlink's sake; Python's own equality decides.

        Raises:
            ArgumentError: `key_selector` is neither, or `key_type` is no type.
        """
        method = method_of(key_selector, KeySelector, "get_key", "key_by")
        checked_type(key_type, "key_by")
        node_id = self._environment.graph.add(
            NodeKind.KEY_BY,
            "key_by",
            (self._unkeyed_id(),),
            type_info=self.get_type(),
            origin=CallSite.of_caller(),
            key_selector=getattr(key_selector, method) if method else key_selector,
        )
        return DataStream._keyed(self._environment, node_id)

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
            NodeKind.SINK,
            sink.kind,
            (self._unkeyed_id(),),
            type_info=self.get_type(),
            origin=origin,
            sink=sink,
        )
        return DataStreamSink(self._environment.graph, node_id)

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
    ) -> CloseableIterator: ...

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, *, limit: int
    ) -> list[Any]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the program and return this stream's records.

        Args:
            job_execution_name: Name of the job.
            limit: Return a list of at most that many records and stop the job.

        Returns:
            An iterator over all records, which stops the job when closed; or a list.

        Raises:
            PenstockError: The program is wrong, or the job failed.
        """
        return collect_stream(self, job_execution_name, limit)

    def _unkeyed_id(self) -> int:
        return self._node_id

    def _apply(
        self,
        kind: NodeKind,
        operation: str,
        func: Any,
        method: str | None,
        output_type: TypeInformation | None,
    ) -> DataStream:
        return self._derive(
            kind,
            name_of(func, operation),
            checked_type(output_type, operation),
            function=func,
            method=method,
        )

    def _derive(
        self, kind: NodeKind, name: str, type_info: TypeInformation, **fields: Any
    ) -> DataStream:
        node_id = self._environment.graph.add(
            kind,
            name,
            (self._node_id,),
            type_info=type_info,
            origin=CallSite.of_caller(),
            **fields,
        )
        return DataStream(self._environment, node_id)
