"""Closes everything that is open, also if some of it fails to."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def close_all(closes: Iterable[Callable[[], None]]) -> None:
    """Call every function; raise the first failure when all were called.

    Raises:
        BaseException: One of them raised it; later ones are its notes.

    Example:
        >>> closed = []
        >>> close_all([lambda: closed.append(1), lambda: closed.append(2)])
        >>> closed
        [1, 2]
    """
    first: BaseException | None = None
    for close in closes:
        try:
            close()
        except BaseException as error:  # noqa: BLE001 - raised below
            if first is None:
                first = error
            else:
                _note(first, error)
    if first is not None:
        raise first


def close_after(error: BaseException, closes: Iterable[Callable[[], None]]) -> None:
    """Call every function after a failure, which stays the one that is raised."""
    try:
        close_all(closes)
    except Exception as second:  # noqa: BLE001 - it is told with the first
        _note(error, second)


def _note(error: BaseException, second: BaseException) -> None:
    error.add_note(f"Closing after this failed as well: {second}")
