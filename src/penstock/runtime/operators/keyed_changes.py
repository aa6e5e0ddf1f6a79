"""Changes per key: a function that is given all rows of a key that arrived together, and returns changes.

It is called once per key and micro-batch; in a batch run once per key, or once per part of a key that does not fit in
memory. So a function that reads its state, applies the rows and emits the difference costs the state one read and one
write per key, and emits nothing for changes that cancel out.

Results have no timestamps: a change of an aggregate belongs to no moment of event time.
"""

from __future__ import annotations

from typing import Any

from penstock.runtime.operators.keyed import KeyedOperator
from penstock.user_failure import short


class KeyedChangesOperator(KeyedOperator):
    """Calls a function with the key and the list of its rows."""

    takes_keys_in_parts = True

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Emit the changes that rows of a key make."""
        try:
            made = self.call(key, values)
        except BaseException as cause:
            where = f"{len(values)} rows of key {short(key)}"
            raise self.failed_in(where, cause) from cause
        self.emit(made, None)
