"""Jobs: what `execute` and `execute_async` return, and how an executor is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pkgutil import resolve_name
from typing import Protocol

from penstock.api.completable_future import CompletableFuture
from penstock.config.configuration import Configuration
from penstock.config.options import TARGET
from penstock.plan.physical import PhysicalPlan


class JobStatus(Enum):
    """Where a job is in its life."""

    CREATED = 0
    RUNNING = 1
    FINISHED = 2
    FAILED = 3
    CANCELED = 4

    def is_globally_terminal_state(self) -> bool:
        """Return whether the job will not change any more."""
        return self in {JobStatus.FINISHED, JobStatus.FAILED, JobStatus.CANCELED}


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What one run did.

    Attributes:
        name: `history`, `live` or `batch`.
        kind: `batch` or `live`.
        records: Records read.
        seconds: Wall clock from its first Spark job to its last commit.
    """

    name: str
    kind: str
    records: int
    seconds: float


@dataclass(frozen=True, slots=True)
class JobExecutionResult:
    """What a finished job did.

    Attributes:
        job_id: Identifies the job across restarts.
        net_runtime_ms: Wall clock of this process's part of the job.
        runs: One summary per run that this process executed.
        operator_records: uid to records received, over this process's part of the job.
    """

    job_id: str
    net_runtime_ms: int
    runs: tuple[RunSummary, ...] = ()
    operator_records: Mapping[str, int] = field(default_factory=dict)

    def get_job_id(self) -> str:
        """Return the job id."""
        return self.job_id

    def get_net_runtime(self) -> int:
        """Return the wall clock in milliseconds."""
        return self.net_runtime_ms


class JobClient(Protocol):
    """A running job."""

    def get_job_id(self) -> str:
        """Return the job id."""

    def get_job_status(self) -> JobStatus:
        """Return where the job is in its life."""

    def cancel(self) -> None:
        """Stop the job cleanly and wait until it has stopped; it can be resumed."""

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Ask for a savepoint; the job goes on.

        A batch run has none to give, so the future waits for the live run.

        Args:
            savepoint_directory: Where the savepoint gets a directory of its own. None uses
                `execution.checkpointing.savepoint-dir`, else the directory `savepoints`
                inside the checkpoint directory.

        Returns:
            The path of the savepoint; `SavepointError` if it cannot be taken.
        """

    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool = False,  # noqa: FBT001, FBT002 - as in PyFlink
        savepoint_directory: str | None = None,
    ) -> CompletableFuture[str]:
        """Ask for a savepoint with which the job stops.

        Nothing is processed after the savepoint, and the job is FINISHED. Its checkpoint
        directory cannot be resumed; start a new job from the savepoint.

        Args:
            advance_to_end_of_event_time: End the input first, so that every event-time timer
                fires. For a job that is given up, not for one that continues.
            savepoint_directory: As for `trigger_savepoint`.

        Returns:
            The path of the savepoint; `SavepointError` if it cannot be taken.
        """

    def get_job_execution_result(self) -> JobExecutionResult:
        """Wait for the end of the job and return its result.

        Raises:
            PenstockError: The job failed, or was cancelled.
        """


class Executor(Protocol):
    """Runs plans."""

    def submit(self, plan: PhysicalPlan, configuration: Configuration) -> JobClient:
        """Start a job and return at once.

        Raises:
            PenstockError: The job cannot start.
        """


EXECUTORS: dict[str, str] = {
    "spark": "penstock.spark.executor:SparkExecutor",
    "plan": "penstock.api.plan_only:PlanOnlyExecutor",
}
"""`execution.target` to the executor's class. Names, because layers below must not import
the layers above them."""


def executor_for(configuration: Configuration) -> Executor:
    """Return the executor `execution.target` names."""
    made: Executor = resolve_name(EXECUTORS[configuration.get(TARGET)])()
    return made
