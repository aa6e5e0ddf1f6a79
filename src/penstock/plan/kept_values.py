"""Whether a user function may keep, or use again, what it has returned.

FLIP-329 gives plain functions the default "keeps nothing" and rich ones "may keep", and
contradicts itself on the first (heading and listing). Here, in this order:

    an object that has `is_output_value_stored`     what that returns; True unless overridden,
                                                    because attributes and state outlive a call
    a class                                         keeps nothing: it makes new objects
    a function that can reach nothing changeable    keeps nothing: it has no place to keep it
    everything else                                 may keep

A function reaches its closure, its defaults, what it is bound to, and the globals it names; from
there the same of other functions. Modules, and functions of the standard library, are not looked
into. A predicate gives out nothing it reaches, so a collection of unchangeable values is no such
place for one that writes nothing.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from dis import Instruction, get_instructions
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from penstock.errors import UserCodeError
from penstock.types.copying import ATOMS

PROMISE = "is_output_value_stored"
"""The method by which a function object answers."""

_WRITES = frozenset({"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_ATTR", "DELETE_ATTR"})
_WRITING_METHODS = frozenset(
    {
        "__setitem__",
        "add",
        "append",
        "appendleft",
        "extend",
        "insert",
        "pop",
        "popitem",
        "setattr",
        "setdefault",
        "update",
    }
)
_HARMLESS: frozenset[type] = ATOMS | {re.Pattern, ModuleType}


@dataclass(frozen=True, slots=True)
class Kept:
    """The answer for one function.

    Attributes:
        stored: It may keep or use again what it has returned.
        reason: Why, to complete "because …".
    """

    stored: bool
    reason: str


def kept_by(function: Any, *, is_predicate: bool = False) -> Kept:
    """Return whether a user function may keep what it returned, or return what it keeps.

    Args:
        function: The function or object.
        is_predicate: It says whether to pass its argument on, and returns nothing of its own.

    Raises:
        UserCodeError: Its `is_output_value_stored` does not return a bool.
    """
    if not isinstance(function, type) and hasattr(function, PROMISE):
        return _said(function)
    place = _Search(is_predicate).place(function)
    if place is None:
        return Kept(stored=False, reason="the function has no place to keep a value")
    return Kept(stored=True, reason=f"the function reaches {place}, where a value may be kept")


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


class _Search:
    """Looks for a place where a function may keep values."""

    def __init__(self, is_predicate: bool) -> None:  # noqa: FBT001
        self._is_predicate = is_predicate
        self._seen: set[int] = set()
        self._looks: dict[type, Callable[[Any], str | None]] = {
            FunctionType: self._of_function,
            MethodType: lambda bound: self._first((bound.__self__, bound.__func__)),
            BuiltinFunctionType: lambda builtin: self.place(builtin.__self__),
            functools.partial: lambda made: self._first(
                (made.func, *made.args, *made.keywords.values())
            ),
            tuple: self._first,
            frozenset: self._first,
            MethodDescriptorType: lambda _: None,
        }

    def place(self, reached: Any) -> str | None:
        """Return what may hold a value among what can be reached; None if there is nothing."""
        kind = type(reached)
        if id(reached) in self._seen or kind in _HARMLESS or isinstance(reached, type):
            return None
        self._seen.add(id(reached))
        look = self._looks.get(kind)
        if look is not None:
            return look(reached)
        if is_dataclass(reached) and kind.__dataclass_params__.frozen:
            return self._first(getattr(reached, field.name) for field in fields(reached))
        return f"an object of {kind.__name__}"

    def _first(self, parts: Iterable[Any]) -> str | None:
        return next((found for part in parts if (found := self.place(part)) is not None), None)

    def _of_function(self, function: FunctionType) -> str | None:
        codes = list(_codes(function.__code__))
        steps = [step for code in codes for step in get_instructions(code)]
        operations = {step.opname for step in steps}
        if any(_rebinds(step, function) for step in steps):
            return "a variable around it that it sets"
        if function.__dict__.keys() - {"__wrapped__"}:
            return "attributes of its own"
        names = {name for code in codes for name in code.co_names}
        reached = _reached(function, names)
        sets_attributes = "STORE_ATTR" in operations
        if sets_attributes and any(isinstance(v, FunctionType) for v in reached.values()):
            return "attributes of a function"
        only_reads = not (operations & _WRITES or names & _WRITING_METHODS)
        for name, value in reached.items():
            if self._is_predicate and only_reads and _is_table(value):
                continue
            found = self.place(value)
            if found is not None:
                return repr(name) if found.startswith("an object") else found
        return None


def _rebinds(step: Instruction, function: FunctionType) -> bool:
    outer = function.__code__.co_freevars
    return step.opname == "STORE_GLOBAL" or (step.opname == "STORE_DEREF" and step.argval in outer)


def _reached(function: FunctionType, names: set[str]) -> dict[str, Any]:
    """Return what a function can get at, by what it calls it."""
    around = function.__globals__
    code = function.__code__
    is_ours = str(around.get("__name__")).partition(".")[0] not in sys.stdlib_module_names
    reached = {name: around[name] for name in sorted(names) if is_ours and name in around}
    reached |= dict(zip(code.co_freevars, _contents(function), strict=True))
    defaults = function.__defaults__ or ()
    last = code.co_varnames[: code.co_argcount][-len(defaults) :] if defaults else ()
    return reached | dict(zip(last, defaults, strict=True)) | (function.__kwdefaults__ or {})


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


def _is_table(value: Any) -> bool:
    """Return whether a value is a collection of unchangeable values, to look things up in."""
    if type(value) is dict:
        return ATOMS.issuperset(map(type, value.values()))
    return type(value) in {list, set} and ATOMS.issuperset(map(type, value))
