"""Decodes what `pgoutput` writes: the changes of a table, transaction by transaction, in order of commits.

Protocol version 1. A message is a byte that says what it is, and its fields:

    B  begin               lsn of the commit record, time, xid
    R  relation            number, schema, table, identity, columns: before the first change of a table
    I U D  change          number of the relation; K or O: key or row before; N: row after
    T  truncate            numbers of relations
    C  commit              lsn of the commit record, lsn behind it, time

The position of a transaction is the lsn behind its commit: up to there the log has to be read to have all of it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from penstock.connectors.postgres.column_values import Load, loaded_row, loader
from penstock.connectors.postgres.positions import milliseconds_of
from penstock.connectors.postgres.values import Change, Column
from penstock.types.row import RowKind

_COUNT = struct.Struct(">H")
_SIZE = struct.Struct(">I")
_COMMIT = struct.Struct(">BQQq")
_COLUMN = struct.Struct(">Ii")
_TRUNCATE = struct.Struct(">IB")

_BEGIN, _END, _RELATION, _TRUNCATED = b"BCRT"
_INSERT, _UPDATE, _DELETE = b"IUD"
_KEY, _OLD, _NEW = b"KON"
_TEXT, _NULL, _UNCHANGED = b"tnu"

UNCHANGED: Final = b"\x00unchanged"
"""In place of a large value that an update has not changed; no text has a zero byte."""

Texts = list[bytes | None]


class Malformed(Exception):  # noqa: N818 - its catcher makes an error of ours of it
    """A message is none of the protocol."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as it was when a transaction changed it.

    Attributes:
        oid: Its number.
        schema: Its schema.
        name: Its name.
        identity: `d` default, `n` nothing, `f` full, `i` an index.
        columns: Its columns; those of the replica identity are keys.
    """

    oid: int
    schema: str
    name: str
    identity: str
    columns: tuple[Column, ...]


def relation_of(message: bytes) -> Relation:
    """Return what a message R says.

    Raises:
        Malformed: It cannot be read.
    """
    try:
        (oid,) = _SIZE.unpack_from(message, 1)
        schema, at = _name(message, 5)
        name, at = _name(message, at)
        identity = chr(message[at])
        (count,) = _COUNT.unpack_from(message, at + 1)
        at, columns = at + 3, []
        for _ in range(count):
            is_key = bool(message[at] & 1)
            column, at = _name(message, at + 1)
            type_oid, _ = _COLUMN.unpack_from(message, at)
            at += _COLUMN.size
            columns.append(Column(column, type_oid, is_key))
    except (struct.error, IndexError, ValueError) as cause:
        raise Malformed(f"a relation cannot be read: {cause}") from cause
    return Relation(oid, schema or "pg_catalog", name, identity, tuple(columns))


def _name(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(0, at)
    return message[at:end].decode(), end + 1


def texts_of(message: bytes, at: int) -> tuple[Texts, int]:
    """Return the texts of a row, and where the message goes on.

    Raises:
        Malformed: It cannot be read.
    """
    texts: Texts = []
    try:
        (count,) = _COUNT.unpack_from(message, at)
        at += 2
        for _ in range(count):
            form = message[at]
            if form == _TEXT:
                start = at + 5
                at = start + _SIZE.unpack_from(message, at + 1)[0]
                if at > len(message):
                    raise Malformed("a row is cut off")
                texts.append(message[start:at])
                continue
            if form not in (_NULL, _UNCHANGED):
                raise Malformed(f"a value has the form {chr(form)!r}")
            texts.append(None if form == _NULL else UNCHANGED)
            at += 1
    except (struct.error, IndexError) as cause:
        raise Malformed(f"a row cannot be read: {cause}") from cause
    return texts, at


@dataclass(frozen=True, slots=True)
class TableReader:
    """Makes changes of the messages of one table.

    Attributes:
        table: Its name with its schema.
        columns: Its columns, with base types.
        key: Positions of the columns of the key.
        loads: What makes values of texts.
        is_full: Whether the log has rows as they were.
    """

    table: str
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    loads: tuple[Load, ...]
    is_full: bool

    @classmethod
    def of(cls, relation: Relation, types: Sequence[int], key: Sequence[str] | None) -> TableReader:
        """Return the reader of a relation.

        Args:
            relation: The relation.
            types: Base types of its columns.
            key: Names of the columns of its key, if that is not its replica identity.
        """
        columns = tuple(
            Column(c.name, oid, c.is_key if key is None else c.name in key)
            for c, oid in zip(relation.columns, types, strict=True)
        )
        return cls(
            f"{relation.schema}.{relation.name}",
            columns,
            tuple(at for at, column in enumerate(columns) if column.is_key),
            tuple(loader(column.type_oid) for column in columns),
            relation.identity == "f",
        )

    def change(self, message: bytes, lsn: int, timestamp_ms: int) -> Change:
        """Return the change that a message of I, U or D says."""
        kind, at = message[0], 5
        old: Texts | None = None
        new: Texts | None = None
        if message[at] in (_KEY, _OLD):
            old, at = texts_of(message, at + 1)
        if kind != _DELETE:
            if at >= len(message) or message[at] != _NEW:
                raise Malformed("a change has no row")
            new, at = texts_of(message, at + 1)
        elif old is None:
            raise Malformed("a deletion has no key")
        before = None if old is None else self._row(old, is_whole=self.is_full)
        after = None if new is None else self._row(new, is_whole=True, before=before)
        key = self._key(before if after is None else after)
        previous = None if after is None or before is None else self._key(before)
        moved = None if previous == key else previous
        return Change(_OPS[kind], key, before, after, lsn, timestamp_ms, self.table, moved)

    def _row(
        self, texts: Texts, *, is_whole: bool, before: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return a row by column.

        Args:
            texts: Of its columns.
            is_whole: Whether it has all of them, or only the key.
            before: The row before, if the log has it: with what an update has not changed.
        """
        if UNCHANGED not in texts:
            values = loaded_row(self.columns, self.loads, texts)
            names = [column.name for column in self.columns]
            if is_whole:
                return dict(zip(names, values, strict=True))
            return {c.name: v for c, v in zip(self.columns, values, strict=True) if c.is_key}
        kept = [at for at, text in enumerate(texts) if text != UNCHANGED]
        columns = [self.columns[at] for at in kept]
        values = loaded_row(columns, [self.loads[at] for at in kept], [texts[at] for at in kept])
        known = dict(zip([column.name for column in columns], values, strict=True))
        names = [column.name for column in self.columns]
        earlier = {} if before is None else before
        return {
            name: known[name] if name in known else earlier[name]
            for name in names
            if name in known or name in earlier
        }

    def _key(self, row: dict[str, Any] | None) -> tuple[Any, ...]:
        assert row is not None, "a change has a row"
        return tuple([row.get(self.columns[at].name) for at in self.key])


