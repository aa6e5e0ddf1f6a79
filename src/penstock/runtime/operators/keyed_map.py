"""map, flat_map and filter behind key_by: as without a key, but with keyed state."""

from __future__ import annotations

from itertools import chain, compress
from typing import Any

from penstock.runtime.operators.filter import filtered
from penstock.runtime.operators.keyed import KeyedOperator


class KeyedMapOperator(KeyedOperator):
    """One result per record."""

    takes_keys_in_parts = True

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Map the records of one key."""
        call, position = self.call, iter(values)
        copy = self.emission.copy
        try:
            if copy is None:
                mapped = [call(value) for value in position]
            else:
                mapped = [copy(call(value)) for value in position]
        except BaseException as cause:
            raise self.failed(cause, values, position, key=key) from cause
        self.emit(mapped, timestamps)


class KeyedFlatMapOperator(KeyedOperator):
    """Any number of results per record."""

    takes_keys_in_parts = True

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Flat-map the records of one key."""
        call, position = self.call, iter(values)
        try:
            produced = [list(call(value)) for value in position]
        except BaseException as cause:
            raise self.failed(cause, values, position, key=key) from cause
        results = list(chain.from_iterable(produced))
        if timestamps is None:
            self.emit(results, None)
            return
        repeated = ([stamp] * len(p) for stamp, p in zip(timestamps, produced, strict=True))
        self.emit(results, list(chain.from_iterable(repeated)))


class KeyedFilterOperator(KeyedOperator):
    """Keeps the records for which the predicate is true."""

    takes_keys_in_parts = True

    def process_key(self, key: Any, values: list[Any], timestamps: list[int] | None) -> None:
        """Filter the records of one key."""
        position = iter(values)
        try:
            keep, kept = filtered(self.call, position, values, self.emission.copy)
        except BaseException as cause:
            raise self.failed(cause, values, position, key=key) from cause
        self.emit(kept, None if timestamps is None else list(compress(timestamps, keep)))
