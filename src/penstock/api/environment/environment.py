"""`StreamExecutionEnvironment`: makes the streams of a program and executes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from penstock.api.environment.builder import GraphBuilder
from penstock.api.environment.environment_settings import PythonDependencies, log_ignored_settings
from penstock.api.environment.execution_plan import execution_plan_json, graph_json
from penstock.api.environment.job import JobClient, JobExecutionResult, executor_for
from penstock.api.environment.sql_methods import SqlMethods
from penstock.api.functions.endpoint_functions import SourceFunction, record
from penstock.api.functions.watermark import WatermarkStrategy
from penstock.api.streams.collecting import fill_caches
from penstock.api.streams.data_stream import DataStream
from penstock.api.streams.dataframes import source_of
from penstock.api.streams.stream_handles import handle_of
from penstock.api.user_code import checked_type
from penstock.config.configuration import Configuration
from penstock.config.options import JOB_NAME
from penstock.connectors.python.collection import CollectionSource
from penstock.errors import ArgumentError, CallSite
from penstock.graph.endpoints import Source
from penstock.observe.notebook.card import Card, CardTable, ShownAsCard
from penstock.plan.explain.render import render_text
from penstock.plan.options import plan_options
from penstock.plan.physical import PhysicalPlan
from penstock.plan.planner import plan_job
from penstock.types import TypeInformation
from penstock.types.type_parameters import T


class StreamExecutionEnvironment(SqlMethods, PythonDependencies, ShownAsCard):
    """The context of one program: its configuration and its streams.

    Example:
        >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        >>> sink = env.from_collection([1, 2, 3]).map(lambda n: n * n).print()
        >>> result = env.execute("squares")  # doctest: +SKIP
        1
        4
        9

        Settings are those of its configuration, and methods of PyFlink set them, too:

        >>> env.configure(Configuration.from_dict({"pipeline.name": "squares"}))
        >>> env.set_max_parallelism(64).get_max_parallelism(), env.get_parallelism()
        (64, 1)
        >>> env.get_config().get_max_parallelism()
        64
        >>> env.disable_operator_chaining().is_chaining_enabled()
        False
        >>> env.enable_checkpointing(10_000).get_checkpoint_interval()
        10000
        >>> env.set_default_savepoint_directory("/savepoints").get_default_savepoint_directory()
        '/savepoints'
        >>> checkpoints = env.get_checkpoint_config().enable_unaligned_checkpoints()
        >>> env.is_unaligned_checkpoints_enabled(), env.is_force_unaligned_checkpoints()
        (True, False)
        >>> env.get_checkpointing_mode() is env.get_checkpointing_consistency_mode()
        True
        >>> env.set_state_backend(HashMapStateBackend()).get_state_backend().backend_type
        'hashmap'
        >>> env.get_restart_strategy().get_description()
        'Cluster level default restart strategy'
        >>> env.set_buffer_timeout(100).get_buffer_timeout()  # has no effect
        100
        >>> env.enable_changelog_state_backend(True).is_changelog_state_backend_enabled()  # neither
        True
        >>> env.set_default_local_parallelism(4)  # nor this
        >>> env.get_default_local_parallelism()
        4
        >>> env = env.register_slot_sharing_group(SlotSharingGroup.builder("heavy").build())
        >>> env.register_cached_file("cities.csv", "cities")
        >>> env.add_python_file("pricing.py")  # for the workers, as `penstock run` does
        >>> env.set_python_requirements("requirements.txt")
        >>> env.add_python_archive("models.zip", "models")
        >>> env.set_python_executable("/opt/python/bin/python")
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        super().__init__(configuration)
        self._graph = GraphBuilder()

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None,
    ) -> StreamExecutionEnvironment:
        """Return a new environment.

        Args:
            configuration: Is copied; later changes to it have no effect.

        Example:
            >>> settings = Configuration().set_string("parallelism.default", "4")
            >>> StreamExecutionEnvironment.get_execution_environment(settings).get_parallelism()
            4
        """
        return StreamExecutionEnvironment(configuration)

    @property
    def graph(self) -> GraphBuilder:
        """The nodes of the program so far."""
        return self._graph

    def stream_of(self, node_id: int) -> DataStream[Any]:
        """Return the stream of the node `node_id`; for the streams themselves."""
        return handle_of(self, node_id)

    @overload
    def from_collection(self, collection: Iterable[T], type_info: None = None) -> DataStream[T]: ...

    @overload
    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation[T]
    ) -> DataStream[T]: ...

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream[Any]:
        """Return a stream of the elements, in order.

        Args:
            collection: Is read now; must fit in the memory of the driver.
            type_info: Type the elements are converted to. None leaves them as they are.

        Raises:
            ArgumentError: An element does not have the type, or it is no type.

        Example:
            >>> collect(env.from_collection([("ann", 5), ("bob", 3)]))
            [('ann', 5), ('bob', 3)]
        """
        source = CollectionSource.of(collection, checked_type(type_info, "from_collection"))
        return self._source(source, WatermarkStrategy.no_watermarks(), "Collection", type_info)

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation[T] | None = None,
    ) -> DataStream[T]:
        """Return a stream of the records of a source.

        Args:
            source: Such as a `FileSource`, `NumberSequenceSource` or `SparkSource`.
            watermark_strategy: Strategy for timestamps and watermarks of its records.
            source_name: For messages and plans.
            type_info: Type its records are converted to; None is the type the source declares.

        Raises:
            ArgumentError: `source`, the strategy or the type is none.

        Example:
            >>> no_watermarks = WatermarkStrategy.no_watermarks()
            >>> stream = env.from_source(NumberSequenceSource(1, 3), no_watermarks, "numbers")
            >>> collect(stream)
            [1, 2, 3]
        """
        return self._source(source, watermark_strategy, source_name, type_info)

    def from_dataframe(
        self,
        dataframe: Any,
        watermark_strategy: WatermarkStrategy | None = None,
        source_name: str = "DataFrame",
        type_info: TypeInformation | None = None,
    ) -> DataStream[Any]:
        """Return a stream of the rows of a Spark DataFrame. The rows have no order.

        Args:
            dataframe: A batch or streaming DataFrame of the session the job runs in.
            watermark_strategy: Strategy for timestamps and watermarks; None has neither.
            source_name: For messages and plans.
            type_info: Type of the records; None takes it from the columns. The fields of a row
                type choose columns by their names; `Types.ROW`, whose fields have no names of
                their own, takes all columns in their order.

        Raises:
            ArgumentError: It is no DataFrame, or has not the columns the type names.

        Example:
            >>> rows = env.from_dataframe(spark.range(3))  # doctest: +SKIP
            >>> rows.get_type()  # doctest: +SKIP
            Row(id: Long)
        """
        strategy = watermark_strategy or WatermarkStrategy.no_watermarks()
        return self._source(source_of(dataframe, type_info), strategy, source_name, type_info)

    def add_source(
        self,
        source_func: SourceFunction | Source,
        source_name: str = "Custom Source",
        type_info: TypeInformation[T] | None = None,
    ) -> DataStream[T]:
        """Run a source function to its end, in the driver, and return a stream of its records.

        For small inputs: endless and large sources go to `from_source`.

        Args:
            source_func: Collects the records. A `Source` is taken as by `from_source`, without
                watermarks: `FlinkKafkaConsumer` is one.
            source_name: For messages and plans.
            type_info: Type the records are converted to; None leaves them as they are.

        Raises:
            ArgumentError: `source_func` is no `SourceFunction`, or a record does not have the
                type.
            SourceError: It raised, or did not end.

        Example:
            >>> class Count(SourceFunction):
            ...     def run(self, ctx):
            ...         for n in range(3):
            ...             ctx.collect(n)
            ...     def cancel(self):
            ...         pass
            >>> collect(env.add_source(Count()))
            [0, 1, 2]
        """
        if isinstance(source_func, Source):
            no_time = WatermarkStrategy.no_watermarks()
            return self._source(source_func, no_time, source_name, type_info)
        declared = checked_type(type_info, "add_source")
        source = record(source_func, source_name, declared, CallSite.of_caller())
        return self._source(source, WatermarkStrategy.no_watermarks(), source_name, type_info)

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the program on Spark, wait for its end, and remove its sinks.

        A program with unbounded sources runs until it is cancelled. The streams may be used again.

        Args:
            job_name: For progress, metrics and messages; None takes `pipeline.name`.

        Returns:
            The runs, record counts and metrics of the job.

        Raises:
            PenstockError: The program is wrong, or the job failed.

        Example:
            >>> sink = numbers.sink_to(DiscardingSink())
            >>> result = env.execute("numbers")  # doctest: +SKIP
            >>> result.get_net_runtime() > 0  # doctest: +SKIP
            True
        """
        __tracebackhide__ = True
        client = self.execute_async(job_name)
        try:
            return client.get_job_execution_result().result()
        except KeyboardInterrupt:
            client.cancel()
            raise

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Start the program on Spark, remove its sinks, and return at once.

        The streams may be used again.

        Args:
            job_name: For progress, metrics and messages; None takes `pipeline.name`.

        Returns:
            A handle to the running job, to cancel it or take savepoints.

        Raises:
            PenstockError: The program is wrong, or the job cannot start.

        Example:
            >>> sink = numbers.sink_to(DiscardingSink())
            >>> client = env.execute_async("numbers")  # doctest: +SKIP
            >>> result = client.get_job_execution_result().result()  # doctest: +SKIP
        """
        if job_name is not None:
            self._configuration.set(JOB_NAME, job_name)
        fill_caches(self)
        log_ignored_settings(self._configuration)
        executor = executor_for(self._configuration)
        executor.settle(self._configuration)
        client = executor.submit(self.plan(), self._configuration)
        self._graph.clear()
        return client

    def close(self) -> None:
        """Remove all streams of the program, and the files of cached ones. Running jobs go on.

        Example:
            >>> sink = numbers.print()
            >>> env.close()
            >>> env.explain()
            Traceback (most recent call last):
            penstock.errors.EmptyGraphError: ...
        """
        self._graph = GraphBuilder()

    def plan(self) -> PhysicalPlan:
        """Return the physical plan of the program so far, without running it.

        Raises:
            GraphError: The program cannot run as configured.
            ConfigError: A setting cannot be used.

        Example:
            >>> sink = numbers.print().name("numbers")
            >>> [sink.name for sink in env.plan().sinks]
            ['numbers']
        """
        return plan_job(self._graph.logical_graph(), self._configuration)

    def explain(self) -> str:
        """Return the physical plan as text, with the reason of each decision.

        Raises:
            GraphError: The program cannot run as configured.
            ConfigError: A setting cannot be used.

        Example:
            >>> sink = numbers.map(lambda n: n + 1).name("increment").print()
            >>> "increment" in env.explain()
            True
        """
        return render_text(self.plan())

    def get_execution_plan(self) -> str:
        """Return the logical graph as JSON, in the form of Flink's.

        For a program without a sink it is the graph of all its streams.

        Raises:
            GraphError: The program has no stream, or cannot run as configured.
            ConfigError: A setting cannot be used.

        Example:
            >>> import json
            >>> [node["type"] for node in json.loads(env.get_execution_plan())["nodes"]][0]
            'Source: Collection'
        """
        if self._graph.has_sink():
            return execution_plan_json(self.plan())
        parallelism = plan_options(self._configuration).default_parallelism
        return graph_json(self._graph.whole_graph(), parallelism)

    def _card(self) -> Card:
        nodes = [
            (node.name, node.kind.name.lower(), node.type_info) for node in self._graph.nodes()
        ]
        settings = list(self._configuration.shown().items())
        return Card(
            "stream execution environment",
            {"parallelism": self.get_parallelism()},
            tables=(
                CardTable("program", ("operator", "kind", "type"), nodes),
                CardTable("settings", ("key", "value"), settings),
            ),
        )

    def _source(
        self,
        source: Source,
        strategy: WatermarkStrategy,
        name: str,
        type_info: TypeInformation | None,
    ) -> DataStream:
        origin = CallSite.of_caller()
        if not isinstance(source, Source):
            raise ArgumentError.here(
                f"{source!r} is not a source",
                hint="Pass a FileSource, NumberSequenceSource, SparkSource or another Source.",
            )
        declared = source.get_produced_type() if type_info is None else type_info
        return DataStream.of_source(
            self, source, strategy, name, checked_type(declared, "from_source"), origin
        )
