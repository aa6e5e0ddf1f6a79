"""Accepted forms of a function: a callable or a function object."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from penstock.errors import ArgumentError, did_you_mean
from penstock.program.fold import Promises
from penstock.types import TypeInformation, Types
from penstock.types.infer import enforced


def method_of(
    function: Any,
    base: type,
    method: str,
    operation: str,
    *,
    allow_callable: bool = True,
    hints: Mapping[type, str] | None = None,
) -> str | None:
    """Return the method to call on `function`, None if it is called directly."""
    if isinstance(function, base):
        return method
    forgotten = isinstance(function, type) and issubclass(function, base)
    if allow_callable and callable(function) and not forgotten:
        return None
    required = f"a {base.__name__}" + (" or a callable" if allow_callable else "")
    meant = (hint for other, hint in (hints or {}).items() if isinstance(function, other))
    guess = (
        f"Did you forget the parentheses? Pass {function.__name__}() instead."
        if forgotten
        else next(meant, f"Pass {required}{_as_selector(function, method)}.")
    )
    raise ArgumentError.here(f"{operation} takes {required}, got {_named(function)}", hint=guess)


def _as_selector(function: Any, method: str) -> str:
    """Return the selector that was meant where the name or position of a field was passed."""
    if method != "get_key" or not isinstance(function, str | int):
        return ""
    named = isinstance(function, str) and function.isidentifier()
    return f", such as lambda row: row{f'.{function}' if named else f'[{function!r}]'}"


def bound_method(function: Any, base: type, method: str, operation: str) -> Any:
    """Return a callable: `function` itself, or its method."""
    name = method_of(function, base, method, operation)
    return getattr(function, name) if name else function


def checked_type(type_info: TypeInformation | None, operation: str) -> TypeInformation:
    """Return the declared type, `PICKLED_BYTE_ARRAY` if there is none or it was inferred."""
    if type_info is None:
        return Types.PICKLED_BYTE_ARRAY()
    if isinstance(type_info, TypeInformation):
        return enforced(type_info)
    raise ArgumentError.here(
        f"{operation} got {_named(type_info)} as a type",
        hint="Call a factory of Types, with its parentheses: Types.INT().",
    )


def checked_label(label: str, operation: str) -> str:
    """Return a name or uid."""
    if isinstance(label, str) and label.strip():
        return label
    raise ArgumentError.here(f"{operation} got {label!r}", hint="Pass a string that is not blank.")


def name_of(function: Any, operation: str) -> str:
    """Return a name for an operator: that of its function, or of the operation."""
    name = getattr(function, "__name__", None)
    if name is None:
        return type(function).__name__
    return operation if name == "<lambda>" else str(name)


def promises_of(operation: str, **promised: bool) -> Promises:
    """Return the promises about a function that folds."""
    for law, is_promised in promised.items():
        if not isinstance(is_promised, bool):
            raise ArgumentError.here(
                f"{operation} got {law}={is_promised!r}", hint="Pass True or False."
            )
    words = {
        law: f"{operation} was called with {law}=True"
        for law, is_promised in promised.items()
        if is_promised
    }
    return Promises(**words)


def _named(function: Any) -> str:
    if isinstance(function, type):
        return f"the class {function.__name__}"
    return f"{function!r} of type {type(function).__name__}"


P = ParamSpec("P")
R = TypeVar("R")


def called_as(form: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator of methods: a call whose arguments do not fit the signature is an `ArgumentError`."""

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(method)
        known = tuple(signature.parameters)[1:]

        @wraps(method)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as refused:
                shown = [str(argument) for argument in args[1:]]
                shown += [f"{name}={value}" for name, value in kwargs.items()]
                meant = [did_you_mean(name, known) for name in kwargs if name not in known]
                raise ArgumentError.here(
                    f"{method.__name__} got ({', '.join(shown)}): {refused}{''.join(meant)}",
                    hint=f"Write {form}.",
                ) from None
            return method(*args, **kwargs)

        return checked

    return decorate
