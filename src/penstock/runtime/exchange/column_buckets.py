"""Routes records of a columnar source by a field, without making rows.

If a source feeds a channel directly and its key is a field of plain type, keys, routes and frames are
made of columns: a batch costs a few calls of NumPy and Arrow instead of a few operations per record.
The reader makes the rows. Batches are buffered until they fill frames.

Live runs only: in a batch run every key group is a route of its own, and frames would be small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as kinds

from penstock.program.routing import RecordRoutes
from penstock.program.selected_field import field_position
from penstock.runtime.exchange.group_order import hashes_of_column
from penstock.types.arrow_lists import columns_to_lists
from penstock.wire.canonical.key_groups import groups_of
from penstock.wire.row_columns import is_plain


class ColumnBuckets:
    """The buffered columns of one channel."""

    def __init__(
        self,
        selector: Callable[[Any], Any],
        max_parallelism: int,
        routes: RecordRoutes,
        limit: int,
    ) -> None:
        """Begin empty."""
        self._limit = limit
        self._selector = selector
        self._groups = max_parallelism
        self._routes = routes
        self._waiting: list[Any] = []
        self._schema: Any = None
        self._key: int | None = None
        self._count = 0

    @property
    def is_empty(self) -> bool:
        """True if nothing is buffered."""
        return not self._count

    @property
    def is_full(self) -> bool:
        """True if what is buffered has to leave."""
        return self._count >= self._limit

    def takes(self, schema: Any) -> bool:
        """Return whether it can route batches of an Arrow schema; others are sent as rows."""
        if schema is not self._schema and schema != self._schema:
            assert not self._waiting, "batches of one schema at a time"
            self._key = _key_column(schema, self._selector)
        self._schema = schema
        return self._key is not None

    def add(self, batch: Any, timestamps: list[int] | None = None) -> None:
        """Add a batch of the schema of the last call of `takes`."""
        assert timestamps is None, "records of columns of a source have none"
        self._waiting.append(batch)
        self._count += batch.num_rows

    def take(self, max_records: int) -> Iterator[tuple[int, Any, list[int] | None]]:
        """Yield all buffered records as (route, batch, no timestamps), in order of arrival for each route."""
        if not self._waiting:
            return
        table = pa.Table.from_batches(self._waiting).combine_chunks()
        self._waiting, self._count = [], 0
        (batch,) = table.to_batches()
        routes = self._routes_of(batch)
        for route in np.unique(routes).tolist():
            own = batch.take(pa.array(np.flatnonzero(routes == route)))
            for at in range(0, own.num_rows, max_records):
                yield route, own.slice(at, max_records), None

    def _routes_of(self, batch: Any) -> npt.NDArray[np.int64]:
        assert self._key is not None, "only what can be placed is taken"
        hashes = hashes_of_column(batch.column(self._key))
        if hashes is not None:
            return self._routes.of_groups[groups_of(hashes, self._groups)]
        (keys,) = columns_to_lists(batch.select([self._key]))
        return np.array(self._routes.of(keys), dtype=np.int64)


def _key_column(schema: Any, selector: Callable[[Any], Any]) -> int | None:
    if not is_plain(schema):
        return None
    position = field_position(selector, schema.names)
    # NaN is no key: such batches are sent as rows, because the error shows the row.
    if position is not None and kinds.is_floating(schema.field(position).type):
        return None
    return position
