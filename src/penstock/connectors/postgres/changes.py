"""Readers of the changes of a range of a slot, and the decoder of `pgoutput`.

A reader peeks at the slot, which leaves the changes there to be read again. The server decodes from the last confirmed
position, so a range far behind it costs the changes before it, too. A slot has one user at a time: the driver
confirms while workers read, so both wait for each other.

`pgoutput` writes the changes of a table, transaction by transaction, in order of commits. In its protocol version 1 a
message is a byte with its type, and its fields:

    B  begin               lsn of the commit record, time, xid
    R  relation            number, schema, table, identity, columns: before the first change of a table
    I U D  change          number of the relation; K or O: key or row before; N: row after
    T  truncate            numbers of relations
    C  commit              lsn of the commit record, lsn behind it, time

The position of a transaction is the lsn at which its commit record begins. A server that has confirmed a position
skips the commits that begin before it, wherever they end, so that a range may end within the record of a commit.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from penstock.connectors.postgres.beyond import ERROR, base_types
from penstock.connectors.postgres.client import PostgresAddress, library
from penstock.connectors.postgres.slots import slot_state
from penstock.connectors.postgres.table_reader import (
    OPS,
    Malformed,
    RelationMessage,
    TableReader,
    relation_once,
)
from penstock.connectors.postgres.tables import key_columns
from penstock.connectors.postgres.values import Run, TableName, milliseconds_of, text_of
from penstock.errors import SourceError

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
        readers: Callable[[RelationMessage], TableReader | None],
        truncated: Callable[[str, int], None],
    ) -> None:
        """Begin."""
        self._readers = readers
        self._truncated = truncated
        self._relations: dict[int, TableReader | None] = {}
        self.position = 0

    def runs(self, messages: Iterable[bytes], start: int, end: int) -> list[Run]:
        """Return the changes of the transactions of a range."""
        runs: list[Run] = []
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
                _, commit, behind, time = _COMMIT.unpack_from(message, 1)
                if commit >= end:
                    break
                self.position = behind
                if commit >= start:
                    self._add(runs, pending, behind, milliseconds_of(time))
                pending = []
        return runs

    def _add(
        self,
        runs: list[Run],
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
                runs.append(
                    [reader.change(message, position, timestamp_ms) for message in messages]
                )
            else:
                runs.append(rows)

    def _truncate(self, message: bytes, position: int) -> None:
        count, _ = _TRUNCATE.unpack_from(message, 1)
        for number in range(count):
            (oid,) = _NUMBER.unpack_from(message, 1 + _TRUNCATE.size + 4 * number)
            reader = self._relations.get(oid)
            if reader is not None:
                self._truncated(reader.table, position)


_MOST_MESSAGES = 100_000
_LOST = ("55000",)

_IS_PARTITION = "select relispartition from pg_catalog.pg_class where oid = %s"
"""The server describes partitions, too, whose changes are those of their root."""

_PEEK = """\
select data from pg_logical_slot_peek_binary_changes(
    %s, %s::pg_lsn, %s, 'proto_version', '1', 'publication_names', %s)"""


class ChangeReader:
    """Reads ranges of one slot with one connection."""

    def __init__(  # noqa: PLR0913 - settings, which have names
        self,
        connection: Any,
        address: PostgresAddress,
        slot: str,
        publication: str,
        tables: Mapping[int, TableName],
        *,
        ignores_truncate: bool,
        owns_publication: bool,
        beyond: str = ERROR,
    ) -> None:
        """Begin."""
        self._connection = connection
        self._address = address
        self._slot = slot
        self._publication = publication
        self._tables = tables
        self._ignores_truncate = ignores_truncate
        self._owns_publication = owns_publication
        self._beyond = beyond

    def read(self, start: int, end: int) -> tuple[list[Run], int]:
        """Return the changes of `[start, end)`, or those of its first transactions, and where they end."""
        most = _MOST_MESSAGES
        while True:
            messages = self._peek(end, most)
            decoder = Decoder(self._reader, self._truncated)
            try:
                runs = decoder.runs(messages, start, end)
            except Malformed as cause:
                raise SourceError(
                    f"replication slot {self._slot!r} sent data that is no change: {cause}",
                    hint="Is it a slot of pgoutput, and the server PostgreSQL 15 or newer?",
                ) from cause
            if len(messages) < most:
                return runs, end
            if decoder.position > start:
                return runs, min(decoder.position, end)
            most *= 4  # no change of the range yet: those before it are not confirmed

    def _peek(self, end: int, most: int) -> list[bytes]:
        name = library().sql.Identifier(self._publication).as_string(None)
        try:
            with self._connection.cursor(binary=True) as cursor:
                cursor.execute(_PEEK, (self._slot, text_of(end), most, name))
                return [bytes(data) for (data,) in cursor]
        except library().errors.UndefinedObject:
            slot_state(self._connection, self._slot)
            raise
        except library().Error as error:
            if error.sqlstate in _LOST:
                slot_state(self._connection, self._slot)  # raises the reason
            raise

    def _reader(self, relation: RelationMessage) -> TableReader | None:
        named = self._tables.get(relation.oid)
        if named is None:
            is_partition = self._connection.execute(_IS_PARTITION, (relation.oid,)).fetchone()
            if self._owns_publication and is_partition != (True,):
                raise self._renamed(relation)
            return None
        if relation.identity != "f" and not any(column.is_key for column in relation.columns):
            raise SourceError(
                f"the replica identity or primary key of table {named} was removed, so its changes do not identify "
                "their row",
                hint="Add the key again, and start in a new checkpoint directory with another slot.",
            ).permanent()
        relation = replace(relation, schema=named.schema, name=named.name)
        return _reader_of(_Connected(self._connection, self._address), relation, self._beyond)

    def _renamed(self, relation: RelationMessage) -> SourceError:
        table = f"{relation.schema}.{relation.name}"
        known = ", ".join(sorted(map(str, self._tables.values())))
        return SourceError(
            f"table {table} is in publication {self._publication!r}, which the source has made for {known}",
            hint="If one of them was renamed: rename it back, or start in a new checkpoint directory with the new "
            "name. If another user has added a table: ALTER PUBLICATION … DROP TABLE.",
        ).permanent()

    def _truncated(self, table: str, position: int) -> None:
        if not self._ignores_truncate:
            raise SourceError(
                f"table {table} was truncated (at {text_of(position)}), and which rows it had is not in the log",
                hint="Start in a new checkpoint directory with another slot, which captures the table anew; or go on "
                "with the rows before it: set_truncate_ignored().",
            ).permanent()


class _Connected:
    """A connection that is the same as any other one to its address, for a cache."""

    def __init__(self, connection: Any, address: PostgresAddress) -> None:
        self.connection = connection
        self.address = address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Connected) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)


@lru_cache(maxsize=256)
def _reader_of(connected: _Connected, relation: RelationMessage, beyond: str) -> TableReader:
    types = [column.type_oid for column in relation.columns]
    bases = base_types(connected.connection, types)
    is_full = relation.identity == "f"
    key = key_columns(connected.connection, relation.oid) if is_full else None
    return TableReader.of(relation, [bases[oid] for oid in types], key, beyond)
