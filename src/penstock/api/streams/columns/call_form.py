"""Forms of the methods of columns, and the errors of calls of another form: Python would raise an error of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from penstock.errors import ArgumentError, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")


def called_as(form: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator of methods: a call whose arguments do not fit the signature is an `ArgumentError`.

    Args:
        form: A right call, for the hint.
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(method)
        known = tuple(signature.parameters)[1:]

        @wraps(method)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as refused:
                shown = [str(each) for each in args[1:]]
                shown += [f"{name}={value}" for name, value in kwargs.items()]
                meant = [did_you_mean(name, known) for name in kwargs if name not in known]
                raise ArgumentError.here(
                    f"{method.__name__} got ({', '.join(shown)}): {refused}{''.join(meant)}",
                    hint=f"Write {form}.",
                ) from None
            return method(*args, **kwargs)

        return checked

    return decorate
