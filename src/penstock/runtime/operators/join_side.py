"""One side of a regular join: a multiset of rows per key.

The state of a key finds a row by its digest (`typed_digest` for declared types, else
`record_digest`):

    left, right                digest -> row      rows with a count of at least one
    left-counts, right-counts  digest -> count    counts of rows other than one; a count below zero
                                                  is that of a row deleted before its insertion
    left-seen, right-seen      True               with a time-to-live, if the other side is padded:
                                                  the other side was joined with rows of this side

So a row with the usual count of one costs one entry, and a change of its count does not write the row
again.

A deletion may arrive before its insertion: the two may be sent on different paths, and a batch run
reads a key in order of time. The count is below zero until the insertion arrives. So the multiset
depends on the set of changes and never on their order: a row that was inserted `i` times and deleted
`d` times has the count `max(0, i - d)`.

With a time-to-live no count is below zero: a deleted row that does not exist has expired. The join does
not notice when rows expire. Therefore `seen` records whether the rows of the other side were emitted
with matches or padded. Without a time-to-live this equals whether the side has rows, unless an
earlier version of the program had a time-to-live: then `seen` is read too, and removed at the next
change.

The type of the rows, and so the content of stored rows, may change between two versions of a program.
If a deleted row is not found by its digest, all rows of the key are searched.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

from penstock.runtime.functions.context import KeyedScope
from penstock.state.backends.base import ABSENT
from penstock.state.handles.key_context import Parts
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.types import TypeInformation, Types
from penstock.types.row import Row, RowKind
from penstock.types.value_serializer import StoredForm
from penstock.wire.canonical.record_digest import record_digest, typed_digest

DIGESTS = Types.PRIMITIVE_ARRAY(Types.BYTE())

Change = tuple[Any, int, int]
"""(row, count before, count now); the counts differ."""

_EFFECT = {
    RowKind.INSERT: 1,
    RowKind.UPDATE_AFTER: 1,
    RowKind.UPDATE_BEFORE: -1,
    RowKind.DELETE: -1,
}


_PLAIN_COUNTS = frozenset({0, 1})
"""Counts without an entry in the state of counts: of a missing row, of a stored row."""


class JoinSide:
    """The rows of one side, for the current key."""

    def __init__(
        self,
        operator: str,
        name: str,
        record_type: TypeInformation,
        scope: KeyedScope,
        ttl_ms: int | None,
    ) -> None:
        """Open the state."""
        self._context = scope.context
        self._may_migrate = record_type.need_conversion()
        self._expires = ttl_ms is not None
        schemas = {
            name: StateSchema(StateKind.MAP, record_type, DIGESTS, self._expires),
            f"{name}-counts": StateSchema(StateKind.MAP, Types.LONG(), DIGESTS, self._expires),
            f"{name}-seen": StateSchema(StateKind.VALUE, Types.BOOLEAN(), None, self._expires),
        }
        tables = [scope.table(operator, *each, ttl_ms) for each in schemas.items()]
        self._rows, self._counts, self._seen = map(Parts, tables)
        self._typed = typed_digest(record_type)
        # State stores coded rows, so the coded row of the digest is stored and not encoded again.
        self._keeps_coded = not self._expires and tables[0].schema.form is StoredForm.CODED

    def is_empty(self) -> bool:
        """Return whether the key has no rows."""
        context = self._context
        return bool(self._rows[context.group].is_empty(context.key))

    def was_empty(self) -> bool:
        """Return whether the key had no rows at the last call of `announce`."""
        context = self._context
        return not self._seen[context.group].get(context.key) and self.is_empty()

    def announce(self, *, is_empty: bool) -> None:
        """Store whether the other side is now joined with no rows; call it after every change of the key.

        Call it after changes of the other side's rows too: the entry must not expire before them.
        """
        context = self._context
        seen = self._seen[context.group]
        if self._expires and not is_empty:
            seen.put(context.key, True)  # noqa: FBT003 - a stored value
        elif seen.get(context.key):
            seen.remove(context.key)

    def rows(self) -> list[tuple[bytes, Any, int]]:
        """Return (digest, row, count) of all rows of the key, in no defined order."""
        context = self._context
        key, group = context.key, context.group
        found = self._rows[group].items(key)
        part = self._counts[group]
        counts = {} if part.is_empty(key) else dict(part.items(key))
        return [(digest, row, counts.get(digest, 1)) for digest, row in found]

    def fold(self, records: Iterable[Any]) -> dict[bytes, Change]:
        """Apply changes to the key's rows and return their net effect, by digest."""
        counts: dict[bytes, list[Any]] = {}
        for record in records:
            effect = 1
            if isinstance(record, Row):
                kind = record.get_row_kind()
                if kind is not RowKind.INSERT:
                    effect = _EFFECT[kind]
                    record = copy(record)  # noqa: PLW2901 - state has rows, not changes
                    record.set_row_kind(RowKind.INSERT)
            digest, coded = self._digest(record)
            found = counts.get(digest)
            if found is None:
                found = counts[digest] = [*self._counted(digest, record, effect), coded]
            found[2] += effect
            if self._expires and found[2] < 0:
                found[2] = 0
        changed = ((digest, found) for digest, found in counts.items() if found[1] != found[2])
        return {
            digest: (row, max(before, 0), max(now, 0))
            for digest, (row, before, now, coded) in changed
            if self._write(digest, row, before, now, coded)
        }

    def _digest(self, record: Any) -> tuple[bytes, bytes | None]:
        """Return the digest of a record, and its coded row if state stores coded rows."""
        typed = self._typed
        if typed is None:
            return record_digest(record), None
        coded = typed.encode(record)
        return typed.of_coded(coded), coded if self._keeps_coded else None

    def _counted(self, digest: bytes, record: Any, effect: int) -> list[Any]:
        """Return (row, count, count) of the state."""
        context = self._context
        key, group = context.key, context.group
        row = self._rows[group].get(key, digest, ABSENT)
        if row is ABSENT and effect < 0 and self._may_migrate:
            row = self._moved_by_content(digest)
        count = self._counts[group].get(key, digest)
        if row is ABSENT:
            if count is not None and count > 0:  # its row has expired shortly before the count
                self._counts[group].remove(key, digest)
                count = None
            return [record, count or 0, count or 0]
        count = 1 if count is None else count
        return [row, count, count]

    def _moved_by_content(self, digest: bytes) -> Any:
        """Find a row whose digest has changed with its type, store it under `digest` and return it."""
        for old, row, count in self.rows():
            if self._digest(row)[0] == digest:
                self._store(old, row, count, 0)
                self._store(digest, row, 0, count)
                return row
        return ABSENT

    def _write(self, digest: bytes, row: Any, before: int, now: int, coded: bytes | None) -> bool:
        """Store a count and return whether there are more or fewer rows than before."""
        self._store(digest, row, before, now, coded)
        return now > 0 or before > 0

    def _store(
        self, digest: bytes, row: Any, before: int, now: int, coded: bytes | None = None
    ) -> None:
        context = self._context
        key, group = context.key, context.group
        if now > 0:
            if before <= 0 or self._expires:
                if coded is None:  # tables with a time-to-live do not take coded values
                    self._rows[group].put(key, digest, row)
                else:
                    self._rows[group].put(key, digest, row, coded)
        elif before > 0:
            self._rows[group].remove(key, digest)
        # After the row, so that it does not expire before it.
        if now not in _PLAIN_COUNTS:
            self._counts[group].put(key, digest, now)
        elif before not in _PLAIN_COUNTS:
            self._counts[group].remove(key, digest)
