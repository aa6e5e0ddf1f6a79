"""Regular join: joins two changelogs on a key, without a window, and emits a changelog.

Per key, the operator applies all changes of a micro-batch (live run) or of all input (batch run)
together, and emits the difference between the join before and after: deleted rows (`-D`) first, then
inserted ones (`+I`). Rows without a match are padded:

    state before         change          result
    left {}  right {}    +I l1           +I (l1, None)                     left join
    left {l1}            +I r1           -D (l1, None)  +I (l1, r1)
    left {l1} right {r1} +I r2           +I (l1, r2)
    ...                  -D r1, -D r2    -D (l1, r1)  -D (l1, r2)  +I (l1, None)

So the final result depends only on the rows of both sides, neither on the order in which changes
arrive nor on the micro-batches. Changes that cancel out within a micro-batch are not emitted, and a
batch run without earlier state emits insertions only.

With a further condition that rows of equal keys must satisfy, a row has a match and not its key. The rows of
both sides are then compared pair by pair; of a side that did not change no more than needed: an inner join
compares changed rows with all others.

One side of a regular join: a multiset of rows per key.

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

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any

from penstock.program.join import JoinKind, is_null_key
from penstock.program.level import OperatorSpec
from penstock.runtime.flow.output import Output
from penstock.runtime.functions.context import KeyedScope, OperatorContext
from penstock.runtime.operators.two_inputs import Batch, BuffersInputs
from penstock.state.backends.base import ABSENT
from penstock.state.handles.key_context import Parts
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.types import TypeInformation, Types
from penstock.types.row import Row, RowKind, row_factory
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
        tables = [scope.table(operator, *entry, ttl_ms) for entry in schemas.items()]
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
        entries = self._rows[group].items(key)
        part = self._counts[group]
        counts = {} if part.is_empty(key) else dict(part.items(key))
        return [(digest, row, counts.get(digest, 1)) for digest, row in entries]

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
            change = counts.get(digest)
            if change is None:
                change = counts[digest] = [*self._counted(digest, record, effect), coded]
            change[2] += effect
            if self._expires and change[2] < 0:
                change[2] = 0
        changed = ((digest, change) for digest, change in counts.items() if change[1] != change[2])
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


FIELDS = ("left", "right")
"""Names of the fields of a result."""

_AT_ONCE = 4096
_rows = row_factory(FIELDS)

Pair = tuple[Any, Any, int]
"""(left, right, number of insertions; below zero, of deletions)."""


class RegularJoinOperator(BuffersInputs):
    """Buffers both inputs, then joins key by key."""

    def __init__(
        self, spec: OperatorSpec, output: Output, context: OperatorContext, scope: KeyedScope
    ) -> None:
        super().__init__(spec, output, context, scope)
        assert spec.join is not None
        self._kind = spec.join.kind
        self._condition = spec.join.condition
        sides = zip(FIELDS, spec.join.record_types, spec.join.side_ttls_ms, strict=True)
        left, right = (
            JoinSide(spec.uid, name, record_type, scope, ttl_ms or spec.join.ttl_ms)
            for name, record_type, ttl_ms in sides
        )
        self._rows_of = (left, right)

    def inputs_complete(self) -> None:
        """Join the buffered records, key by key."""
        group_of = self._group_of
        for key, (lefts, rights) in self._by_key(self.take_waiting()).items():
            self.keys.key = key
            self.keys.group = group_of(key)
            self._join(lefts, rights, can_match=not is_null_key(key))
        self.flush()

    def _by_key(self, waiting: list[list[Batch]]) -> dict[Any, tuple[list[Any], list[Any]]]:
        groups: dict[Any, tuple[list[Any], list[Any]]] = {}
        for number, batches in enumerate(waiting):
            for values, _ in batches:
                for key, value in zip(self.keys_of(number, values), values, strict=True):
                    group = groups.get(key)
                    if group is None:
                        group = groups[key] = ([], [])
                    group[number].append(value)
        return groups

    def _join(self, lefts: list[Any], rights: list[Any], *, can_match: bool) -> None:
        """Apply the changes of the current key and emit the changes of the join."""
        left, right = self._rows_of
        had = [watched and not side.was_empty() for side, watched in self._watched(can_match)]
        changes = (left.fold(lefts), right.fold(rights))
        if not changes[0] and not changes[1]:
            return
        if self._condition is not None and can_match:
            difference = matched_difference(changes, self._rows_of, self._kind, self._condition)
            for sign in (-1, 1):
                self._emit_sign(sign, iter(difference))
            return
        has = [watched and not side.is_empty() for side, watched in self._watched(can_match)]
        for (side, watched), present in zip(self._watched(can_match), has, strict=True):
            if watched:
                side.announce(is_empty=not present)
        may_take_away = had != has or any(
            now < before for side in changes for _, before, now in side.values()
        )
        for sign in (-1, 1) if may_take_away else (1,):
            self._emit_sign(sign, self._difference(changes, had, has, can_match=can_match))

    def _watched(self, can_match: bool) -> Iterator[tuple[JoinSide, bool]]:  # noqa: FBT001
        """Yield each side, and whether rows of the other one depend on it, so that `seen` must be stored."""
        left, right = self._rows_of
        yield left, can_match and self._kind.watches(1)
        yield right, can_match and self._kind.watches(0)

    def _difference(
        self,
        changes: tuple[Changes, Changes],
        had: list[bool],
        has: list[bool],
        *,
        can_match: bool,
    ) -> Iterator[Pair]:
        """Yield the changes of the join; the state is already that after the changes."""
        if self._kind.is_existence:
            is_semi = self._kind is JoinKind.SEMI
            for row, times in self._padded(
                0, changes[0], had[1] is not is_semi, has[1] is not is_semi
            ):
                yield row, None, times
            return
        if can_match:
            yield from self._pairs(*changes)
        if self._kind.pads(0):
            for row, times in self._padded(0, changes[0], had[1], has[1]):
                yield row, None, times
        if self._kind.pads(1):
            for row, times in self._padded(1, changes[1], had[0], has[0]):
                yield None, row, times

    def _pairs(self, lefts: Changes, rights: Changes) -> Iterator[Pair]:
        """Yield each pair with at least one changed row, once."""
        left, right = self._rows_of
        for row, other, times in _with_unchanged(lefts, right, rights):
            yield row, other, times
        for row, other, times in _with_unchanged(rights, left, lefts):
            yield other, row, times
        for row, before, now in lefts.values():
            for right_row, right_before, right_now in rights.values():
                yield row, right_row, now * right_now - before * right_before

    def _padded(
        self,
        side: int,
        changes: Changes,
        had_match: bool,  # noqa: FBT001
        has_match: bool,  # noqa: FBT001
    ) -> Iterator[tuple[Any, int]]:
        """Yield the changes of the padded rows of a side."""
        for row, before, now in changes.values():
            yield row, (0 if has_match else now) - (0 if had_match else before)
        if had_match is not has_match:
            sign = -1 if has_match else 1
            for digest, row, count in self._rows_of[side].rows():
                if digest not in changes:
                    yield row, sign * count

    def _emit_sign(self, sign: int, pairs: Iterator[Pair]) -> None:
        """Emit the inserted pairs, or the deleted ones."""
        waiting: list[list[Any]] = []
        for left, right, times in pairs:
            for _ in range(sign * times):
                waiting.append([left, right])
                if len(waiting) >= _AT_ONCE:
                    self._emit_rows(sign, waiting)
                    waiting = []
        if waiting:
            self._emit_rows(sign, waiting)

    def _emit_rows(self, sign: int, values: list[list[Any]]) -> None:
        rows = _rows(values)
        if sign < 0:
            for row in rows:
                row.set_row_kind(RowKind.DELETE)
        self.emit(rows, None)


def _with_unchanged(changes: Changes, other: JoinSide, changed: Changes) -> Iterator[Pair]:
    """Yield (row, row of the other side, count) for changed rows with unchanged rows."""
    if changes:
        for digest, other_row, count in other.rows():
            if digest not in changed:
                for row, before, now in changes.values():
                    yield row, other_row, (now - before) * count


Changes = dict[bytes, Change]


def matched_difference(
    changes: tuple[Changes, Changes],
    sides: tuple[JoinSide, JoinSide],
    kind: JoinKind,
    condition: Callable[[Any, Any], bool],
) -> list[tuple[Any, Any, int]]:
    """Return (left, right, change of the count) of the current key."""
    pads = kind.watches(0), kind.watches(1)
    lefts = list(_counted_rows(changes[0], sides[0], with_unchanged=bool(changes[1]) or pads[1]))
    rights = list(_counted_rows(changes[1], sides[1], with_unchanged=bool(changes[0]) or pads[0]))
    right_marks = [[False, False] for _ in rights]
    difference: list[tuple[Any, Any, int]] = []
    for left, left_before, left_now in lefts:
        had = has = False
        for (right, before, now), mark in zip(rights, right_marks, strict=True):
            if not condition(left, right):
                continue
            had = had or before > 0
            has = has or now > 0
            mark[0] = mark[0] or left_before > 0
            mark[1] = mark[1] or left_now > 0
            if not kind.is_existence:
                difference.append((left, right, left_now * now - left_before * before))
        if pads[0]:
            counts_matched = kind is JoinKind.SEMI
            before = left_before if had is counts_matched else 0
            now = left_now if has is counts_matched else 0
            difference.append((left, None, now - before))
    if pads[1]:
        for (right, before, now), (had, has) in zip(rights, right_marks, strict=True):
            difference.append((None, right, (0 if has else now) - (0 if had else before)))
    return [change for change in difference if change[2]]


def _counted_rows(
    changes: Changes, side: JoinSide, *, with_unchanged: bool
) -> Iterator[tuple[Any, int, int]]:
    """Yield (row, count before, count now)."""
    yield from changes.values()
    if with_unchanged:
        for digest, row, count in side.rows():
            if digest not in changes:
                yield row, count, count
