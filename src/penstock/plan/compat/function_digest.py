"""Digests of the functions of operators by uid: equal for the same program in every process, another one if it changed.

A pickle would not do: cloudpickle names the classes of a script anew in every process, and sets have no order. So a
digest covers what functions consist of:

    function          its instructions; the values of its closure, of its defaults and of the globals that it names; of modules
                      of the program the members that it names
    class             its methods, properties and attributes, and those of its bases
    object            its class, and its state as `pickle` would save it
    set, dict         their elements, in the order of their digests

For libraries, this package among them, only names count. Lines, comments, docstrings and annotations do not count. The
digest does not cover imports inside a running function, the contents of files, and other outside data. Instructions
are compared without their line numbers.
"""

from __future__ import annotations

import copyreg
import dis
import sys
import sysconfig
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from penstock.errors import CallSite
from penstock.plan.phases.generated_uids import source_names, stamped_source
from penstock.plan.physical import PhysicalPlan
from penstock.program.channel import SINK_LEVEL
from penstock.program.level import OperatorSpec
from penstock.program.operators import SOURCE
from penstock.version import __version__


def source_uids(plan: PhysicalPlan) -> dict[int, str]:
    """Return source id to uid: the user's, else name and position among equal names."""
    names = source_names(plan.graph)
    return {node.id: node.uid or names[node.id].text for node in plan.graph.of_kind(SOURCE)}


def source_labels(plan: PhysicalPlan) -> dict[str, str]:
    """Return the uid of each source to the one for people: without a uid that of its timestamps, else its own name."""
    names, uids = source_names(plan.graph), source_uids(plan)
    labels = {uid: uid for uid in uids.values()}
    labels |= {
        uid.text: plan.graph.node(source).name
        for source, uid in names.items()
        if not uid.is_numbered
    }
    for node in plan.graph.nodes:
        source = stamped_source(plan.graph, node)
        if source is not None and source.uid is None and node.uid is not None:
            labels[uids[source.id]] = node.uid
    return labels


def numbered_sources(plan: PhysicalPlan) -> frozenset[int]:
    """Return the sources that only their order distinguishes: they have no uid and the same name."""
    names = source_names(plan.graph)
    return frozenset(source for source, uid in names.items() if uid.is_numbered)


def numbered_uids(plan: PhysicalPlan) -> frozenset[str]:
    """Return the uids of the operators that only their order distinguishes."""
    uids = (node.generated_uid for node in plan.graph.nodes if node.uid is None)
    return frozenset(uid.text for uid in uids if uid is not None and uid.is_numbered)


def channel_ends(plan: PhysicalPlan) -> dict[int, tuple[str, str]]:
    """Return channel id to the uids of sender and receiver, for channels between levels."""
    sources = source_uids(plan)
    operators = [op for level in plan.levels for op in level.operators]
    receivers = {op.id: op.uid for op in operators}
    senders = {channel: op.uid for op in operators for channel in op.fed_channels}
    senders |= {channel: sources[source] for source, fed in plan.source_channels for channel in fed}
    return {
        channel.id: (senders[channel.id], receivers[channel.target_operator])
        for channel in plan.channels
        if channel.target_level != SINK_LEVEL and not channel.is_local
    }


_NO_MEANING = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "PRECALL", "RESUME"})
"""Names of instructions that follow from others, or from lines."""

_OF_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_OF_MEMBERS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


@dataclass(frozen=True, slots=True)
class Instructions:
    """The instructions of a code object.

    Attributes:
        steps: (name, argument) of each: a constant as itself, a name as a text, a jump as the number of its target.
        handlers: Bounds, target and depth of each block with a handler, as numbers of instructions.
        globals: The globals that it names, each with the members that follow: `settings.rates.low` is
            `("settings", "rates", "low")`.
        inner: Digests of the functions that it defines.
    """

    steps: tuple[tuple[str, Any], ...]
    handlers: tuple[tuple[int, ...], ...]
    globals: tuple[tuple[str, ...], ...]
    inner: tuple[Instructions, ...]

    @staticmethod
    def of(code: CodeType) -> Instructions:
        """Return those of a code object."""
        bytecode = dis.Bytecode(code)
        instructions = [
            instruction for instruction in bytecode if instruction.opname not in _NO_MEANING
        ]
        offsets = [instruction.offset for instruction in instructions]
        steps: list[tuple[str, Any]] = []
        named: list[tuple[str, ...]] = []
        follows = False
        for instruction in instructions:
            is_jump = instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs
            argument = bisect_left(offsets, instruction.argval) if is_jump else instruction.argval
            steps.append((instruction.opname, argument))
            if instruction.opname in _OF_GLOBALS:
                named.append((str(instruction.argval),))
                follows = True
            elif follows and instruction.opname in _OF_MEMBERS:
                named[-1] = (*named[-1], str(instruction.argval))
            else:
                follows = False
        handlers = tuple(
            (
                *(
                    bisect_left(offsets, offset)
                    for offset in (entry.start, entry.end, entry.target)
                ),
                entry.depth,
            )
            for entry in getattr(bytecode, "exception_entries", ())
        )
        inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
        return Instructions(
            tuple(steps), handlers, tuple(dict.fromkeys(named)), tuple(map(Instructions.of, inner))
        )


