"""The first rows of each key: how they changed, once per key and micro-batch, or per key of a batch run."""

from __future__ import annotations

from typing import Any

from penstock.runtime.operators.keyed import KeyedOperator
from penstock.user_failure import short


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
