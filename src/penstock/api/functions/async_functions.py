"""`AsyncFunction`: user code that waits for something else, many records at a time."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic

from penstock.api.functions.function_classes import Function
from penstock.types.type_parameters import IN, OUT


class AsyncFunction(Function, Generic[IN, OUT]):
    """A coroutine per record; those of many records run side by side in one event loop.

    The event loop has a thread of its own and lasts as long as the function object, so what
    coroutines share (a session, a client) stays usable. `open` and `close` are called outside
    of it. A coroutine that blocks (`time.sleep`, a client without `await`) blocks all others.
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """Return the list of results for `value`; an empty list is no result.

        After a failure of the job it may be called again for the same record.
        """

    def timeout(self, value: IN) -> list[OUT]:
        """Return the list of results for a record whose time is over.

        Its coroutine has been cancelled. Unless overridden:

        Raises:
            TimeoutError: Always, which ends the job.
        """
        raise TimeoutError(f"Async function call has timed out for input: {value}")
