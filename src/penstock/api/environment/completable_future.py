"""The future that requests for savepoints return, shaped like PyFlink's `CompletableFuture`."""

from __future__ import annotations

from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Generic, TypeVar

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
        made = cls()
        made.set_result(result)
        return made

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
