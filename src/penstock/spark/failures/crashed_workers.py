"""Python workers that ended without an exception: crashes of extension modules, and processes that exit.

Python's fault handler, which our sessions switch on, writes the frames of a crash, the innermost first:

    Python worker exited unexpectedly (crashed): Fatal Python error: Segmentation fault

    Current thread 0x00007f… (most recent call first):
      File "/jobs/job.py", line 12 in parse

It has lines and names of functions, so the operator is found by the code of the program that its function can reach.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from penstock.errors import CallSite, JobFailedError, PenstockError
from penstock.plan.physical import PhysicalPlan
from penstock.user_failure import is_of_program

_CRASHED = re.compile(r"Python worker exited unexpectedly \(crashed\)")
_FATAL = re.compile(r"Fatal Python error: ([^\n]+)")
_DEPTH = 10
"""Steps from an operator to a function that it calls: through wrappers, closures and objects."""

_FRAME = re.compile(r'^\s*File "([^"\n]+)", line (\d+) in (\S+)', re.MULTILINE)


def crashed_worker(text: str, doing: str) -> JobFailedError | None:
    """Return our error about a Python worker that ended, None for any other failure."""
    crashed = _CRASHED.search(text)
    if crashed is None:
        return None
    dump = text[crashed.end() :]
    fatal = _FATAL.search(dump)
    if fatal is None:
        return JobFailedError(
            f"{doing} failed: the process of a Python worker has ended, without an exception",
            hint="Find the library that ends it, or what has killed it: the system's log names "
            "processes that were killed for lack of memory, and fewer tasks at once (parallelism.default) need less.",
        )
    site = next(iter(_frames(dump)), None)
    return JobFailedError(
        f"{doing} failed: a Python worker has crashed: {fatal[1]}",
        hint="Correct the function, or the extension module that it calls.",
        origin=site,
    )


def with_operators(failure: PenstockError, text: str, plan: PhysicalPlan) -> PenstockError:
    """Return an error, which names the operators whose function the worker of a text has crashed in."""
    crashed = _CRASHED.search(text)
    if crashed is not None and isinstance(failure, JobFailedError):
        for frame in reversed(
            _frames(text[crashed.end() :])
        ):  # what the engine has called comes first
            callers = [words for words, parts in _callables(plan) if _is_in(frame, parts)]
            if callers:
                failure.problem += f" (in {' or '.join(callers)})"
                break
    return failure


def _frames(dump: str) -> list[CallSite]:
    """Return the frames of the program, the innermost first."""
    frames = (CallSite(file, int(line), name) for file, line, name in _FRAME.findall(dump))
    return [frame for frame in frames if is_of_program(frame.filename)]


def _callables(plan: PhysicalPlan) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the words for each operator, source and sink, and what has its functions."""
    for op in (op for level in plan.levels for op in level.operators):
        of_time = () if op.timestamps is None else (op.timestamps,)
        callables = (op.function, *op.key_selectors, *of_time, op.window, op.async_io, op.batches)
        yield f"operator {op.name!r}", (*callables, op.interval, op.join)
    for source in plan.sources:
        yield f"source {source.name!r}", source.parts
    for sink in plan.sinks:
        yield f"sink {sink.name!r}", (sink.sink,)


def _is_in(frame: CallSite, parts: tuple[Any, ...]) -> bool:
    return any(
        (code.co_filename, code.co_name) == (frame.filename, frame.function)
        and frame.lineno in {line for *_, line in code.co_lines()}
        for code in _codes(parts, set())
    )


def _codes(value: Any, seen: set[int], depth: int = _DEPTH) -> Iterator[CodeType]:
    """Yield the code of the program that a value refers to: functions, methods, and what they are made of."""
    if not depth or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, CodeType) and is_of_program(value.co_filename):
        yield value
    for part in _parts(value):
        yield from _codes(part, seen, depth - 1)


def _parts(value: Any) -> Iterable[Any]:
    for kind, parts in _PARTS.items():
        if isinstance(value, kind):
            return parts(value)
    kinds = type(value).__mro__[:-1]
    members = [member for kind in kinds for member in vars(kind).values()]
    slots = [name for kind in kinds for name in getattr(kind, "__slots__", ())]
    return (
        *(member for member in members if isinstance(member, FunctionType)),
        *getattr(value, "__dict__", {}).values(),
        *(getattr(value, name, None) for name in slots),
    )


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


_PARTS: dict[type | tuple[type, ...], Callable[[Any], Iterable[Any]]] = {
    CodeType: lambda code: code.co_consts,
    FunctionType: lambda function: (function.__code__, *map(_content, function.__closure__ or ())),
    MethodType: lambda method: (method.__func__, method.__self__),
    partial: lambda call: (call.func, *call.args),
    tuple: iter,
    (type, ModuleType): lambda _: (),
}
"""Class of objects to what they refer to; of others it is their methods and fields."""
