"""Jobs: what `execute` and `execute_async` return, and how an executor is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from pkgutil import resolve_name
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from penstock.config.configuration import Configuration
from penstock.config.options import TARGET
from penstock.metrics.job_metrics import is_named, result_named
from penstock.observe.notebook.card import Card, CardTable, ShownAsCard
from penstock.plan.physical import PhysicalPlan

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """A result that may come later. Safe to use from several threads.

    Example:
        >>> future = CompletableFuture[str]()
        >>> future.set_result("/savepoints/1")
        >>> future.done(), future.result()
        (True, '/savepoints/1')
        >>> failed = CompletableFuture[str]()
        >>> failed.set_exception(ValueError("no directory"))
        >>> failed.exception(), failed.cancel(), failed.cancelled()
        (ValueError('no directory'), False, False)
    """

    def __init__(self) -> None:
        self._future: Future[T] = Future()

    @classmethod
    def completed(cls, result: T) -> CompletableFuture[T]:
        """Return a future that has the result `result`.

        Example:
            >>> CompletableFuture.completed(1).done()
            True
        """
        future = cls()
        future.set_result(result)
        return future

    def cancel(self) -> bool:
        """Stop waiting; return False if it was done already.

        The requested operation may happen all the same, as in Flink.
        """
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Return whether it was cancelled before it was done."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Return whether there is a result or an error, or it was cancelled."""
        return self._future.done()

    def result(self) -> T:
        """Wait for the result.

        Raises:
            PenstockError: There is none, and why.
            concurrent.futures.CancelledError: It was cancelled.
        """
        __tracebackhide__ = True
        failure = self._future.exception()
        if failure is not None:
            # Without the frames of the thread that failed, which are not the caller's.
            raise failure.with_traceback(None)
        return self._future.result()

    def exception(self) -> BaseException | None:
        """Wait, and return the error, None if there is a result.

        Raises:
            concurrent.futures.CancelledError: It was cancelled.
        """
        return self._future.exception()

    def set_result(self, result: T) -> None:
        """Complete the future with `result`, unless it is done already."""
        with suppress(InvalidStateError):
            self._future.set_result(result)

    def set_exception(self, exception: BaseException) -> None:
        """Complete the future with the error `exception`, unless it is done already."""
        with suppress(InvalidStateError):
            self._future.set_exception(exception)

    def __str__(self) -> str:
        return f"CompletableFuture({'done' if self.done() else 'not done'})"


class JobID(str):
    """Identifies a job across restarts, as text."""

    __slots__ = ()


class JobStatus(Enum):
    """The states of a job."""

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    """A state of Flink; here a failure leads to FAILED or RESTARTING at once."""

    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    """A state of Flink; never reached."""

    RECONCILING = 9
    """A state of Flink; never reached."""

    def is_globally_terminal_state(self) -> bool:
        """Return whether the state is final."""
        return self in {JobStatus.FINISHED, JobStatus.FAILED, JobStatus.CANCELED}

    def is_terminal_state(self) -> bool:
        """Return whether the state is final in this process."""
        return self.is_globally_terminal_state() or self is JobStatus.SUSPENDED


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Record count and duration of one run.

    Attributes:
        name: `history`, `live` or `batch`.
        kind: `batch` or `live`.
        seconds: Wall clock from its first Spark job to its last commit.
    """

    name: str
    kind: str
    records: int
    seconds: float


@dataclass(frozen=True, slots=True)
class JobExecutionResult(ShownAsCard):
    """Runs, record counts and metrics of a finished job.

    Attributes:
        job_id: Identifies the job across restarts.
        net_runtime_ms: Wall clock of this process's part of the job.
        runs: One summary per run that this process executed.
        operator_records: uid to records received, over this process's part of the job.
        accumulators: Full name of a metric to its result, over this process's part of the job.

    Example:
        >>> result = JobExecutionResult(JobID("numbers"), net_runtime_ms=2_318)
        >>> result.get_net_runtime()
        2318
        >>> str(result.get_job_id()), result.get_all_accumulator_results()
        ('numbers', {})
        >>> result.get_accumulator_result("late") is None
        True
    """

    job_id: JobID
    net_runtime_ms: int
    runs: tuple[RunSummary, ...] = ()
    operator_records: Mapping[str, int] = field(default_factory=dict)
    accumulators: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the text that Flink prints for a finished job."""
        return (
            f"Program execution finished\nJob with JobID {self.job_id} has finished.\n"
            f"Job Runtime: {self.net_runtime_ms} ms\n"
        )

    def _card(self) -> Card:
        runs = [(run.name, run.kind, f"{run.records:,}", f"{run.seconds:.1f}") for run in self.runs]
        operators = [(uid, f"{count:,}") for uid, count in self.operator_records.items()]
        metrics = sorted(self.accumulators.items())
        return Card(
            "job result",
            {"job": self.job_id, "seconds": f"{self.net_runtime_ms / 1000:.1f}"},
            tables=(
                CardTable("runs", ("run", "kind", "records", "seconds"), runs),
                CardTable("operators", ("uid", "records received"), operators),
                CardTable("metrics", ("metric", "value"), metrics),
            ),
        )

    def get_job_id(self) -> JobID:
        """Return the job id."""
        return self.job_id

    def get_net_runtime(self) -> int:
        """Return the wall clock in milliseconds."""
        return self.net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Return the result of a metric; None if there is no such metric.

        Counters and meters give their count, gauges their last reading, distributions a
        `DistributionValue`.

        Args:
            accumulator_name: Full name (`uid.group.….name`), or the end of it if no other
                metric has the same.

        Raises:
            ArgumentError: There is more than one such metric.
        """
        if not is_named(self.accumulators, accumulator_name):
            return None
        return result_named(self.accumulators, accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Return the results of all metrics by full name, `state.…` among them."""
        return dict(self.accumulators)


