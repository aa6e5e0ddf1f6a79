"""Conversion of changes into the records of a source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.connectors.postgres.values import Change, TableName, TableRows, text_of
from penstock.errors import SourceError
from penstock.types import TypeInformation
from penstock.types.row import Row, RowKind, row_factory
from penstock.types.types import Types
from penstock.user_failure import refusal_of

_HINT = "Correct the deserializer of the source, or let it return None for what is to be left out."


class ChangeDeserializer(ABC):
    """Makes records of changes."""

    is_ours: bool = True
    """True if it is no code of the user's, and makes every record anew."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""

    @abstractmethod
    def deserialized(self, changes: list[Change]) -> tuple[list[Any], list[int]]:
        """Return records and their timestamps."""

    def deserialized_rows(self, rows: TableRows) -> tuple[list[Any], list[int]]:
        """Return records of whole rows, and their timestamps: as of their changes."""
        return self.deserialized(rows.changes())


@dataclass(frozen=True, slots=True)
class PlainChanges(ChangeDeserializer):
    """Makes no other records of them."""

    def get_produced_type(self) -> TypeInformation:
        """Return that of pickled objects."""
        return Types.PICKLED_BYTE_ARRAY()

    def deserialized(self, changes: list[Change]) -> tuple[list[Any], list[int]]:
        """Return the changes."""
        return changes, [change.commit_timestamp for change in changes]


@dataclass(frozen=True, slots=True)
class ChangeFunction(ChangeDeserializer):
    """Calls a function of the user's.

    Attributes:
        function: Gets a change; what it makes None of is left out.
    """

    function: Callable[[Change], Any]
    type_info: TypeInformation

    is_ours = False

    def get_produced_type(self) -> TypeInformation:
        """Return the declared type."""
        return self.type_info

    def deserialized(self, changes: list[Change]) -> tuple[list[Any], list[int]]:
        """Return the results of the function."""
        make, records, times = self.function, [], []
        for change in changes:
            try:
                record = make(change)
            except BaseException as cause:
                failed = f"the deserializer refuses a change {_place(change)}"
                raise refusal_of(SourceError, failed, cause, None, hint=_HINT) from cause
            if record is not None:
                records.append(record)
                times.append(change.commit_timestamp)
        return records, times


@dataclass(frozen=True, slots=True)
class Upserts(ChangeDeserializer):
    """Makes rows of a table, with the kind of the change: a row replaces the one with its key, a DELETE removes it.

    Attributes:
        type_info: A type of rows with named fields, which are columns of the table.
    """

    type_info: TypeInformation
    names: tuple[str, ...]

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self.type_info

    def deserialized(self, changes: list[Change]) -> tuple[list[Any], list[int]]:
        """Return the rows. A change of the key is a DELETE, and an UPDATE_AFTER of another row."""
        values: list[list[Any]] = []
        kinds: list[RowKind] = []
        times: list[int] = []
        names = self.names
        for change in changes:
            if change.after is not None and change.previous_key is None:
                try:
                    values.append([change.after[name] for name in names])
                except KeyError as cause:
                    raise self._lacks(change, str(cause.args[0])) from cause
                kinds.append(change.op)
                times.append(change.commit_timestamp)
                continue
            for kind, fields in self._rows(change):
                values.append(fields)
                kinds.append(kind)
                times.append(change.commit_timestamp)
        rows: list[Row] = row_factory(self.names)(values)
        _set_kinds(rows, kinds)
        return rows, times

    def deserialized_rows(self, rows: TableRows) -> tuple[list[Any], list[int]]:
        """Return the rows without making changes of them, which would take most of the time."""
        columns = rows.by_name()
        if not all(name in columns for name in self.names):
            return ChangeDeserializer.deserialized_rows(self, rows)  # reports the missing column
        fields = zip(*[columns[name] for name in self.names], strict=True)
        records: list[Row] = row_factory(self.names)([*map(list, fields)])
        if rows.ops is not None:
            _set_kinds(records, rows.ops)
        return records, [rows.timestamp_ms] * len(records)

    def _rows(self, change: Change) -> Sequence[tuple[RowKind, list[Any]]]:
        if change.after is None:
            before = change.before or {}
            return [(RowKind.DELETE, [before.get(name) for name in self.names])]
        try:
            row = [change.after[name] for name in self.names]
        except KeyError as cause:
            raise self._lacks(change, str(cause.args[0])) from cause
        before = change.before or {}
        return [
            (RowKind.DELETE, [before.get(name) for name in self.names]),
            (change.op, row),
        ]

    def _lacks(self, change: Change, name: str) -> SourceError:
        where = _place(change)
        if change.op is RowKind.UPDATE_AFTER:
            return SourceError(
                f"a change {where} does not have column {name!r}: its value is large and was not changed, or the "
                "table no longer has the column",
                hint=f"ALTER TABLE {TableName.of(change.table).quoted} REPLICA IDENTITY FULL, so that the log has such values; or read "
                "changes instead of upserts.",
            )
        return SourceError(
            f"a change {where} does not have column {name!r}: the table has {', '.join(change.after or ())}",
            hint="Declare columns that the table has, or start in a new checkpoint directory with the new ones.",
        )


def _set_kinds(rows: list[Row], kinds: Sequence[RowKind]) -> None:
    for row, kind in zip(rows, kinds, strict=True):
        if kind is not RowKind.INSERT:  # as a row is made
            row.set_row_kind(kind)


def _place(change: Change) -> str:
    return f"of table {change.table} with key {change.key!r} (at {text_of(change.commit_lsn)})"
