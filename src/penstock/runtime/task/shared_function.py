"""One function object for several operators of a task.

At level 0 every source has a chain of its own, and behind a union the chains have operators in
common. The function of such an operator exists once per task, so it is opened by the first chain
and closed by the last.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from penstock.program.level import LevelProgram
from penstock.runtime.functions.context import OperatorContext
from penstock.runtime.task.chain import operators_behind


class SharedFunction:
    """Stands for a user's function object; all but `open` and `close` are the object's own."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._users = 0

    def open(self, context: OperatorContext) -> None:
        """Open the function, if nobody has yet."""
        self._users += 1
        opened = getattr(self._function, "open", None)
        if self._users == 1 and opened is not None:
            opened(context)

    def close(self) -> None:
        """Close the function, if nobody else uses it."""
        self._users -= 1
        closed = getattr(self._function, "close", None)
        if self._users == 0 and closed is not None:
            closed()

    def __getattr__(self, name: str) -> Any:
        if name == "_function":  # while being copied or unpickled it is not there yet
            raise AttributeError(name)
        return getattr(self._function, name)


def with_shared_functions(program: LevelProgram) -> LevelProgram:
    """Return a program of level 0 whose operators behind a union share their function."""
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
