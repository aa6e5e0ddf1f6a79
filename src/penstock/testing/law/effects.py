"""Calls of a program to the outside: refused while it is checked, unless a stub takes the place of the function."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from sysconfig import get_paths
from types import FrameType, FunctionType
from typing import Any

from penstock.errors import ArgumentError, CallSite, EffectError, PenstockError, did_you_mean

_CALLS = frozenset(
    {
        *("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"),
        *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn"),
        *("urllib.Request", "http.client.connect", "ftplib.connect", "smtplib.connect"),
    }
)
"""Events that Python audits. Libraries whose C code opens sockets itself raise none."""

_NOT_OF_USER = (*{get_paths()[name] for name in ("stdlib", "purelib", "platlib")},)
_PACKAGE = __name__.partition(".")[0]


_open: list[tuple[list[EffectError], frozenset[threading.Thread]]] = []
"""Refusals of each context, and the threads that ran before it began."""
_has_hook = False


@contextmanager
def without_effects() -> Iterator[None]:
    """Refuse calls to the outside in the context, also if the program takes the refusal for a failure of its own."""
    global _has_hook  # noqa: PLW0603 - Python removes no hook
    if not _has_hook:
        sys.addaudithook(_refuse)
        _has_hook = True
    refused: list[EffectError] = []
    _open.append((refused, frozenset(threading.enumerate()) - {threading.current_thread()}))
    try:
        yield
    except PenstockError as failure:
        if refused:
            raise refused[0] from failure
        raise
    finally:
        _open.pop()
    if refused:
        raise refused[0]


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if not _open or event not in _CALLS:
        return
    del arguments  # they may have secrets
    refused, others = _open[-1]
    frame = _frame_of_user(sys._getframe(1))
    # Such as a thread of a Spark session, which is not the program's.
    if frame is None and threading.current_thread() in others:
        return
    name, origin = "a function", None
    if frame is not None:
        code, module = frame.f_code, str(frame.f_globals.get("__name__"))
        name = code.co_qualname if module == "__main__" else f"{module}.{code.co_qualname}"
        origin = CallSite(code.co_filename, frame.f_lineno, code.co_name)
    can_be_named = frame is not None and "<" not in name
    error = EffectError(
        f"{name!r} calls outside ({event}), which a check would repeat hundreds of times",
        hint=f"Give it a result: penstock check --stub {name}=VALUE; in a test, replace it by another function."
        if can_be_named
        else "Move the call into a function of a module, and give it a result: penstock check --stub NAME=VALUE.",
        origin=origin,
    )
    refused.append(error)
    raise error


def _frame_of_user(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the program's own code."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        file = frame.f_code.co_filename
        if module.partition(".")[0] != _PACKAGE and not file.startswith((*_NOT_OF_USER, "<")):
            return frame
        frame = frame.f_back
    return None


def parse_stubs(texts: Sequence[str] | None) -> dict[str, Any]:
    """Return name to value of texts such as `lookup={"city": "Rome"}`; what is no JSON is a text.

    Example:
        >>> parse_stubs(["rate=1.5", "city=Rome"])
        {'rate': 1.5, 'city': 'Rome'}
    """
    stubs: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ArgumentError(
                f"the stub {text!r} is not of the form NAME=VALUE", hint="Write --stub lookup=1.5."
            )
        try:
            stubs[name] = json.loads(value)
        except ValueError:
            stubs[name] = value
    return stubs


@contextmanager
def stubbed(values: Mapping[str, Any]) -> Iterator[None]:
    """Let functions return values in the context, wherever the program refers to them.

    A name is one of the script, such as `lookup` or `Enrich.map`, or begins with a module.
    """
    restored: list[Callable[[], None]] = []
    try:
        for name, value in values.items():
            restored.append(_stub(name, value))
        yield
    finally:
        for restore in reversed(restored):
            restore()


def _stub(name: str, value: Any) -> Callable[[], None]:
    owner, attribute = _owner_of(name)
    function = getattr(owner, attribute)
    if not isinstance(function, FunctionType):
        setattr(owner, attribute, lambda *_, **__: value)
        return lambda: setattr(owner, attribute, function)
    # The function itself changes: streams and modules refer to it by other ways than its name.
    former = function.__code__, function.__defaults__, function.__kwdefaults__
    try:
        function.__code__ = _returning.__code__
    except ValueError as cause:
        raise ArgumentError(
            f"{name!r} cannot be stubbed: it uses variables of a function around it",
            hint="Stub the function that it calls.",
        ) from cause
    function.__defaults__, function.__kwdefaults__ = None, {"penstock_value": value}

    def restore() -> None:
        function.__code__, function.__defaults__, function.__kwdefaults__ = former

    return restore


def _returning(*_: Any, penstock_value: Any, **__: Any) -> Any:
    return penstock_value


def _owner_of(name: str) -> tuple[Any, str]:
    """Return the module or class that has a function, and the name of its attribute."""
    *path, attribute = name.split(".")
    main = sys.modules["__main__"]
    if path and not hasattr(main, path[0]):
        try:
            owner = import_module(path[0])
        except ImportError as cause:
            raise _no_function(name, path[0], tuple(vars(main))) from cause
        path = path[1:]
    else:
        owner = main
    for part in path:
        owner = getattr(owner, part, None) or _imported(owner, part)
    if not callable(getattr(owner, attribute, None)):
        raise _no_function(name, attribute, tuple(vars(owner)))
    return owner, attribute


def _imported(owner: Any, part: str) -> Any:
    name = f"{getattr(owner, '__name__', '')}.{part}"
    try:
        return import_module(name)
    except ImportError as cause:
        raise _no_function(name, part, tuple(vars(owner))) from cause


def _no_function(name: str, part: str, known: Sequence[str]) -> ArgumentError:
    return ArgumentError(
        f"there is no function {name!r} to stub{did_you_mean(part, tuple(known))}",
        hint="Name a function of the program, or of a module, such as requests.get.",
    )
