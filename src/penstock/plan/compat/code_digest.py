"""A digest of the code of a job's functions. It is equal for the same program in every process.

A digest of pickles would differ: cloudpickle names the classes of a script anew in every process, and sets have no
order. So the digest covers the code (instructions, constants, names) of functions, of methods of objects and of the
functions that these name, and plain values in closures and attributes. It does not cover code of libraries or of this
package, so different programs may have equal digests; the digest only decides whether a check is made.
"""

from __future__ import annotations

import hashlib
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from penstock.plan.physical import PhysicalPlan
from penstock.types.values.kinds import slot_names

_PLAIN = (int, float, complex, str, bytes, bool, type(None))
_LIBRARIES = (
    *{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")},
    # The digest must not depend on where the package is installed; walking through it would cost time.
    str(Path(__file__).parents[2]),
)
_DIGEST_BYTES = 7  # fits in a signed 64-bit integer


def code_digest(plan: PhysicalPlan) -> int:
    """Return the digest of the functions and key selectors of all operators."""
    found = hashlib.sha256()
    for level in plan.levels:
        for op in level.operators:
            for text in _texts((op.function, op.key_selectors, op.timestamps, op.window)):
                found.update(text.encode("utf-8", "surrogatepass"))
    return int.from_bytes(found.digest()[:_DIGEST_BYTES], "big")


def _texts(root: Any) -> Iterator[str]:
    # Temporary objects stay referenced, so that no later object gets the `id` of a visited one.
    waiting: list[Any] = [root]
    seen: dict[int, Any] = {}
    while waiting:
        value = waiting.pop()
        if isinstance(value, _PLAIN):
            yield f"{type(value).__name__} {value!r};"
            continue
        # Equal tuples may be one object in one process and several in another, so all are digested.
        if not isinstance(value, (tuple, CodeType)):
            if id(value) in seen:
                continue
            seen[id(value)] = value
        yield f"{type(value).__qualname__};"
        waiting += _parts(value)


def _parts(value: Any) -> Iterable[Any]:
    for kind, parts in _PARTS.items():
        if isinstance(value, kind):
            return parts(value)
    members = getattr(value, "__dict__", None) or {}
    slots = (getattr(value, name, None) for name in slot_names(type(value)))
    return (type(value), *(members[name] for name in sorted(members)), *slots)


def _of_function(function: FunctionType) -> Iterable[Any]:
    code = function.__code__
    if code.co_filename.startswith(_LIBRARIES):
        return (function.__module__, function.__qualname__)
    cells = [_content(cell) for cell in function.__closure__ or ()]
    named = [function.__globals__[n] for n in _names(code) if n in function.__globals__]
    of_modules = [
        getattr(module, name)
        for module in named
        if isinstance(module, ModuleType)
        for name in _names(code)
        if isinstance(vars(module).get(name), FunctionType)
    ]
    called = [each for each in (*named, *of_modules) if isinstance(each, (FunctionType, type))]
    return (code, function.__defaults__ or (), *cells, *called)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)


def _is_of_a_library(cls: type) -> bool:
    if cls.__module__ in sys.builtin_module_names:
        return True
    path: str | None = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return path is not None and path.startswith(_LIBRARIES)


def _of_class(cls: type) -> Iterable[Any]:
    own = [base for base in cls.__mro__ if not _is_of_a_library(base)]
    members = [vars(base)[name] for base in own for name in sorted(vars(base))]
    bare = [getattr(member, "__func__", member) for member in members]
    return (cls.__qualname__, *(each for each in bare if isinstance(each, FunctionType)))


_PARTS: dict[type, Callable[[Any], Iterable[Any]]] = {
    tuple: tuple,
    list: tuple,
    MethodType: lambda method: (method.__func__, method.__self__),
    CodeType: lambda code: (code.co_code, code.co_names, code.co_consts),
    FunctionType: _of_function,
    type: _of_class,
    ModuleType: lambda module: (module.__name__,),
    BuiltinFunctionType: lambda function: (function.__qualname__,),
}
"""Class of objects to the components that are digested; for others these are class and attributes."""
