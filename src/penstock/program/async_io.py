"""The settings of one operator with asynchronous calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


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
