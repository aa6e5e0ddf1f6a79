"""Makes changes of the messages I, U and D of one table, whose description comes before them: one by one, or by column."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from penstock.connectors.postgres.beyond import ERROR, Load, loaded_row, loader
from penstock.connectors.postgres.values import Change, Column, TableName, TableRows
from penstock.types.row import RowKind

_COUNT = struct.Struct(">H")
_NUMBER = struct.Struct(">I")
_COLUMN = struct.Struct(">Ii")


class Malformed(Exception):  # noqa: N818 - its catcher makes an error of ours of it
    """A message is none of the protocol."""


@dataclass(frozen=True, slots=True)
class RelationMessage:
    """A table as it was when a transaction changed it.

    Attributes:
        identity: `d` default, `n` nothing, `f` full, `i` an index.
        columns: Its columns; those of the replica identity are keys.
    """

    oid: int
    schema: str
    name: str
    identity: str
    columns: tuple[Column, ...]


def relation_of(message: bytes) -> RelationMessage:
    """Return the content of a message R."""
    try:
        (oid,) = _NUMBER.unpack_from(message, 1)
        schema, position = _name(message, 5)
        name, position = _name(message, position)
        identity = chr(message[position])
        (count,) = _COUNT.unpack_from(message, position + 1)
        position, columns = position + 3, []
        for _ in range(count):
            is_key = bool(message[position] & 1)
            column, position = _name(message, position + 1)
            type_oid, _ = _COLUMN.unpack_from(message, position)
            position += _COLUMN.size
            columns.append(Column(column, type_oid, is_key))
    except (struct.error, IndexError, ValueError) as cause:
        raise Malformed(f"a relation cannot be read: {cause}") from cause
    return RelationMessage(oid, schema or "pg_catalog", name, identity, tuple(columns))


def _name(message: bytes, position: int) -> tuple[str, int]:
    end = message.index(0, position)
    return message[position:end].decode(), end + 1


relation_once = lru_cache(maxsize=256)(relation_of)
"""The same as `relation_of`: the message is repeated in every range."""


_SIZE = struct.Struct(">I")
_HEAD = struct.Struct(">BIBH")

_INSERT, _UPDATE, _DELETE = b"IUD"
_KEY, _OLD, _NEW = b"KON"
_TEXT, _NULL, _UNCHANGED = b"tnu"
_SHORT = b"t\0\0\0"

UNCHANGED: Final = b"\x00unchanged"
"""In place of a large value that an update has not changed; no text has a zero byte."""

OPS = {_INSERT: RowKind.INSERT, _UPDATE: RowKind.UPDATE_AFTER, _DELETE: RowKind.DELETE}
"""First byte of a message to its kind of change."""

Texts = list[bytes | None]


def texts_of(message: bytes, position: int) -> tuple[Texts, int]:
    """Return the texts of a row, and where the message goes on."""
    texts: Texts = []
    try:
        (count,) = _COUNT.unpack_from(message, position)
        position += 2
        for _ in range(count):
            form = message[position]
            if form == _TEXT:
                start = position + 5
                position = start + _SIZE.unpack_from(message, position + 1)[0]
                if position > len(message):
                    raise Malformed("a row is cut off")
                texts.append(message[start:position])
                continue
            if form not in (_NULL, _UNCHANGED):
                raise Malformed(f"a value has the form {chr(form)!r}")
            texts.append(None if form == _NULL else UNCHANGED)
            position += 1
    except (struct.error, IndexError) as cause:
        raise Malformed(f"a row cannot be read: {cause}") from cause
    return texts, position


@dataclass(frozen=True, slots=True)
class TableReader:
    """Makes changes of the messages of one table.

    Attributes:
        table: Its name with its schema.
        columns: Its columns, with base types.
        is_full: True if the log has rows as they were.
        heads: Begin of a message with nothing but a whole new row, to what it does.
    """

    table: str
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    loads: tuple[Load, ...]
    is_full: bool
    names: tuple[str, ...]
    heads: Mapping[bytes, RowKind]

    @classmethod
    def of(
        cls,
        relation: RelationMessage,
        types: Sequence[int],
        key: Sequence[str] | None,
        beyond: str = ERROR,
    ) -> TableReader:
        """Return the reader of a relation."""
        columns = tuple(
            Column(c.name, oid, c.is_key if key is None else c.name in key, beyond)
            for c, oid in zip(relation.columns, types, strict=True)
        )
        return cls(
            str(TableName(relation.schema, relation.name)),
            columns,
            tuple(index for index, column in enumerate(columns) if column.is_key),
            tuple(loader(column.type_oid, beyond) for column in columns),
            relation.identity == "f",
            tuple(column.name for column in columns),
            {
                _HEAD.pack(kind, relation.oid, _NEW, len(columns)): OPS[kind]
                for kind in (_INSERT, _UPDATE)
            },
        )

    def rows(self, messages: Sequence[bytes], lsn: int, timestamp_ms: int) -> TableRows | None:
        """Return the rows of many messages if each has only a whole new row of short texts; else None.

        No text has a zero byte. So a `t` and three zero bytes occur only between texts shorter than 256 bytes. Builtins
        split there, three times as fast as the loop over all bytes in `change`.
        """
        try:
            heads, *columns = zip(*[message.split(_SHORT) for message in messages], strict=True)
            ops = [self.heads[head] for head in heads]
            values = [
                _short_values(load, texts) for load, texts in zip(self.loads, columns, strict=True)
            ]
        except Exception:  # noqa: BLE001 - there is one place that reports the error
            return None
        return TableRows(self.table, self.columns, values, lsn, timestamp_ms, ops)

    def change(self, message: bytes, lsn: int, timestamp_ms: int) -> Change:
        """Return the change of a message I, U or D."""
        values = self._plain_values(message)
        if values is None:
            return self._any_change(message, lsn, timestamp_ms)
        key = tuple([values[index] for index in self.key])
        row = dict(zip(self.names, values, strict=True))
        return Change(OPS[message[0]], key, None, row, lsn, timestamp_ms, self.table)

    def _plain_values(self, message: bytes) -> list[Any] | None:
        """Return the values of a message that has only a whole new row.

        Most messages have this form, and a check of all forms takes twice as long. None leaves the message to
        `_any_change`, also if it is malformed, so that one place reports errors.
        """
        loads, size_at = self.loads, _SIZE.unpack_from
        values: list[Any] = []
        try:
            if (
                message[0] == _DELETE
                or message[5] != _NEW
                or _COUNT.unpack_from(message, 6)[0] != len(loads)
            ):
                return None
            position = 8
            for load in loads:
                form = message[position]
                if form == _TEXT:
                    start = position + 5
                    position = start + size_at(message, position + 1)[0]
                    values.append(load(message[start:position]))
                elif form == _NULL:
                    values.append(None)
                    position += 1
                else:
                    return None
        except Exception:  # noqa: BLE001 - see above
            return None
        return values if position <= len(message) else None

    def _any_change(self, message: bytes, lsn: int, timestamp_ms: int) -> Change:
        kind, position = message[0], 5
        old: Texts | None = None
        is_full = message[position] == _OLD  # a partition may have another identity than its root
        new: Texts | None = None
        if message[position] in (_KEY, _OLD):
            old, position = texts_of(message, position + 1)
        if kind != _DELETE:
            if position >= len(message) or message[position] != _NEW:
                raise Malformed("a change has no row")
            new, position = texts_of(message, position + 1)
        elif old is None:
            raise Malformed("a deletion has no key")
        before = None if old is None else self._row(old, is_whole=is_full)
        after = None if new is None else self._row(new, is_whole=True, before=before)
        key = self._key(before if after is None else after)
        previous = None if after is None or before is None else self._key(before)
        moved = None if previous == key else previous
        return Change(OPS[kind], key, before, after, lsn, timestamp_ms, self.table, moved)

    def _row(
        self, texts: Texts, *, is_whole: bool, before: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return a row by column."""
        if UNCHANGED not in texts:
            values = loaded_row(self.table, self.columns, self.loads, texts)
            names = [column.name for column in self.columns]
            if is_whole:
                return dict(zip(names, values, strict=True))
            return {c.name: v for c, v in zip(self.columns, values, strict=True) if c.is_key}
        changed = [index for index, text in enumerate(texts) if text != UNCHANGED]
        columns = [self.columns[index] for index in changed]
        loads = [self.loads[index] for index in changed]
        values = loaded_row(self.table, columns, loads, [texts[index] for index in changed])
        new_values = dict(zip([column.name for column in columns], values, strict=True))
        names = [column.name for column in self.columns]
        earlier = {} if before is None else before
        return {
            name: new_values[name] if name in new_values else earlier[name]
            for name in names
            if name in new_values or name in earlier
        }

    def _key(self, row: dict[str, Any] | None) -> tuple[Any, ...]:
        assert row is not None, "a change has a row"
        return tuple([row.get(self.columns[index].name) for index in self.key])


def _short_values(load: Load, texts: Sequence[bytes]) -> list[Any]:
    """Return the values of texts that have their size before them, in a byte."""
    sizes = bytes([len(text) - 1 for text in texts])
    if b"".join([text[:1] for text in texts]) != sizes:
        raise ValueError("sizes")
    return [load(text[1:]) for text in texts]
