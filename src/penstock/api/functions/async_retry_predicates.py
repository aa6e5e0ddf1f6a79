"""Ready-made functions for retry strategies."""

from __future__ import annotations

from typing import Any


def empty_result_predicate(result: list[Any]) -> bool:
    """Return whether a call gave no result."""
    return not result


def has_exception_predicate(error: Exception | None) -> bool:
    """Return whether a call raised."""
    return error is not None


def exception_type_predicate(
    error: Exception, expected_error_type: type[BaseException] | tuple[type[BaseException], ...]
) -> bool:
    """Return whether a call raised an exception of a type; bind it with `functools.partial`."""
    return isinstance(error, expected_error_type)
