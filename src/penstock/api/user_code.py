"""What users may pass where a function is expected: a callable or a function object."""

from __future__ import annotations

from typing import Any

from penstock.errors import ArgumentError, CallSite


def method_of(
    function: Any, base: type, method: str, operation: str, *, allow_callable: bool = True
) -> str | None:
    """Return the method to call on `function`, None if it is called directly.

    Args:
        function: What the user passed.
        base: The function class of the operation.
        method: Its method.
        operation: Name of the API method, for messages.
        allow_callable: Whether a plain callable will do.

    Raises:
        ArgumentError: `function` is neither; says what was probably meant.
    """
    if isinstance(function, base):
        return method
    forgotten = isinstance(function, type) and issubclass(function, base)
    if allow_callable and callable(function) and not forgotten:
        return None
    wanted = f"a {base.__name__}" + (" or a callable" if allow_callable else "")
    guess = (
        f"Did you forget the parentheses? Pass {function.__name__}() instead."
        if forgotten
        else f"Pass {wanted}."
    )
    raise ArgumentError(
        f"{operation} takes {wanted}, got {_named(function)}",
        hint=guess,
        origin=CallSite.of_caller(),
    )


def name_of(function: Any, operation: str) -> str:
    """Return a name for an operator: that of its function, or of the operation."""
    name = getattr(function, "__name__", None)
    if name is None:
        return type(function).__name__
    return operation if name == "<lambda>" else str(name)


def _named(function: Any) -> str:
    if isinstance(function, type):
        return f"the class {function.__name__}"
    return f"{function!r} of type {type(function).__name__}"
