"""`coded-join`: from lines to rows, the join of the lines' facts, and what rows weigh."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.encodings.fixed_slots import FixedSlots
from benchmarks.inputs.binlog import ORDERS, REFUNDS, TableShape
from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs
from penstock.common import Row, Types
from penstock.types import RowTypeInfo
from penstock.wire.coded_rows import coded_codec

ORDER_COLUMNS = list(ORDERS.columns(0, 0))
REFUND_COLUMNS = [name for name in REFUNDS.columns(0, 0) if name != "version"]

ORDER = Types.ROW_NAMED(
    [*ORDER_COLUMNS, "offset"], [*[Types.STRING()] * len(ORDER_COLUMNS), Types.LONG()]
)
REFUND = Types.ROW_NAMED(
    [*REFUND_COLUMNS, "old_status", "old_stage", "version", "offset"],
    [*[Types.STRING()] * (len(REFUND_COLUMNS) + 2), Types.LONG(), Types.LONG()],
)

NO_MATCH = -1
"""Stands in outputs for the offset of a refund that is not there."""

_order, _refund = Row(*ORDER.get_field_names()), Row(*REFUND.get_field_names())


def parse_order(line: str) -> Iterator[Row]:
    """Yield the order of a line, unless it is a deletion."""
    record = json.loads(line)
    if record["operation"] != "D":
        yield _order(*map(record["data"].get, ORDER_COLUMNS), record["offset"])


def parse_refund(line: str) -> Iterator[Row]:
    """Yield the refund of a line, unless it is a deletion."""
    record = json.loads(line)
    if record["operation"] != "D":
        data, old = record["data"], record["old_data"]
        values = map(data.get, REFUND_COLUMNS)
        yield _refund(*values, old["status"], old["stage"], data["version"], record["offset"])


def order_id(record: Any) -> str:
    """Return the key of either side."""
    key: str = record.order_id
    return key


def offsets(change: Row) -> tuple[int, int]:
    """Return the output of a joined row."""
    refund = change[1]
    return change[0].offset, NO_MATCH if refund is None else refund.offset


def expected(records: int, keys: int) -> Outputs:
    """Compute the join from the records' facts: no line, no parser, no engine."""
    order_keys, order_offsets = _kept(ORDERS, records, keys)
    refund_keys, refund_offsets = _kept(REFUNDS, records, keys)
    by_key = np.argsort(refund_keys, kind="stable")
    refund_keys, refund_offsets = refund_keys[by_key], refund_offsets[by_key]
    first = np.searchsorted(refund_keys, order_keys, side="left")
    matches = np.searchsorted(refund_keys, order_keys, side="right") - first
    alone = matches == 0
    left = np.repeat(order_offsets, matches)
    within = np.arange(len(left)) - np.repeat(np.cumsum(matches) - matches, matches)
    right = refund_offsets[np.repeat(first, matches) + within]
    columns = (
        np.concatenate([left, order_offsets[alone]]),
        np.concatenate([right, np.full(int(alone.sum()), NO_MATCH, dtype=np.int64)]),
    )
    return Outputs(len(columns[0]), as_text(digest_of(*columns)))


def row_bytes(root: Path) -> tuple[int, int]:
    """Return the bytes of all rows that the join keeps: as coded rows, and in slots of 8 bytes."""
    coded = fixed = 0
    for table, row_type, parse in (
        (ORDERS, ORDER, parse_order),
        (REFUNDS, REFUND, parse_refund),
    ):
        encode = coded_codec(row_type).encode
        slots = FixedSlots(row_type).encode
        for row in _rows(root / table.name, row_type, parse):
            coded += len(encode(row))
            fixed += len(slots(row))
    return coded, fixed


def _rows(directory: Path, row_type: RowTypeInfo, parse: Any) -> Iterator[Row]:
    for path in sorted(directory.iterdir()):
        with path.open(encoding="utf-8") as file:
            for line in file:
                yield from map(row_type.coerce, parse(line))


def _kept(table: TableShape, records: int, keys: int) -> tuple[Any, Any]:
    orders, _, operations = table.facts(range(records), keys)
    kept = np.nonzero(operations)[0]
    return orders[kept], kept.astype(np.int64)
