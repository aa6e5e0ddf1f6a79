"""`AsyncFunction`: makes an asynchronous call for each record, many at a time."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic

from penstock.api.functions.function_classes import Function
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