_LIBRARIES = (
    *{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")},
    # The digest must not depend on where the package is installed.
    str(Path(__file__).parents[2]),
    "<frozen ",
)
_PLAIN = frozenset({int, float, complex, str, bytes, bool, *map(type, (None, ..., NotImplemented))})
_JOB_BYTES = 7  # fits in a signed 64-bit integer
_DIGEST_DIGITS = 16
_FLAGS = CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_WRITTEN_BY = f"{sys.version_info.major}.{sys.version_info.minor} {__version__} "
"""Instructions differ between versions of Python, and the objects of operators between versions of Penstock."""

_NO_BEHAVIOUR = frozenset({
    "__abstractmethods__", "__annotate__", "__annotate_func__", "__annotations__", "__annotations_cache__",
    "__dataclass_fields__", "__dict__", "__doc__", "__firstlineno__", "__module__", "__orig_bases__", "__parameters__",
    "__static_attributes__", "__type_params__", "__weakref__", "_abc_impl",
})  # fmt: skip
"""Members of classes that do not count."""


def function_digests(plan: PhysicalPlan) -> dict[str, str]:
    """Return uid to the digest of the functions of each operator."""
    return {
        op.uid: _WRITTEN_BY + _of_operator(plan, op).hex()[:_DIGEST_DIGITS]
        for op in _operators(plan)
    }


def job_digest(plan: PhysicalPlan) -> int:
    """Return one digest of the functions of all operators."""
    total = sha256()
    for op in _operators(plan):
        total.update(_of_operator(plan, op))
    return int.from_bytes(total.digest()[:_JOB_BYTES], "big")


def changed_functions(plan: PhysicalPlan, known: Mapping[str, str]) -> tuple[OperatorSpec, ...]:
    """Return the operators whose functions differ from recorded ones, upstream first."""
    now = function_digests(plan)
    return tuple(
        op
        for op in _operators(plan)
        if are_comparable(known.get(op.uid, "")) and known[op.uid] != now[op.uid]
    )


def are_comparable(digest: str) -> bool:
    """Return whether a recorded digest was written by this version of Python and Penstock."""
    return digest.startswith(_WRITTEN_BY)


def _operators(plan: PhysicalPlan) -> Iterator[OperatorSpec]:
    return (op for level in plan.levels for op in level.operators)


def _of_operator(plan: PhysicalPlan, op: OperatorSpec) -> bytes:
    """Return the digest of an operator, computed once for a plan and those made of it."""
    entry = plan.digests.get(id(op))
    if entry is None:
        parts: tuple[Any, ...] = (op.function, op.method, op.key_selectors, op.timestamps)
        version = plan.graph.node(op.id).version
        parts = parts if version is None else (*parts, version)
        try:
            result = digest((*parts, op.window, op.batches, op.async_io, op.interval, op.join))
        except RecursionError:  # nested deeper than Python calls: equal to all that are
            result = _hash("too deep")
        entry = plan.digests[id(op)] = op, result  # the object stays, and so does its `id`
    return entry[1]


def digest(value: Any) -> bytes:
    """Return the digest of a value, 32 bytes."""
    return _Digests().digest(value)


class _Digests:
    """Digests of the objects that one value refers to, each computed once."""

    def __init__(self) -> None:
        # The objects stay referenced, so that no later one gets the `id` of another.
        self._known: dict[int, tuple[Any, bytes]] = {}
        self._open: set[int] = set()

    def digest(self, value: Any) -> bytes:
        """Return the digest of a value."""
        if type(value) in _PLAIN:
            return _hash(type(value).__name__, repr(value))
        entry = self._known.get(id(value))
        if entry is not None:
            return entry[1]
        if id(value) in self._open:  # it refers to itself
            return _hash("again", type(value).__qualname__, getattr(value, "__qualname__", ""))
        self._open.add(id(value))
        try:
            result = self._of(value)
        finally:
            self._open.discard(id(value))
        self._known[id(value)] = (value, result)
        return result

    def _of(self, value: Any) -> bytes:
        label = type(value).__qualname__
        if isinstance(value, (set, frozenset)):
            return self._unordered(label, ((element,) for element in value), type(value))
        if type(value) is dict:
            return self._unordered(label, value.items())
        if type(value) in {tuple, list}:
            return _hash(label, *map(self.digest, value))
        for kind, parts in _PARTS.items():
            if isinstance(value, kind):
                return _hash(label, *map(self.digest, parts(value)))
        return self._of_object(value)

    def _unordered(self, label: str, items: Iterable[tuple[Any, ...]], *more: Any) -> bytes:
        digests = sorted(b"".join(map(self.digest, item)) for item in items)
        return _hash(label, *digests, *map(self.digest, more))

    def _of_object(self, value: Any) -> bytes:
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            saved = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception:  # noqa: BLE001 - of what cannot be pickled the class counts
            return _hash("opaque", self.digest(type(value)))
        if isinstance(saved, str):
            return _hash("global", saved)
        factory, arguments, *rest = saved
        state, items, pairs = [*rest, None, None, None][:3]
        return _hash(
            "object",
            self.digest(type(value)),
            *map(self.digest, (factory, arguments, state, list(items or ()))),
            self._unordered("pairs", pairs or ()),
        )


def _hash(*parts: str | bytes) -> bytes:
    total = sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        total.update(b"%d:" % len(data))
        total.update(data)
    return total.digest()


def _of_function(function: FunctionType) -> Iterable[Any]:
    code = function.__code__
    if code.co_filename.startswith(_LIBRARIES):
        return (function.__module__, function.__qualname__)
    return (
        code,
        function.__defaults__,
        function.__kwdefaults__,
        function.__dict__,
        *map(_content, function.__closure__ or ()),
        *_named(Instructions.of(code), function.__globals__),
    )


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _named(code: Instructions, names: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what the globals that code names refer to; of modules of the program, the members that it names."""
    for name, *members in code.globals:
        if name not in names:
            continue  # of `builtins`, or not there yet
        value = names[name]
        while isinstance(value, ModuleType) and members and not _is_of_a_library(value.__name__):
            value = vars(value).get(members.pop(0))
        yield value
    for inner in code.inner:
        yield from _named(inner, names)


def _is_of_a_library(module: str) -> bool:
    if module == "__main__" or module in sys.builtin_module_names:
        # `penstock run` is the main module of the process, and the program's classes are of one of that name.
        return module != "__main__"
    path: str | None = getattr(sys.modules.get(module), "__file__", None)
    return path is not None and path.startswith(_LIBRARIES)


def _of_class(cls: type) -> Iterable[Any]:
    if _is_of_a_library(cls.__module__):
        return (cls.__module__, cls.__qualname__)
    members = (
        (name, value) for name, value in sorted(vars(cls).items()) if name not in _NO_BEHAVIOUR
    )
    return (cls.__qualname__, *cls.__bases__, *(part for member in members for part in member))


def _of_code(code: CodeType) -> Iterable[Any]:
    instructions = Instructions.of(code)
    counts = (
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags & _FLAGS,
    )
    return (instructions.steps, instructions.handlers, code.co_varnames, counts)


def _name(value: Any) -> Iterable[Any]:
    return (value.__qualname__,)


_PARTS: dict[type | tuple[type, ...], Callable[[Any], Iterable[Any]]] = {
    CallSite: lambda _: (),  # a line of the program, which moves
    MethodType: lambda method: (method.__func__, method.__self__),
    CodeType: _of_code,
    FunctionType: _of_function,
    type: _of_class,
    ModuleType: lambda module: (module.__name__,),
    BuiltinFunctionType: lambda f: (
        f.__qualname__,
        None if isinstance(f.__self__, ModuleType) else f.__self__,
    ),
    (GetSetDescriptorType, MemberDescriptorType, WrapperDescriptorType): _name,
    (staticmethod, classmethod): lambda wrapped: (wrapped.__func__,),
    property: lambda accessors: (accessors.fget, accessors.fset, accessors.fdel),
    cached_property: lambda attribute: (attribute.func,),
    partial: lambda call: (call.func, call.args, call.keywords),
}
"""Class of objects to the parts that are digested; of others it is what `pickle` would save."""
