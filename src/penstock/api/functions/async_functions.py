"""Asynchronous functions, and the strategies by which their calls are retried."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from penstock.api.functions.function_classes import Function
from penstock.errors import ArgumentError
from penstock.types.type_parameters import IN, OUT


class AsyncFunction(Function, Generic[IN, OUT]):
    """Makes an asynchronous call per record; the calls of many records run concurrently.

    The event loop has a thread of its own and lasts as long as the function object, so what
    coroutines share (a session, a client) stays usable. `open` and `close` are called outside
    of it. A coroutine that blocks (`time.sleep`, a client without `await`) blocks all others.

    Example:
        >>> class Lookup(AsyncFunction):
        ...     async def async_invoke(self, value):
        ...         return [value * 10]
        >>> collect(AsyncDataStream.ordered_wait(numbers, Lookup(), Time.seconds(5)))
        [10, 20, 30, 40]
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """Return the list of results for `value`; an empty list is no result.

        After a failure of the job it may be called again for the same record.
        """

    def timeout(self, value: IN) -> list[OUT]:
        """Return the list of results for `value`, a record whose timeout has passed.

        Its coroutine has been cancelled. Unless overridden:

        Raises:
            TimeoutError: Always, which fails the job.
        """
        raise TimeoutError(f"Async function call has timed out for input: {value}")


def empty_result_predicate(result: list[Any]) -> bool:
    """Return whether `result`, the list of results of a call, is empty.

    Example:
        >>> empty_result_predicate([])
        True
    """
    return not result


def has_exception_predicate(error: Exception | None) -> bool:
    """Return whether a call raised `error`, and not None.

    Example:
        >>> has_exception_predicate(TimeoutError())
        True
    """
    return error is not None


def exception_type_predicate(
    error: Exception, expected_error_type: type[BaseException] | tuple[type[BaseException], ...]
) -> bool:
    """Return whether a call raised an exception of a type; bind the type with `functools.partial`.

    Args:
        error: The exception.
        expected_error_type: A class or a tuple of classes.

    Example:
        >>> exception_type_predicate(TimeoutError(), OSError)
        True
    """
    return isinstance(error, expected_error_type)


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Selects the results and exceptions after which a call is repeated.

    Example:
        >>> class OnEmpty(AsyncRetryPredicate):
        ...     def result_predicate(self):
        ...         return lambda results: not results
        ...     def exception_predicate(self):
        ...         return None
        >>> OnEmpty().result_predicate()([])
        True
    """

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Return a function that is true for a result to retry; None retries no result."""

    @abstractmethod
    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """Return a function that is true for an exception to retry; None retries no exception."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """Decides whether and when a call is repeated.

    One object serves all records of a subtask at the same time, so its methods may depend on
    their arguments only. Attempts are counted from 1, the first call of a record.

    Example:
        >>> strategy = AsyncRetryStrategy.fixed_delay(
        ...     3, 100, result_predicate=None, exception_predicate=lambda error: True
        ... )
        >>> strategy.can_retry(3), strategy.can_retry(4)
        (True, False)
        >>> strategy.get_backoff_time_millis(1)
        100
        >>> strategy.get_retry_predicate().exception_predicate()(TimeoutError())
        True
    """

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Return whether another attempt is allowed after `current_attempts`."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the delay before the attempt that follows `current_attempts`, in milliseconds."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return which results and exceptions to retry."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Return the strategy that never retries.

        Example:
            >>> AsyncRetryStrategy.no_restart().can_retry(1)
            False
        """
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Return a strategy with the same delay before every retry.

        Args:
            max_attempts: Attempts after the first.
            backoff_time_millis: Milliseconds between two attempts.
            result_predicate: True for a result to retry; None retries no result.
            exception_predicate: True for an exception to retry; None retries no exception.

        Raises:
            ArgumentError: A number is not greater than zero.

        Example:
            >>> strategy = AsyncRetryStrategy.fixed_delay(3, 100, None, lambda error: True)
            >>> strategy.get_backoff_time_millis(2)
            100
        """
        return FixedDelayRetryStrategy(
            max_attempts, backoff_time_millis, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Return a strategy whose delay grows from one retry to the next.

        Args:
            max_attempts: Attempts after the first.
            initial_delay: Milliseconds before the second attempt.
            max_retry_delay: Greatest delay after that, in milliseconds.
            multiplier: Factor of the delay, from one attempt to the next.
            result_predicate: True for a result to retry; None retries no result.
            exception_predicate: True for an exception to retry; None retries no exception.

        Raises:
            ArgumentError: A number is not greater than zero.

        Example:
            >>> strategy = AsyncRetryStrategy.exponential_backoff(
            ...     5, 100, 1_000, 2.0, None, lambda error: True
            ... )
            >>> [strategy.get_backoff_time_millis(attempt) for attempt in range(1, 6)]
            [100, 200, 400, 800, 1000]
        """
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts,
            initial_delay,
            max_retry_delay,
            multiplier,
            result_predicate,
            exception_predicate,
        )


