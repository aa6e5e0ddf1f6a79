"""Changes per key: of a function that gets all rows of a key that arrived together, and of the first rows of a key.

It is called once per key and micro-batch; in a batch run once per key, or once per part of a key that does not fit in
memory. So a function that reads its state, applies the rows and emits the difference costs the state one read and one
write per key, and emits nothing for changes that cancel out.

Results have no timestamps: a change of an aggregate belongs to no moment of event time.

A batch run that hands nothing over emits final rows only. A function that sees all rows of a key at once returns no
others; the changes that it returns for parts of a key are added up before they are emitted.
"""

from __future__ import annotations

from typing import Any

from penstock.runtime.operators.keyed import KeyedOperator
from penstock.types.row import TAKEN_BACK, RowKind
from penstock.user_failure import short
from penstock.wire.canonical.record_digest import record_digest


class KeyedChangesOperator(KeyedOperator):
    """Calls a function with the key and the list of its rows."""

    takes_keys_in_parts = True
    _final_rows: dict[bytes, list[Any]] | None = None
    """Rows that are left of the started key, by their digests; None if changes are emitted as they come."""

    def start_key(self, key: Any) -> None:
        """Begin a key whose records are passed in parts."""
        super().start_key(key)
        if self._is_last_run:
            self._final_rows = {}

    def complete_key(self) -> None:
        """End the started key."""
        final_rows, self._final_rows = self._final_rows, None
        for rows in (final_rows or {}).values():
            self.emit(rows, None)
        super().complete_key()

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Emit the changes that rows of a key make."""
        try:
            changes = self.call(key, values)
        except BaseException as cause:
            where = f"{len(values)} rows of key {short(key)}"
            raise self.failed_in(where, cause) from cause
        if self._final_rows is None:
            self.emit(changes, None)
        else:
            _add_up(self._final_rows, changes)


def _add_up(kept: dict[bytes, list[Any]], changes: list[Any]) -> None:
    """Apply changes to rows that are kept by their digests."""
    for row in changes:
        kind = row.get_row_kind()
        row.set_row_kind(RowKind.INSERT)
        digest = record_digest(row)
        if kind not in TAKEN_BACK:
            kept.setdefault(digest, []).append(row)
            continue
        same = kept[digest]
        same.pop()
        if not same:
            del kept[digest]


class KeyedTopNOperator(KeyedOperator):
    """Passes the rows of a key to its function, and emits the difference of the first rows."""

    takes_keys_in_parts = True
    _before: list[Any] | None = None
    """First rows before the current key of a batch run began, until it ends."""

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Apply rows of a key."""
        try:
            before, after = self.call(values)
        except BaseException as cause:
            raise self.failed_in(f"{len(values)} rows of key {short(key)}", cause) from cause
        stamp = timestamps[-1] if timestamps and self.spec.function.spec.has_timestamps else None
        if self._final_watermark is None:
            self._emit(before, after, stamp)
            return
        if self._before is None:
            self._before = before
        self._after, self._stamp = after, stamp

    def end_key(self, watermark: int) -> None:
        """Emit the changes of a key that is complete."""
        before, self._before = self._before, None
        if before is not None:
            self._emit(before, self._after, self._stamp)
        super().end_key(watermark)

    def _emit(self, before: list[Any], after: list[Any], stamp: int | None) -> None:
        changes = self.spec.function.changes(before, after)
        self.emit(changes, None if stamp is None else [stamp] * len(changes))
