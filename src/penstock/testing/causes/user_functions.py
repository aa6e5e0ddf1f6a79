"""The user's functions of an operator: entry points by node, and the objects that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, auto
from functools import partial
from inspect import getattr_static
from types import FunctionType, MethodType
from typing import Any

from penstock.graph.endpoints import Sink, Source
from penstock.graph.logical import Node
from penstock.program.window_operation import WindowSpec
from penstock.types import TypeInformation
from penstock.user_failure import is_of_program


class Use(Enum):
    """Calls of a function by the runtime."""

    RECORDS = auto()
    """Per record, timer or window."""

    FOLD = auto()
    """Per record, to combine it with those before."""

    KEY = auto()
    """Per record, for its key."""

    SETUP = auto()
    """Once per task."""

    ENDPOINT = auto()
    """By a source, a sink or a generator of watermarks, whose attributes may change."""


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A function of the program, and the calls of it.

    Attributes:
        owner: The object or class whose method it is; None for a plain function.
        use: Calls by the runtime.
        is_root: Whether the runtime calls it, and not another function of the program.
        may_keep: Whether its object may keep values between calls.
    """

    function: FunctionType
    owner: Any
    use: Use
    is_root: bool = True
    may_keep: bool = False

    @property
    def title(self) -> str:
        """The name for messages."""
        name = self.function.__qualname__.rpartition("<locals>.")[2]
        return "a lambda" if name == "<lambda>" else name


_PARTS: tuple[tuple[str, Use], ...] = (
    ("key_selector", Use.KEY),
    ("partitioning", Use.KEY),
    ("window", Use.RECORDS),
    ("function", Use.RECORDS),
    ("batches", Use.RECORDS),
    ("interval", Use.RECORDS),
    ("join", Use.RECORDS),
    ("async_io", Use.ENDPOINT),
    ("watermarking", Use.ENDPOINT),
    ("source", Use.ENDPOINT),
    ("sink", Use.ENDPOINT),
)
"""Attributes of a node that hold functions."""

SETUP_METHODS = frozenset(
    {
        "__init__",
        "__new__",
        "__post_init__",
        "__setstate__",
        "__getstate__",
        "__reduce__",
        "open",
        "close",
    }
)
"""Methods that no record leads to."""

_CALLED = "__call__"
_SHORT = 100
"""Most elements of a container that may hold functions; longer ones hold records."""


def functions_of(node: Node) -> Iterator[UserFunction]:
    """Yield the functions of a node that the runtime calls."""
    known: set[int] = set()
    for name, use in _PARTS:
        value = getattr(node, name)
        is_function = name == "function"
        is_fold = is_function and node.kind.emit is not None and node.window is None
        method = node.method if is_function else None
        yield from _functions(value, Use.FOLD if is_fold else use, method, known)


def _functions(value: Any, use: Use, method: str | None, known: set[int]) -> Iterator[UserFunction]:
    """Yield the functions that a value is, has or refers to."""
    if value is None or id(value) in known or isinstance(value, (str, bytes, int, float)):
        return
    known.add(id(value))
    if isinstance(value, WindowSpec):
        yield from _functions(value.fold_function, Use.FOLD, None, known)
    if isinstance(value, FunctionType):
        yield from _of_function(value, use, known)
    elif isinstance(value, MethodType):
        yield UserFunction(value.__func__, value.__self__, use)  # type: ignore[arg-type]
    elif isinstance(value, partial):
        parts = (value.func, *value.args, *value.keywords.values())
        yield from (user for part in parts for user in _functions(part, use, None, known))
    elif function_of(value) is not None:  # below a decorator in C, such as a cache
        yield from _functions(function_of(value), use, None, known)
    elif is_of_users_class(value):
        yield from _of_object(value, use, method, known)
    else:
        yield from (
            user for part in _parts_of(value) for user in _functions(part, use, method, known)
        )


def _of_function(value: FunctionType, use: Use, known: set[int]) -> Iterator[UserFunction]:
    if is_users(value):
        yield UserFunction(value, None, use)
        yield from _functions(function_of(value), use, None, known)
        return
    for cell in value.__closure__ or ():  # a wrapper of ours around a function of the program
        try:
            yield from _functions(cell.cell_contents, use, None, known)
        except ValueError:  # not filled
            continue


def _of_object(value: Any, use: Use, method: str | None, known: set[int]) -> Iterator[UserFunction]:
    cls = value if isinstance(value, type) else type(value)
    if issubclass(cls, Source):  # it reads what is outside, at positions that the job records
        return
    if issubclass(cls, Sink):
        use = Use.ENDPOINT
    may_keep = use is Use.ENDPOINT
    for name, function in methods_of(cls).items():
        if name in SETUP_METHODS:
            yield UserFunction(function, value, Use.SETUP, may_keep=may_keep)
        elif name in {method, _CALLED} or _is_declared(cls, name):
            yield UserFunction(function, value, use, may_keep=may_keep)
    if not isinstance(value, type):
        for part in getattr(value, "__dict__", {}).values():
            if callable(part) and not isinstance(part, type):
                yield from _functions(part, use, None, known)


def methods_of(cls: type) -> dict[str, FunctionType]:
    """Return the methods of a class that the program defines, inherited ones included."""
    methods: dict[str, FunctionType] = {}
    for base in cls.__mro__:
        if not _is_users_class(base):
            continue
        for name, member in vars(base).items():
            function = function_of(member)
            if function is not None and is_users(function):
                methods.setdefault(name, function)
    return methods


def function_of(member: Any) -> FunctionType | None:
    """Return the function of a member of a class, below decorators; None for other members."""
    if isinstance(member, (staticmethod, classmethod)):
        member = member.__func__
    if isinstance(member, property):
        member = member.fget
    if isinstance(member, partial):
        member = member.func
    known: set[int] = set()
    while id(member) not in known:
        known.add(id(member))
        # The object's own attribute: an expression of columns has every one.
        member = getattr_static(member, "__wrapped__", member)
    return member if isinstance(member, FunctionType) else None


def is_users(function: Callable[..., Any]) -> bool:
    """Return whether the program defines a function."""
    code = getattr(function, "__code__", None)
    return code is not None and is_of_program(code.co_filename) and code.co_filename != "<string>"


def is_of_users_class(value: Any) -> bool:
    """Return whether a value is a class that the program defines, or an object of one."""
    return _is_users_class(value if isinstance(value, type) else type(value))


def _is_users_class(cls: type) -> bool:
    functions = (function_of(member) for member in vars(cls).values())
    return any(function is not None and is_users(function) for function in functions)


def _is_declared(cls: type, name: str) -> bool:
    """Return whether a class of a library declares a method, so that the library calls it."""
    bases = (base for base in cls.__mro__ if base is not object and not _is_users_class(base))
    return any(name in vars(base) for base in bases)


def _parts_of(value: Any) -> Iterator[Any]:
    """Yield what an object of the package, or a short container, has."""
    if isinstance(value, (tuple, list)):
        yield from value if len(value) <= _SHORT else ()
    elif isinstance(value, dict):
        yield from value.values() if len(value) <= _SHORT else ()
    elif isinstance(value, TypeInformation) or not type(value).__module__.startswith("penstock."):
        return
    elif is_dataclass(value) and not isinstance(value, type):
        yield from (getattr(value, field.name) for field in fields(value))
    else:
        yield from getattr(value, "__dict__", {}).values()
        slots = getattr_static(type(value), "__slots__", ())
        yield from (
            getattr(value, slot, None) for slot in ((slots,) if isinstance(slots, str) else slots)
        )