class RetryPredicate(AsyncRetryPredicate[OUT]):
    """A retry predicate made of two functions, or None.

    Example:
        >>> predicate = RetryPredicate(None, lambda error: isinstance(error, OSError))
        >>> predicate.exception_predicate()(TimeoutError())
        True
    """

    def __init__(
        self,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Return the function of results."""
        return self._result_predicate

    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """Return the function of exceptions."""
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT]):
    """Never retries.

    Example:
        >>> NoRetryStrategy().can_retry(1)
        False
    """

    def can_retry(self, current_attempts: int) -> bool:
        """Return False."""
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return -1: there is no next attempt."""
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return a predicate that selects nothing."""
        return RetryPredicate(None, None)


class _LimitedRetryStrategy(AsyncRetryStrategy[OUT]):
    """Retries what two predicates select, so many times."""

    def __init__(
        self,
        max_attempts: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        self._max_attempts = _positive("max_attempts", max_attempts)
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """Return whether `current_attempts` is not beyond the greatest number of retries."""
        return current_attempts <= self._max_attempts

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return which results and exceptions to retry."""
        return self._predicate


class FixedDelayRetryStrategy(_LimitedRetryStrategy[OUT]):
    """Retries with the same delay before every attempt.

    Example:
        >>> FixedDelayRetryStrategy(3, 100, None, None).get_backoff_time_millis(1)
        100
    """

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        super().__init__(max_attempts, result_predicate, exception_predicate)
        self._backoff_time_millis = _positive("backoff_time_millis", backoff_time_millis)

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the delay in milliseconds."""
        return self._backoff_time_millis


class ExponentialBackoffDelayRetryStrategy(_LimitedRetryStrategy[OUT]):
    """Retries with a delay that is multiplied from one attempt to the next.

    Example:
        >>> growing = ExponentialBackoffDelayRetryStrategy(5, 100, 1_000, 2.0, None, None)
        >>> growing.get_backoff_time_millis(3)
        400
    """

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        super().__init__(max_attempts, result_predicate, exception_predicate)
        self._initial_delay = _positive("initial_delay", initial_delay)
        self._max_retry_delay = _positive("max_retry_delay", max_retry_delay)
        self._multiplier = _positive("multiplier", multiplier)

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the delay after `current_attempts`, in milliseconds."""
        delay = self._initial_delay
        for _ in range(current_attempts - 1):
            longer = int(min(delay * self._multiplier, self._max_retry_delay))
            if longer == delay:
                break
            delay = longer
        return delay


NO_RETRY_STRATEGY: AsyncRetryStrategy[Any] = NoRetryStrategy()
"""Never tries again."""


_Number = int | float
N = TypeVar("N", int, float)


def _positive(name: str, number: N) -> N:
    if isinstance(number, _Number) and number > 0:
        return number
    raise ArgumentError.here(
        f"{name} should be greater than zero.", hint=f"It is {number!r}; pass a number from 1."
    )
