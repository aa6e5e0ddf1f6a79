"""Instructions of a function without its lines: what is compared to see whether it changed."""

from __future__ import annotations

import dis
from bisect import bisect_left
from dataclasses import dataclass
from types import CodeType
from typing import Any

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
        inner: Of the functions that it defines.
    """

    steps: tuple[tuple[str, Any], ...]
    handlers: tuple[tuple[int, ...], ...]
    globals: tuple[tuple[str, ...], ...]
    inner: tuple[Instructions, ...]

    @staticmethod
    def of(code: CodeType) -> Instructions:
        """Return those of a code object."""
        bytecode = dis.Bytecode(code)
        found = [each for each in bytecode if each.opname not in _NO_MEANING]
        offsets = [each.offset for each in found]
        steps: list[tuple[str, Any]] = []
        named: list[tuple[str, ...]] = []
        follows = False
        for each in found:
            is_jump = each.opcode in dis.hasjrel or each.opcode in dis.hasjabs
            argument = bisect_left(offsets, each.argval) if is_jump else each.argval
            steps.append((each.opname, argument))
            if each.opname in _OF_GLOBALS:
                named.append((str(each.argval),))
                follows = True
            elif follows and each.opname in _OF_MEMBERS:
                named[-1] = (*named[-1], str(each.argval))
            else:
                follows = False
        handlers = tuple(
            (
                *(bisect_left(offsets, at) for at in (entry.start, entry.end, entry.target)),
                entry.depth,
            )
            for entry in getattr(bytecode, "exception_entries", ())
        )
        inner = (each for each in code.co_consts if isinstance(each, CodeType))
        return Instructions(
            tuple(steps), handlers, tuple(dict.fromkeys(named)), tuple(map(Instructions.of, inner))
        )