class JobClient(Protocol):
    """A handle to a running job, returned by `execute_async`.

    Example:
        >>> from itertools import count
        >>> from tempfile import mkdtemp
        >>> endless = IteratorSource(lambda split, start: count(start), records_per_second=100)
        >>> stream = env.from_source(endless, WatermarkStrategy.no_watermarks(), "endless")
        >>> sink = stream.sink_to(DiscardingSink())
        >>> client = env.execute_async("numbers")  # doctest: +SKIP
        >>> savepoint = client.trigger_savepoint(mkdtemp()).result()  # doctest: +SKIP
        >>> client.get_job_status().result().name  # doctest: +SKIP
        'RUNNING'
        >>> last = client.stop_with_savepoint(False, mkdtemp()).result()  # doctest: +SKIP
        >>> result = client.get_job_execution_result().result()  # doctest: +SKIP
        >>> client.cancel().result()  # doctest: +SKIP
        >>> client.get_job_status().result().name  # doctest: +SKIP
        'FINISHED'
        >>> result.get_job_id() == client.get_job_id()  # doctest: +SKIP
        True
        >>> client.get_accumulators().result() == result.accumulators  # doctest: +SKIP
        True
    """

    def get_job_id(self) -> JobID:
        """Return the job id."""

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Return the state of the job; the future is done."""

    def cancel(self) -> CompletableFuture[None]:
        """Stop the job cleanly and wait until it has stopped; it can be resumed.

        Returns:
            A future that is done. A job that has ended stays as it is.
        """

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Request a savepoint; the job continues.

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
        """Request a savepoint with which the job stops.

        Nothing is processed after the savepoint, and the job is FINISHED. Its checkpoint
        directory cannot be resumed; start a new job from the savepoint.

        Args:
            advance_to_end_of_event_time: End the input first, so that every event-time timer
                fires. For a job that is given up, not for one that continues.
            savepoint_directory: As for `trigger_savepoint`.

        Returns:
            The path of the savepoint; `SavepointError` if it cannot be taken.
        """

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Return the results of all metrics by full name, of all commits so far.

        A job that is resumed begins at zero.
        """

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Return the result of the job, which comes with its end.

        Returns:
            The result; `PenstockError` if the job fails or is cancelled.
        """


class Executor(Protocol):
    """Runs plans."""

    def settle(self, configuration: Configuration) -> None:
        """Set what the checkpoint directory of the job decides, before the program is planned."""

    def submit(self, plan: PhysicalPlan, configuration: Configuration) -> JobClient:
        """Start a job and return at once."""


EXECUTORS: dict[str, str] = {
    "spark": "penstock.spark.executor:SparkExecutor",
    "plan": "penstock.api.environment.job:PlanOnlyExecutor",
}
"""`execution.target` to the executor's class. Names, because layers below must not import
the layers above them."""


def executor_for(configuration: Configuration) -> Executor:
    """Return the executor `execution.target` names."""
    executor: Executor = resolve_name(EXECUTORS[configuration.get(TARGET)])()
    return executor


class PlanReady(BaseException):
    """Carries the plan out of a program that was only to be planned.

    Not an `Exception`: a program's own error handling must not swallow it.
    """

    def __init__(self, plan: PhysicalPlan, configuration: Configuration) -> None:
        super().__init__("planned")
        self.plan = plan
        self.configuration = configuration


_Look = Callable[[PhysicalPlan, Configuration], None]

_LOOK: ContextVar[_Look | None] = ContextVar("look", default=None)


@contextmanager
def looking_at_plan(look: _Look) -> Iterator[None]:
    """Call a function with the first plan in the context, while the program, its modules and its classes are there."""
    token = _LOOK.set(look)
    try:
        yield
    finally:
        _LOOK.reset(token)


class PlanOnlyExecutor:
    """Ends the program at its first `execute`."""

    def settle(self, configuration: Configuration) -> None:
        """Leave the configuration as it is."""

    def submit(self, plan: PhysicalPlan, configuration: Configuration) -> NoReturn:
        """Stop here."""
        look = _LOOK.get()
        if look is not None:
            look(plan, configuration)
        raise PlanReady(plan, configuration)
