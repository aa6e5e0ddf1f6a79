"""How records wait for asynchronous calls: the settings of one operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class RetryConditions(Protocol):
    """What is tried again."""

    def result_predicate(self) -> Callable[[list[Any]], bool] | None:
        """Return a function of a result that is true if the call is to be tried again."""

    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """Return a function of an exception that is true if the call is to be tried again."""


class RetryStrategy(Protocol):
    """Whether, and after how long, a call is tried again."""

    def can_retry(self, current_attempts: int) -> bool:
        """Return whether there may be one more attempt after so many."""

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return how long to wait before it, in milliseconds."""

    def get_retry_predicate(self) -> RetryConditions:
        """Return what is tried again."""


@dataclass(frozen=True, slots=True)
class AsyncSpec:
    """How an operator waits for the calls it makes.

    Attributes:
        ordered: Results leave in the order of their records, not of completion.
        timeout_ms: For one record, retries and pauses included; 0 is no limit.
        capacity: Greatest number of calls under way in one subtask.
        retry: What is tried again.
    """

    ordered: bool
    timeout_ms: int
    capacity: int
    retry: RetryStrategy
