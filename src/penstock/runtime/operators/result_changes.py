"""Changes of the results of keys, from their parts before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import pyarrow as pa

from penstock.errors import CallSite
from penstock.expressions.arrow.records import ChainEvaluation
from penstock.expressions.keyed_aggregate import ChangelogOutput, KeyedAggregate
from penstock.runtime.operators.parts_state import Update
from penstock.types.row import Row, RowKind, values_of_row


class ResultChanges:
    """Makes the changes of results: +I of a new key, -U and +U of one whose result is another, -D of one without rows."""

    def __init__(self, aggregate: KeyedAggregate, name: str, origin: CallSite | None) -> None:
        changes = aggregate.changes
        assert isinstance(changes, ChangelogOutput), "it emits changes"
        self._rows = changes.rows
        self._results = ChainEvaluation(aggregate.results, name, origin, keys=aggregate.keys)

    def of_columns(self, update: Update) -> list[Row]:
        """Return the changes of keys whose parts are columns."""
        had = self._having_rows(update.before, update.was_known)
        has = self._having_rows(update.after, [True] * update.after.num_rows)
        masks = [pa.array(each, pa.bool_()) for each in (had, has)]
        both = [update.before.filter(masks[0]), update.after.filter(masks[1])]
        made, _ = self._results.of_columns(pa.concat_batches(both))
        return list(_changes(had, has, made))

    def of_records(self, before: Iterable[Any], after: Iterable[Any]) -> list[Row]:
        """Return the changes of keys whose parts are records; None if a key was not known."""
        rows = self._rows
        had: list[bool] = []
        has: list[bool] = []
        both: list[list[Any]] = [[], []]
        for flags, found, records in ((had, both[0], before), (has, both[1], after)):
            for each in records:
                counts = each is not None and (rows is None or each[rows] > 0)
                flags.append(counts)
                if counts:
                    found.append(each)
        made, _ = self._results.of_records(list(chain(*both)), None)
        return list(_changes(had, has, made))

    def _having_rows(self, parts: pa.RecordBatch, known: Iterable[bool]) -> list[bool]:
        if self._rows is None:
            return list(known)
        counts = parts.column(self._rows).to_pylist()
        return [is_known and count > 0 for is_known, count in zip(known, counts, strict=True)]


def _changes(had: list[bool], has: list[bool], made: list[Row]) -> Iterator[Row]:
    """Yield changes in order of keys."""
    earlier, later = iter(made), iter(made[sum(had) :])
    for was, now in zip(had, has, strict=True):
        before = next(earlier) if was else None
        after = next(later) if now else None
        if before is None:
            if after is not None:
                yield after
        elif after is None:
            before.set_row_kind(RowKind.DELETE)
            yield before
        elif values_of_row(before) != values_of_row(after):
            before.set_row_kind(RowKind.UPDATE_BEFORE)
            after.set_row_kind(RowKind.UPDATE_AFTER)
            yield before
            yield after
