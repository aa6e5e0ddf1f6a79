"""The print sink: one line per record on the driver's standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from penstock.connectors.os_errors import sink_errors
from penstock.connectors.spool import SpoolCommitter, SpoolWriter
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.types.information import PickledBytesTypeInfo, TypeInformation
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row, RowKind, class_of


@dataclass(frozen=True, slots=True)
class PrintSink(Sink):
    """Prints records the way Flink does.

    A record of undeclared type is `str(record)`. With a declared type a row is `+I[a,1.5]`,
    a tuple `(a,1.5)`, a boolean `true`, and a missing value `null`. Lines start with `2> `
    (subtask, counted from 1), `id> ` or `id:2> `.

    Attributes:
        identifier: Start of every line; None prints none.
        show_subtask: Whether lines name their subtask: pass whether there are several.
    """

    identifier: str | None = None
    show_subtask: bool = True

    kind: ClassVar[str] = "print"

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer that makes the lines and spools them."""
        form = text_form(context.type_info)
        prefix = self._prefix(context.subtask)
        return SpoolWriter(context, lambda values: [prefix + form(value) for value in values])

    def create_committer(self, context: SinkContext) -> Committer:
        """Return a committer that prints the spooled lines."""

        def deliver(lines: list[str]) -> None:
            with sink_errors(Path("<stdout>"), "print", context.origin):
                sys.stdout.write("\n".join([*lines, ""]))
                sys.stdout.flush()

        return SpoolCommitter(context, deliver)

    def describe(self) -> str:
        """Return `print`, with the identifier if there is one."""
        return f"print {self.identifier}" if self.identifier else "print"

    def _prefix(self, subtask: int) -> str:
        parts = [self.identifier] if self.identifier else []
        if self.show_subtask:
            parts.append(str(subtask + 1))
        return f"{':'.join(parts)}> " if parts else ""


def text_form(type_info: TypeInformation) -> Callable[[Any], str]:
    """Return what turns a record of that type into its printed form."""
    if isinstance(type_info, PickledBytesTypeInfo):
        return str
    if isinstance(type_info, RowTypeInfo):
        return _row_text
    return _text


def _text(value: Any) -> str:
    return FORMS.get(class_of(value), str)(value)


def _row_text(row: Row | tuple[Any, ...]) -> str:
    kind = row.get_row_kind() if isinstance(row, Row) else RowKind.INSERT
    return f"{kind.short_string}[{','.join(map(_text, row))}]"


FORMS: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    Row: _row_text,
    tuple: lambda value: f"({','.join(map(_text, value))})",
    list: lambda value: f"[{', '.join(map(_text, value))}]",
    dict: lambda value: (
        "{" + ", ".join(f"{_text(key)}={_text(item)}" for key, item in value.items()) + "}"
    ),
}
"""Class to how its values are printed when the type is declared; others print as `str`."""
