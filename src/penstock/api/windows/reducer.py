"""A callable as a function object."""

from __future__ import annotations

from typing import Any

from penstock.api.functions.function_classes import ReduceFunction


def as_reduce_function(function: Any) -> ReduceFunction[Any]:
    """Return a callable of two values as a function object of the same name."""
    return _Reducer(function)


class _Reducer(ReduceFunction):
    """A callable as a `ReduceFunction`."""

    def __init__(self, function: Any) -> None:
        self.reduce = function  # type: ignore[method-assign]
        self.__name__ = getattr(function, "__name__", "<lambda>")

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Never called: replaced by the callable."""
        raise AssertionError
