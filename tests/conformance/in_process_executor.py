"""An executor that runs a job in this process and gives its records to the real sinks."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from penstock.api.environment.job import CompletableFuture, JobExecutionResult, JobID, JobStatus
from penstock.config.configuration import Configuration, job_parameters
from penstock.graph.endpoints import SinkContext
from penstock.graph.sink_calls import open_committer, open_writer
from penstock.plan.physical import PhysicalPlan
from penstock.testing import Schedule, run_in_process

JOB = "in-process"


def deliver(plan: PhysicalPlan, records: tuple[list[Any], ...]) -> None:
    """Write the records of every sink, as one epoch of one task."""
    with TemporaryDirectory(prefix="penstock-") as scratch:
        for sink, values in zip(plan.sinks, records, strict=True):
            context = SinkContext(
                JOB, sink.uid, 0, sink.type_info, sink.name, sink.origin, Path(scratch)
            )
            committer = open_committer(sink.sink, context)
            committer.recover()
            writer = open_writer(sink.sink, context)
            writer.write(values)
            committer.commit("0", writer.prepare_commit())
            committer.close()


@dataclass(frozen=True, slots=True)
class RanJob:
    """A client of a job that was computed before the client was handed out.

    Its sinks are written in a thread: one that collects waits for its reader.
    """

    delivery: Future[None]

    def get_job_id(self) -> JobID:
        return JobID(JOB)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        status = JobStatus.FINISHED if self.delivery.done() else JobStatus.RUNNING
        return CompletableFuture.completed(status)

    def cancel(self) -> CompletableFuture[None]:
        self.delivery.result()
        return CompletableFuture.completed(None)

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        raise AssertionError(savepoint_directory)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool = False, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        raise AssertionError(savepoint_directory)

    def get_accumulators(self) -> CompletableFuture[dict[str, object]]:
        return CompletableFuture.completed({})

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        self.delivery.result()
        return CompletableFuture.completed(JobExecutionResult(self.get_job_id(), 0))


class InProcessExecutor:
    """Runs jobs in this process, a micro-batch per record."""

    def settle(self, configuration: Configuration) -> None:
        """Leave the configuration as it is."""

    def submit(self, plan: PhysicalPlan, configuration: Configuration) -> RanJob:
        parameters = job_parameters(configuration)
        results = run_in_process(plan, Schedule(batch_sizes=(1,)), parameters=parameters)
        with_thread = ThreadPoolExecutor(1)
        delivery = with_thread.submit(deliver, plan, results.records)
        with_thread.shutdown(wait=False)
        return RanJob(delivery)
