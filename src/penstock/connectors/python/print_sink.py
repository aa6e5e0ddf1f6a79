"""The print sink: one line per record on the driver's standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from penstock.connectors.local_path import sink_errors
from penstock.connectors.spool import SpoolCommitter, SpoolWriter
from penstock.errors import SinkError
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.types import PickledBytesTypeInfo, TypeInformation
from penstock.types.records import RowTypeInfo
from penstock.types.row import Row, RowKind, class_of
from penstock.user_failure import failing_record, short, user_failure


@dataclass(frozen=True, slots=True)
class PrintSink(Sink):
    """Prints records in the driver, in Flink's format.

    A record of undeclared type is `str(record)`. With a declared type a row is `+I[a,1.5]`,
    a tuple `(a,1.5)`, a boolean `true`, and a missing value `null`. Lines start with `2> `
    (subtask, counted from 1), `id> ` or `id:2> `.

    Attributes:
        identifier: Start of every line; None prints none.
        show_subtask: True if lines contain the number of the subtask.

    Example:
        >>> sink = numbers.sink_to(PrintSink("n", show_subtask=False))
        >>> result = env.execute()  # doctest: +SKIP
        n> 1
        n> 2
        n> 3
        n> 4
    """

    identifier: str | None = None
    show_subtask: bool = True

    kind: ClassVar[str] = "print"
    may_stage_in_store: ClassVar[bool] = True

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer that makes the lines of the subtask of `context` and spools them."""
        form = text_form(context.type_info)
        prefix = self._prefix(context.subtask)

        def lines(values: list[Any]) -> list[str]:
            position = iter(values)
            try:
                return [prefix + form(value) for value in position]
            except BaseException as cause:
                where = failing_record(values, position)
                raise user_failure(
                    f"sink {context.name!r}", where, cause, context.origin
                ) from cause

        return SpoolWriter(context, lines)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return a committer that prints the spooled lines."""

        def deliver(lines: list[str]) -> None:
            text = "\n".join([*lines, ""])
            with sink_errors(Path("<stdout>"), "print", context.origin):
                try:
                    sys.stdout.write(text)
                except UnicodeError as cause:
                    raise _unprintable(lines, cause, context) from cause
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


def _unprintable(lines: list[str], cause: UnicodeError, context: SinkContext) -> SinkError:
    """Return the error about lines of which one cannot be encoded, so that none was printed."""
    encoding = sys.stdout.encoding or "utf-8"
    line = next((line for line in lines if not _can_be_encoded(line, encoding)), "unknown")
    return SinkError(
        f"sink {context.name!r} cannot print the record {short(line)}: {cause}",
        hint="Map the record to text that can be printed first, e.g. with "
        "text.encode('utf-8', 'backslashreplace').decode(); or set PYTHONIOENCODING.",
        origin=context.origin,
    )


def _can_be_encoded(line: str, encoding: str) -> bool:
    try:
        line.encode(encoding)
    except UnicodeError:
        return False
    return True


def text_form(type_info: TypeInformation) -> Callable[[Any], str]:
    """Return the function from a record of a type to its printed text."""
    if isinstance(type_info, PickledBytesTypeInfo):
        return str
    if isinstance(type_info, RowTypeInfo):
        return _row_text
    return _text


def _text(value: Any) -> str:
    return FORMS.get(class_of(value), str)(value)


def _row_text(row: Row | tuple[Any, ...]) -> str:
    kind = row.get_row_kind() if isinstance(row, Row) else RowKind.INSERT
    return f"{kind.short_string}[{','.join([_text(field) for field in row])}]"


FORMS: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    Row: _row_text,
    tuple: lambda value: f"({','.join([_text(item) for item in value])})",
    list: lambda value: f"[{', '.join([_text(item) for item in value])}]",
    dict: lambda value: (
        "{" + ", ".join([f"{_text(key)}={_text(item)}" for key, item in value.items()]) + "}"
    ),
}
"""Class to the printer of its values if the type is declared; other values print as `str`."""
