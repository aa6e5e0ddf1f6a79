"""Whether a user function may keep, or use again, what it has returned.

FLIP-329 gives plain functions the default "keeps nothing" and rich ones "may keep", and contradicts
itself on the first (heading and listing). Here a function is believed that says so, by
`is_output_value_stored`; of every other one readers get copies of what can be changed. Code is not
looked into: a value may be kept behind any attribute of a module, a class or a record.

The function of a generator is another matter, because it is given a number. It makes all else itself
if it can reach nothing but values that nobody can change and functions of which the same holds.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from dis import get_instructions
from types import CodeType, FunctionType, MemberDescriptorType
from typing import Any

from penstock.errors import UserCodeError
from penstock.types.values.copying import ATOMS

PROMISE = "is_output_value_stored"
"""The method by which a function object answers."""

_ESCAPES = frozenset(
    {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME", "IMPORT_FROM"}
)
_PURE_BUILTINS = frozenset(
    {
        *(
            "abs",
            "all",
            "any",
            "bin",
            "bool",
            "bytes",
            "chr",
            "complex",
            "dict",
            "divmod",
            "enumerate",
        ),
        *(
            "filter",
            "float",
            "format",
            "frozenset",
            "hash",
            "hex",
            "int",
            "isinstance",
            "iter",
            "len",
        ),
        *("list", "map", "max", "min", "next", "oct", "ord", "pow", "range", "repr", "reversed"),
        *("round", "set", "slice", "sorted", "str", "sum", "tuple", "zip"),
    }
)
_OF_DATACLASSES = frozenset(
    {
        *("__init__", "__repr__", "__eq__", "__hash__", "__lt__", "__le__", "__gt__", "__ge__"),
        *("__setattr__", "__delattr__", "__getstate__", "__setstate__", "__replace__"),
    }
)
_PURE_CLASSES: frozenset[Any] = ATOMS - {type} | {dict, list, tuple, set, frozenset}


@dataclass(frozen=True, slots=True)
class Kept:
    """The answer for one function.

    Attributes:
        stored: It may keep or use again what it has returned.
        reason: Why, to complete "because …".
    """

    stored: bool
    reason: str


def kept_by(function: Any) -> Kept:
    """Return whether a user function may keep what it returned, or return what it keeps.

    Args:
        function: The function or object.

    Raises:
        UserCodeError: Its `is_output_value_stored` does not return a bool.
    """
    if not isinstance(function, type) and hasattr(function, PROMISE):
        return _said(function)
    return Kept(stored=True, reason="a function without a promise may keep what it has returned")


def kept_by_generator(function: Any) -> Kept:
    """Return whether a function of a number may keep what it returned, or return what it keeps.

    Raises:
        UserCodeError: Its `is_output_value_stored` does not return a bool.
    """
    if not hasattr(function, PROMISE) and _makes_anew(function, set()):
        return Kept(stored=False, reason="the function reaches nothing that can be changed")
    return kept_by(function)


def _said(function: Any) -> Kept:
    answer = getattr(function, PROMISE)()
    name = type(function).__name__
    if not isinstance(answer, bool):
        raise UserCodeError(
            f"{PROMISE} of {name} returned {answer!r}",
            hint="Return True if the function may use values again that it has emitted, else "
            "False.",
        )
    says = f"{PROMISE} of {name} is {answer}"
    return Kept(stored=answer, reason=says)


def _makes_anew(reached: Any, seen: set[int]) -> bool:
    """Return whether nothing that can be changed is behind a value."""
    kind = type(reached)
    if id(reached) in seen or (kind in ATOMS and kind is not type):
        return True
    seen.add(id(reached))
    if kind is type:
        return reached in _PURE_CLASSES
    if kind is FunctionType:
        return _is_closed(reached, seen)
    if kind in {tuple, frozenset}:
        return _all_anew(reached, seen)
    if is_dataclass(reached) and kind.__dataclass_params__.frozen:
        parts = [getattr(reached, field.name) for field in fields(reached)]
        return _all_anew([*parts, *_of_class(kind)], seen)
    return False


def _all_anew(parts: Iterable[Any], seen: set[int]) -> bool:
    return all(_makes_anew(part, seen) for part in parts)


def _of_class(kind: type) -> list[Any]:
    """Return what an object can get at through its class, but for what `dataclass` puts there."""
    of_classes = [vars(each).items() for each in kind.__mro__ if each is not object]
    return [
        value
        for items in of_classes
        for name, value in items
        if name not in _OF_DATACLASSES
        and type(value) is not MemberDescriptorType
        and (type(value) is FunctionType or not name.startswith("__"))
    ]


def _is_closed(function: FunctionType, seen: set[int]) -> bool:
    codes = list(_codes(function.__code__))
    outer = function.__code__.co_freevars
    for step in (step for code in codes for step in get_instructions(code)):
        rebinds = step.opname in {"STORE_DEREF", "DELETE_DEREF"} and step.argval in outer
        if step.opname in _ESCAPES or rebinds:
            return False
    names = {name for code in codes for name in code.co_names}
    around = function.__globals__
    unknown = names & vars(builtins).keys() - around.keys() - _PURE_BUILTINS
    if function.__dict__ or unknown or any(name.startswith("__") for name in names):
        return False
    reached = [around[name] for name in sorted(names) if name in around]
    reached += [*_contents(function), *(function.__defaults__ or ())]
    return _all_anew([*reached, *(function.__kwdefaults__ or {}).values()], seen)


def _contents(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            yield cell


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
