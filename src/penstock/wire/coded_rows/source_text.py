"""Source text of generated functions, which tracebacks show, and its compilation."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from penstock.wire.coded_rows.wire_types import Namespace

_numbers = count(1)


class SourceText:
    """The source text of the functions of one codec.

    Attributes:
        names: Global names of the functions, except the functions themselves.
    """

    def __init__(self, names: Namespace) -> None:
        self.names = dict(names)
        self._functions: list[str] = []
        self._made: dict[Any, str] = {}
        self._constants: dict[Any, str] = {}

    def constant(self, name: str, make: Callable[[], Any]) -> str:
        """Return `name`, which the first call binds to the result of `make`."""
        if name not in self.names:
            self.names[name] = make()
        return name

    def function(self, key: Any, prefix: str, build: Callable[[str], list[str]]) -> str:
        """Return the name of a function, built once per `key`."""
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = f"{prefix}_{len(self._made)}"
            self._functions.append("\n".join(build(found)))
        return found

    def text(self) -> str:
        """Return the module."""
        return "\n\n\n".join(self._functions) + "\n"

    def compile(self, what: str) -> tuple[Namespace, str]:
        """Return the functions by name, and the module's text."""
        text = self.text()
        filename = f"<penstock coded rows {next(_numbers)}: {what:.60}>"
        # So that tracebacks and debuggers show the lines.
        linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
        names = dict(self.names)
        exec(compile(text, filename, "exec"), names)  # noqa: S102 - made here, of types only
        return names, text


def indented(lines: Iterable[str], levels: int = 1) -> list[str]:
    """Return indented lines."""
    return ["    " * levels + line for line in lines]
