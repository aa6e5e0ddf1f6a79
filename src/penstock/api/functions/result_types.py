"""The type of what an operator gives: declared by the user, else read from annotations.

An inferred type is only a description: see `InferredTypeInfo`. So an annotation that cannot be
read, or is wrong, never keeps a program from running.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from penstock.api.functions.two_input_functions import FlatJoinFunction
from penstock.api.user_code import checked_type
from penstock.types import TypeInformation, Types
from penstock.types.infer import InferredTypeInfo, type_of_annotation, type_of_elements
from penstock.types.type_parameters import OUT

_ONE_RESULT = frozenset({"map", "map1", "map2", "reduce", "get_result", "join"})
"""Methods that return a result; all others return many."""

_EMITTING: dict[str, tuple[str, ...]] = {
    "map1": ("map1", "map2"),
    "flat_map1": ("flat_map1", "flat_map2"),
    "process_element": ("process_element", "process_broadcast_element", "on_timer"),
    "process_element1": ("process_element1", "process_element2", "on_timer"),
}
"""Method of a function to all of its methods that give results; by default only itself."""

_OURS = "penstock.api."


def result_type(
    function: Any, method: str | None, operation: str, output_type: TypeInformation | None
) -> TypeInformation:
    """Return the type of the results of an operator."""
    if isinstance(output_type, InferredTypeInfo):
        return output_type
    if output_type is not None:
        return checked_type(output_type, operation)
    inferred = inferred_type(function, method, operation)
    return Types.PICKLED_BYTE_ARRAY() if inferred is None else InferredTypeInfo(inferred)


def inferred_type(function: Any, method: str | None, operation: str) -> TypeInformation | None:
    """Return the type that the annotations of a function describe, None if they describe none.

    If several methods of an object give results, those it overrides have to agree. A method
    without annotation counts as its class: `MapFunction[int, str]` gives strings.
    """
    try:
        if method is None:
            return _read(_returned(function), one=operation in _ONE_RESULT)
        types = [
            _of_method(function, name)
            for name in _EMITTING.get(method, (method,))
            if _is_overridden(function, name)
        ]
    except Exception:  # noqa: BLE001 - an annotation may be any expression, and do anything
        return None
    agree = bool(types) and all(other == types[0] for other in types)
    return types[0] if agree else None


def _of_method(function: Any, name: str) -> TypeInformation | None:
    annotation = _returned(getattr(function, name))
    if annotation is None:
        return _of_class(type(function))
    is_flat = isinstance(function, FlatJoinFunction)
    return _read(annotation, one=name in _ONE_RESULT and not is_flat)


def _of_class(cls: type) -> TypeInformation | None:
    """Return the type that a generic function class was given for its results."""
    for base in _generic_bases(cls):
        origin = typing.get_origin(base)
        parameters = getattr(origin, "__parameters__", ())
        if getattr(origin, "__module__", "").startswith(_OURS) and OUT in parameters:
            return type_of_annotation(typing.get_args(base)[parameters.index(OUT)])
    return None


def _generic_bases(cls: type) -> Iterator[Any]:
    for part in cls.__mro__:
        yield from part.__dict__.get("__orig_bases__", ())


def _is_overridden(function: Any, name: str) -> bool:
    attribute = getattr(function, name, None)
    return attribute is not None and not getattr(attribute, "__module__", "").startswith(_OURS)


def _read(annotation: Any, *, one: bool) -> TypeInformation | None:
    return type_of_annotation(annotation) if one else type_of_elements(annotation)


def _returned(function: Any) -> Any:
    """Return the annotation of what a callable returns, None if there is none."""
    if isinstance(function, functools.partial):
        return _returned(function.func)
    if isinstance(function, type):
        return function  # calling a class gives its instances
    if not inspect.isroutine(function):
        return _returned(type(function).__call__)
    plain: Callable[..., Any] = inspect.unwrap(function)
    annotation = getattr(plain, "__annotations__", {}).get("return")
    # Only this annotation: those of the arguments may name what exists for type checkers alone.
    names = {"return": annotation}
    hints = typing.get_type_hints(
        SimpleNamespace(__annotations__=names), getattr(plain, "__globals__", {})
    )
    return None if annotation is None else hints["return"]
