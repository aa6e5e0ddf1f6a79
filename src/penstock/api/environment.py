"""`StreamExecutionEnvironment`: where a program begins and is executed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from penstock.api.builder import GraphBuilder
from penstock.api.checkpointing import CheckpointConfig, CheckpointingMode
from penstock.api.data_stream import DataStream
from penstock.api.execution_plan import execution_plan_json
from penstock.api.job import JobClient, JobExecutionResult, executor_for
from penstock.api.user_code import checked_type
from penstock.api.watermark import WatermarkStrategy
from penstock.config.configuration import Configuration
from penstock.config.execution_mode import RuntimeExecutionMode
from penstock.config.options import (
    CHECKPOINT_INTERVAL,
    JOB_NAME,
    MAX_PARALLELISM,
    PARALLELISM,
    RUNTIME_MODE,
)
from penstock.connectors.collection import CollectionSource
from penstock.errors import ArgumentError, CallSite
from penstock.graph.endpoints import Source
from penstock.plan.options import plan_options
from penstock.plan.physical import PhysicalPlan
from penstock.plan.planner import plan_job
from penstock.plan.render import render_text
from penstock.types import TypeInformation


class StreamExecutionEnvironment:
    """The context of one program: its configuration and the streams made so far."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration(configuration)
        self._graph = GraphBuilder()

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None,
    ) -> StreamExecutionEnvironment:
        """Return a new environment.

        Args:
            configuration: Is copied; later changes to it have no effect.
        """
        return StreamExecutionEnvironment(configuration)

    @property
    def graph(self) -> GraphBuilder:
        """The nodes of the program so far."""
        return self._graph

    def get_configuration(self) -> Configuration:
        """Return the configuration; changes to it take effect at `execute`."""
        return self._configuration

    def configure(self, configuration: Configuration) -> None:
        """Set everything `configuration` holds."""
        self._configuration.add_all(configuration)

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """Set the number of subtasks of every operator."""
        self._configuration.set(PARALLELISM, parallelism)
        return self

    def get_parallelism(self) -> int:
        """Return the number of subtasks of every operator."""
        return plan_options(self._configuration).parallelism

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """Set the number of key groups, which bounds the parallelism for the job's life."""
        self._configuration.set(MAX_PARALLELISM, max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Return the number of key groups."""
        return self._configuration.get(MAX_PARALLELISM)

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """Set the runtime mode."""
        self._configuration.set(RUNTIME_MODE, execution_mode)
        return self

    def enable_checkpointing(
        self, interval: int, mode: CheckpointingMode = CheckpointingMode.EXACTLY_ONCE
    ) -> StreamExecutionEnvironment:
        """Set the time between two micro-batches, each of which is a checkpoint.

        Args:
            interval: Milliseconds.
            mode: Only EXACTLY_ONCE exists here; the weaker one is accepted and exceeded.
        """
        self._configuration.set(CHECKPOINT_INTERVAL, timedelta(milliseconds=interval))
        self.get_checkpoint_config().set_checkpointing_mode(mode)
        return self

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Return the checkpointing settings; changes take effect at `execute`."""
        return CheckpointConfig(self._configuration)

    def get_checkpoint_interval(self) -> int:
        """Return the checkpoint interval in milliseconds."""
        return self.get_checkpoint_config().get_checkpoint_interval()

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream:
        """Return a stream of the elements, in order.

        Args:
            collection: Is read now; must fit in the driver.
            type_info: Type of the elements, which are brought to it. None keeps them as
                they are.

        Raises:
            ArgumentError: An element does not have the type, or it is no type.
        """
        source = CollectionSource.of(collection, checked_type(type_info, "from_collection"))
        return self._source(source, WatermarkStrategy.no_watermarks(), "Collection", type_info)

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:
        """Return a stream of what `source` reads.

        Args:
            source: What to read.
            watermark_strategy: How its records get timestamps and watermarks.
            source_name: For messages and plans.
            type_info: Overrides the type the source says it produces; its records are
                brought to it.

        Raises:
            ArgumentError: `source`, the strategy or the type is none.
        """
        return self._source(source, watermark_strategy, source_name, type_info)

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the program to its end and forget its streams.

        A program with unbounded sources runs until it is stopped.

        Raises:
            PenstockError: The program is wrong, or the job failed.
        """
        client = self.execute_async(job_name)
        try:
            return client.get_job_execution_result()
        except KeyboardInterrupt:
            client.cancel()
            raise

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Start the program and forget its streams.

        Raises:
            PenstockError: The program is wrong, or the job cannot start.
        """
        if job_name is not None:
            self._configuration.set(JOB_NAME, job_name)
        plan = self.plan()
        client = executor_for(self._configuration).submit(plan, self._configuration)
        self._graph.clear()
        return client

    def plan(self) -> PhysicalPlan:
        """Return the physical plan of the program so far.

        Raises:
            GraphError: The program cannot run as configured.
            ConfigError: A setting cannot be used.
        """
        return plan_job(self._graph.logical_graph(), self._configuration)

    def explain(self) -> str:
        """Return the physical plan as text, with the reason of each decision."""
        return render_text(self.plan())

    def get_execution_plan(self) -> str:
        """Return the logical graph as JSON, in the shape of Flink's."""
        return execution_plan_json(self.plan())

    def _source(
        self,
        source: Source,
        strategy: WatermarkStrategy,
        name: str,
        type_info: TypeInformation | None,
    ) -> DataStream:
        origin = CallSite.of_caller()
        if not isinstance(source, Source):
            raise ArgumentError(
                f"{source!r} is not a source",
                hint="Pass a FileSource, NumberSequenceSource, SparkSource or another Source.",
                origin=origin,
            )
        declared = source.get_produced_type() if type_info is None else type_info
        return DataStream.of_source(
            self, source, strategy, name, checked_type(declared, "from_source"), origin
        )