_OPS = {_INSERT: RowKind.INSERT, _UPDATE: RowKind.UPDATE_AFTER, _DELETE: RowKind.DELETE}

relation_once = lru_cache(maxsize=256)(relation_of)
"""The same as `relation_of`: the message is repeated in every range."""


class Decoder:
    """Decodes the messages of one range.

    Attributes:
        position: Behind the last transaction that was seen.
    """

    def __init__(
        self,
        readers: Callable[[Relation], TableReader | None],
        truncated: Callable[[str, int], None],
    ) -> None:
        """Begin.

        Args:
            readers: Returns the reader of a relation, None if it is not read.
            truncated: Called with the name of a table that was truncated, and the position.
        """
        self._readers = readers
        self._truncated = truncated
        self._relations: dict[int, TableReader | None] = {}
        self.position = 0

    def changes(self, messages: Iterable[bytes], start: int, end: int) -> list[Change]:
        """Return the changes of the transactions of a range.

        Args:
            messages: Of whole transactions, in order.
            start: Position before the first one.
            end: Position up to which transactions are of the range.

        Raises:
            Malformed: A message cannot be read.
            SourceError: A value cannot be read.
        """
        found: list[Change] = []
        pending: list[tuple[TableReader | None, bytes]] = []
        for message in messages:
            kind = message[0]
            if kind in _OPS:
                reader = self._relations[_SIZE.unpack_from(message, 1)[0]]
                if reader is not None:
                    pending.append((reader, message))
            elif kind == _BEGIN:
                pending = []
            elif kind == _RELATION:
                relation = relation_once(message)
                self._relations[relation.oid] = self._readers(relation)
            elif kind == _TRUNCATED:
                pending.append((None, message))
            elif kind == _END:
                _, _, behind, time = _COMMIT.unpack_from(message, 1)
                if behind > end:
                    break
                self.position = behind
                if behind > start:
                    self._add(found, pending, behind, milliseconds_of(time))
                pending = []
        return found

    def _add(
        self,
        found: list[Change],
        pending: list[tuple[TableReader | None, bytes]],
        position: int,
        timestamp_ms: int,
    ) -> None:
        for reader, message in pending:
            if reader is None:
                self._truncate(message, position)
            else:
                found.append(reader.change(message, position, timestamp_ms))

    def _truncate(self, message: bytes, position: int) -> None:
        count, _ = _TRUNCATE.unpack_from(message, 1)
        for number in range(count):
            (oid,) = _SIZE.unpack_from(message, 1 + _TRUNCATE.size + 4 * number)
            reader = self._relations.get(oid)
            if reader is not None:
                self._truncated(reader.table, position)
