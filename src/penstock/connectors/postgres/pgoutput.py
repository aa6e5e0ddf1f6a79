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
from collections.abc import Callable, Iterable
from itertools import groupby
from operator import itemgetter

from penstock.connectors.postgres.positions import milliseconds_of
from penstock.connectors.postgres.relations import Relation, relation_once
from penstock.connectors.postgres.table_reader import OPS, TableReader
from penstock.connectors.postgres.values import Run

_NUMBER = struct.Struct(">I")
_COMMIT = struct.Struct(">BQQq")
_TRUNCATE = struct.Struct(">IB")

_BEGIN, _END, _RELATION, _TRUNCATED = b"BCRT"

_MANY = 8
"""Changes of a table in a transaction from which on they are decoded together."""


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

    def runs(self, messages: Iterable[bytes], start: int, end: int) -> list[Run]:
        """Return the changes of the transactions of a range.

        Args:
            messages: Of whole transactions, in order.
            start: Position before the first one.
            end: Position up to which transactions are of the range.

        Raises:
            Malformed: A message cannot be read.
            SourceError: A value cannot be read.
        """
        found: list[Run] = []
        pending: list[tuple[TableReader | None, bytes]] = []
        for message in messages:
            kind = message[0]
            if kind in OPS:
                reader = self._relations[_NUMBER.unpack_from(message, 1)[0]]
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
        found: list[Run],
        pending: list[tuple[TableReader | None, bytes]],
        position: int,
        timestamp_ms: int,
    ) -> None:
        for reader, group in groupby(pending, itemgetter(0)):
            messages = [message for _, message in group]
            if reader is None:
                for message in messages:
                    self._truncate(message, position)
                continue
            rows = reader.rows(messages, position, timestamp_ms) if len(messages) >= _MANY else None
            if rows is None:
                found.append([reader.change(each, position, timestamp_ms) for each in messages])
            else:
                found.append(rows)

    def _truncate(self, message: bytes, position: int) -> None:
        count, _ = _TRUNCATE.unpack_from(message, 1)
        for number in range(count):
            (oid,) = _NUMBER.unpack_from(message, 1 + _TRUNCATE.size + 4 * number)
            reader = self._relations.get(oid)
            if reader is not None:
                self._truncated(reader.table, position)
