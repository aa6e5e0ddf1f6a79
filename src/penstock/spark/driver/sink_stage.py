"""The sink stage in the driver: runs the last stage of a run or micro-batch, and commits sinks."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

from pyspark.sql import DataFrame

from penstock.failpoint import failpoint
from penstock.filesystem.store_settings import StoreSettings
from penstock.filesystem.stored_path import JobPath
from penstock.graph.endpoints import Committer, EpochNumber, FileCommittable, SinkContext
from penstock.graph.sink_calls import open_committer
from penstock.metrics.profile import COMMIT, SPARK_JOB
from penstock.metrics.task_facts import CommitCost
from penstock.plan.physical import PhysicalPlan
from penstock.program.channel import SINK_LEVEL
from penstock.runtime.task.report import Report
from penstock.spark.worker.payload import Payload
from penstock.spark.worker.sink_task import SinkMessage, SinkTask, jobs_of_epoch
from penstock.spark.worker.worker_environment import WorkerEnvironment
from penstock.wire.fence import Fence


@dataclass(slots=True)
class StagedEpoch:
    """The staged output of all tasks of one epoch.

    Attributes:
        committables: Sink index to committables, in order of task.
        state_files: Name of each snapshot file, and its SHA-256.
    """

    committables: dict[int, list[Any]] = field(default_factory=dict)
    state_files: dict[str, str] = field(default_factory=dict)
    report: Report = field(default_factory=Report)

    def add(self, message: SinkMessage) -> None:
        """Add the message of one task."""
        for index, prepared in message.committables.items():
            self.committables.setdefault(index, []).extend(prepared)
        self.state_files |= message.state_files
        self.report.merge(message.report)


class SinkStage:
    """The sinks of one job or pipeline. Spark tasks stage their output; the driver commits it."""

    def __init__(
        self,
        plan: PhysicalPlan,
        job_id: str,
        scratch: JobPath,
        fence: Fence,
        workers: WorkerEnvironment | None = None,
        object_settings: StoreSettings | None = None,
    ) -> None:
        self._fence = fence
        self._contexts = tuple(
            (
                sink.sink,
                SinkContext(
                    job_id,
                    sink.uid,
                    -1,
                    sink.type_info,
                    sink.name,
                    sink.origin,
                    scratch,
                    may_commit=fence,
                    object_settings=object_settings,
                ),
            )
            for sink in plan.sinks
        )
        self._sink_of_channel = {
            channel.id: channel.target_operator
            for channel in plan.channels
            if channel.target_level == SINK_LEVEL
        }
        self._payload = Payload.of(self._contexts, workers)
        self._parallelism = plan.options.parallelism
        self._committers: dict[int, Committer] = {
            index: open_committer(sink, context)
            for index, (sink, context) in enumerate(self._contexts)
        }

    def restricted_to(self, sinks: Collection[int]) -> SinkStage:
        """Return the stage of some of the sinks: only these are committed and recovered."""
        stage = copy(self)
        stage._committers = {index: self._committers[index] for index in sorted(sinks)}  # noqa: SLF001 - a copy
        return stage

    def recover(self) -> None:
        """Let every sink finish interrupted commits and drop uncommitted data."""
        for committer in self._committers.values():
            self._fence()
            committer.recover()

    def task(self, snapshot: JobPath) -> SinkTask:
        """Return the function of the last stage, which reads frames."""
        return SinkTask(self._payload, self._sink_of_channel, snapshot, self._parallelism)

    def collect(self, messages: DataFrame, epoch: EpochNumber) -> StagedEpoch:
        """Run the Spark job of one epoch, which stages its output. The output is invisible afterwards."""
        staged = StagedEpoch()
        started_ns = perf_counter_ns()
        with jobs_of_epoch(messages.sparkSession.sparkContext, epoch):
            rows = messages.collect()
        staged.report.times[SPARK_JOB] = perf_counter_ns() - started_ns
        for row in rows:
            staged.add(pickle.loads(bytes(row[0])))
        return staged

    def commit(self, epoch: EpochNumber, staged: StagedEpoch) -> None:
        """Make an epoch visible in every sink; may be repeated."""
        started_ns = perf_counter_ns()
        failpoint("sinks.before-commit")
        for index, committer in self._committers.items():
            self._fence()
            began_ns, committables = perf_counter_ns(), staged.committables.get(index, [])
            committer.commit(str(epoch), committables)
            if committables:
                staged.report.commits[index] = _cost_of(committables, perf_counter_ns() - began_ns)
            failpoint("sinks.one-committed")
        staged.report.times[COMMIT] = perf_counter_ns() - started_ns
        failpoint("sinks.committed")

    def publish(self) -> None:
        """Make visible what sinks hold back; see `Committer.publish`."""
        for committer in self._committers.values():
            self._fence()
            committer.publish()
        failpoint("sinks.published")

    def check_background(self) -> None:
        """Raise what went wrong in threads of sinks; see `Committer.check_background`."""
        for committer in self._committers.values():
            committer.check_background()

    def close(self) -> None:
        """Close the committers."""
        for committer in self._committers.values():
            committer.close()


def _cost_of(committables: Sequence[Any], nanoseconds: int) -> CommitCost:
    """Return the cost of a commit; the committables of files have a size."""
    sizes = [file.byte_count for file in committables if isinstance(file, FileCommittable)]
    if not sizes:
        return CommitCost(1, nanoseconds)
    return CommitCost(1, nanoseconds, len(sizes), sum(sizes))
