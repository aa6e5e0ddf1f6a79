"""Combines the records of one task by key, before they are exchanged.

    records ──▶ table: key to what its records gave so far ──▶ keys and values
                  │
                  └ memory is used up: all pairs leave, and if they are more than half as many
                    as the records, nothing is combined any more

Per key, pairs leave in the order of their records. It is not judged before memory is used up, because
the first records of a task say little: in a million keys that come one after the other, again and
again, none comes a second time for a million records (`docs/decisions/0013-limits-of-batch.md`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from penstock.errors import PenstockError
from penstock.metrics.values import CounterValue, MetricValue
from penstock.program.combining import CombineSpec
from penstock.runtime.flow.coercion import coercing_function
from penstock.runtime.fold.fold_by_key import reduce_by_key
from penstock.runtime.fold.folded_keys import FoldedKeys
from penstock.user_failure import failing_record, placed, short, user_failure

RECORDS_IN = "combine.numRecordsIn"
RECORDS_OUT = "combine.numRecordsOut"


class Combiner:
    """A table of combined records.

    Attributes:
        is_useful: Records may be combined, and enough have one key for it to be worth its time.
    """

    def __init__(self, spec: CombineSpec) -> None:
        self.is_useful = spec.regroups
        self._spec = spec
        self._call = spec.function
        self._subject = f"operator {spec.name!r}"
        if spec.result_type is not None:
            self._call = coercing_function(self._call, spec.result_type, self._subject, spec.origin)
        self._folded = FoldedKeys(spec.memory_bytes)
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
        folded = self._folded
        reduce_by_key(folded.table, keys, values, self._call)
        folded.records += len(keys)

    @property
    def is_full(self) -> bool:
        """Whether what is in the table has to leave."""
        return self._folded.is_full

    def take(self, size: int) -> Iterator[tuple[list[Any], list[Any]]]:
        """Empty the table: yield keys and values, up to `size` at a time."""
        was_full, taken = self.is_full, self._folded.records
        table = self._folded.take()
        if was_full:
            self.is_useful = 2 * len(table) <= taken
        self._records_in += taken
        self._records_out += len(table)
        keys, values = iter(table.keys()), iter(table.values())
        while some := list(islice(keys, size)):
            yield some, list(islice(values, size))

    def take_metrics(self) -> dict[str, MetricValue]:
        """Return what it combined since the last call, by full name."""
        if not self._spec.regroups:
            return {}
        uid = self._spec.uid
        taken: dict[str, MetricValue] = {
            f"{uid}.{RECORDS_IN}": CounterValue(self._records_in),
            f"{uid}.{RECORDS_OUT}": CounterValue(self._records_out),
        }
        self._records_in = self._records_out = 0
        return taken

    def failed(
        self, cause: BaseException, key: Any, values: list[Any], position: Iterator[Any]
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
