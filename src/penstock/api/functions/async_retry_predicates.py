"""Predicates for retry strategies."""

from __future__ import annotations

from typing import Any


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
