"""Combines the records of one task by key, before they are exchanged.

    records ──▶ table: key to what its records gave so far ──▶ (key, value) pairs
                  │
                  ├ memory is used up: all pairs leave
                  └ after a quarter of a million records, and whenever pairs leave early: if they
                    are more than half as many as the records, nothing is combined any more

Per key, pairs leave in the order of their records. A table that does not fit in the processor's
cache waits for memory at every record; with a hundred thousand keys combining saves little more than
it costs (`docs/decisions/0013-limits-of-batch.md`), so it is not tried for longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from penstock.errors import PenstockError
from penstock.metrics.values import CounterValue, MetricValue
from penstock.runtime.coercion import coercing_function
from penstock.runtime.fold_by_key import reduce_by_key
from penstock.runtime.record_size import bytes_per_record
from penstock.runtime.user_failure import failing_record, placed, short, user_failure
from penstock.types.combine_spec import CombineSpec

RECORDS_IN = "combine.numRecordsIn"
RECORDS_OUT = "combine.numRecordsOut"

_FIRST_LOOK = 4096  # records after which their size is looked at, and then twice as many
_JUDGED_AFTER = 1 << 18  # records
_SLOT_BYTES = 48  # of an entry in a dictionary, beside the pair
_SAMPLE = 32


class Combiner:
    """A table of combined records.

    Attributes:
        is_useful: There are enough records of one key for combining to be worth its time.
    """

    def __init__(self, spec: CombineSpec) -> None:
        self.is_useful = True
        self._spec = spec
        self._call = spec.function
        self._subject = f"operator {spec.name!r}"
        if spec.result_type is not None:
            self._call = coercing_function(self._call, spec.result_type, self._subject, spec.origin)
        self._table: dict[Any, Any] = {}
        self._taken = 0
        self._look_at = _FIRST_LOOK
        self._most = spec.memory_bytes  # an entry has a byte at least
        self._is_waste = False
        self._records_in = 0
        self._records_out = 0

    def add(self, keys: list[Any], values: Iterator[Any]) -> None:
        """Combine a batch into the table.

        Args:
            keys: One per value.
            values: What is left of it tells, if anything raises, on which value.

        Raises:
            Exception: Whatever the function, or the hash or equality of a key, raises.
        """
        self._taken += len(keys)
        reduce_by_key(self._table, keys, values, self._call)
        if self._taken >= self._look_at:
            self._measure()

    @property
    def is_full(self) -> bool:
        """Whether what is in the table has to leave."""
        return self._is_waste or len(self._table) >= self._most

    def take(self, size: int) -> Iterator[list[tuple[Any, Any]]]:
        """Empty the table: yield (key, value) pairs, up to `size` at a time."""
        was_full = self.is_full
        table, self._table = self._table, {}
        if was_full:
            self.is_useful = 2 * len(table) <= self._taken
        self._records_in += self._taken
        self._records_out += len(table)
        self._taken = 0
        self._look_at = _FIRST_LOOK
        pairs = iter(table.items())
        while some := list(islice(pairs, size)):
            yield some

    def take_metrics(self) -> dict[str, MetricValue]:
        """Return what it combined since the last call, by full name."""
        uid = self._spec.uid
        taken: dict[str, MetricValue] = {
            f"{uid}.{RECORDS_IN}": CounterValue(self._records_in),
            f"{uid}.{RECORDS_OUT}": CounterValue(self._records_out),
        }
        self._records_in = self._records_out = 0
        return taken

    def _measure(self) -> None:
        """Estimate how many entries fit in memory. Values may grow as they are combined."""
        step = max(1, len(self._table) // _SAMPLE)
        each = bytes_per_record(list(islice(self._table.items(), 0, None, step))) + _SLOT_BYTES
        self._most = max(1, self._spec.memory_bytes // each)
        self._look_at = 2 * self._taken
        self._is_waste = self._taken >= _JUDGED_AFTER and 2 * len(self._table) > self._taken

    def failed(
        self, cause: Exception, key: Any, values: list[Any], position: Iterator[Any]
    ) -> PenstockError:
        """Return the error for a function that raised: the one its reader would have raised.

        Args:
            cause: What it raised.
            key: Of the record.
            values: The batch.
            position: The iterator over `values` that was being consumed.
        """
        origin = self._spec.origin
        where = f"{failing_record(values, position)}, key {short(key)}"
        if not isinstance(cause, PenstockError):
            return user_failure(self._subject, where, cause, origin)
        return cause if cause.origin is not None else placed(cause, self._subject, where, origin)
