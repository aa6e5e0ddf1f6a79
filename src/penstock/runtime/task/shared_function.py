"""A function object that several operators of a task share.

At level 0 every source has its own chain, and after a union several chains contain the same operator.
The function of such an operator exists once per task: the first chain opens it, the last one closes it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from penstock.program.level import LevelProgram
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.task.chain import operators_behind


class SharedFunction:
    """Wraps a user's function object; only `open` and `close` differ from those of the object."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._users = 0

    def open(self, context: OperatorContext) -> None:
        """Open the function, if it is not open."""
        self._users += 1
        opened = getattr(self._function, "open", None)
        if self._users == 1 and opened is not None:
            opened(context)

    def close(self) -> None:
        """Close the function, if no other chain uses it."""
        self._users -= 1
        closed = getattr(self._function, "close", None)
        if self._users == 0 and closed is not None:
            closed()

    def __getattr__(self, name: str) -> Any:
        if name == "_function":  # absent while the wrapper is being copied or unpickled
            raise AttributeError(name)
        return getattr(self._function, name)


def with_shared_functions(program: LevelProgram) -> LevelProgram:
    """Return a program of level 0 whose operators after a union share their function."""
    users: Counter[int] = Counter()
    for entries in program.source_operators.values():
        users.update(operators_behind(program, entries))
    if all(count == 1 for count in users.values()):
        return program
    operators = tuple(
        replace(spec, function=SharedFunction(spec.function))
        if users[spec.id] > 1 and spec.method is not None
        else spec
        for spec in program.operators
    )
    return replace(program, operators=operators)
