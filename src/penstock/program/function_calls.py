"""The settings of operators that call functions many records at a time: asynchronously, or in batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.types.records import RowTypeInfo, TupleTypeInfo


class RetryConditions(Protocol):
    """The conditions of a retry."""

    def result_predicate(self) -> Callable[[list[Any]], bool] | None:
        """Return a predicate of results after which the call is retried."""

    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """Return a predicate of exceptions after which the call is retried."""


class RetryStrategy(Protocol):
    """Decides whether a call is retried, and after which time."""

    def can_retry(self, current_attempts: int) -> bool:
        """Return whether another attempt may follow this number of attempts."""

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the time before the next attempt, in milliseconds."""

    def get_retry_predicate(self) -> RetryConditions:
        """Return the conditions of a retry."""


@dataclass(frozen=True, slots=True)
class AsyncSpec:
    """The settings of an operator's asynchronous calls.

    Attributes:
        ordered: Whether results are emitted in the order of their records, not of completion.
        timeout_ms: Time for one record, retries and pauses included; 0 is no limit.
        capacity: Greatest number of concurrent calls in one subtask.
        retry: The retry strategy; None does not retry.
    """

    ordered: bool
    timeout_ms: int
    capacity: int
    retry: RetryStrategy


@dataclass(frozen=True, slots=True)
class BatchSpec:
    """The settings of the calls of an operator.

    Attributes:
        form: Makes the argument of the function of a `pyarrow.RecordBatch`.
        max_wait_ms: Longest time for which a record waits for others while more arrive; None sets no limit.
        is_fixed: Whether every call gets `size` rows: the last one is repeated, and its results are dropped.
        is_row_for_row: Whether the function returns one row per row, which has the timestamp of its record.
    """

    records: RowTypeInfo | TupleTypeInfo
    results: RowTypeInfo
    form: Callable[[Any], Any]
    size: int
    max_wait_ms: int | None = None
    is_fixed: bool = False
    is_row_for_row: bool = True
