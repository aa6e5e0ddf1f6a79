"""Change records of two database tables as JSON lines, as a binlog reader puts them on a topic.

    python -m benchmarks.inputs.binlog DIRECTORY [RECORDS [KEYS]]

    DIRECTORY/orders/00000.json ...     about 5 kB a line: a wide table, of which the join uses
                                        21 strings
    DIRECTORY/refunds/00000.json ...    about 2 kB: 12 strings, 2 of the row before, a number

    {"operation": "U", "table": "orders", "offset": 17, "data": {…}, "old_data": {…}}

Record `i` of a table follows from `i` alone. Its order is `mix(i) % keys`, so an order has any
number of records on either side; one record in twenty is a deletion (`D`).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from os import utime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.model.digest import UInt64s, mix

FILES = 16
"""Files per table; a live run reads some of them per micro-batch."""

_STATUS = ("CREATED", "PAID", "SHIPPED", "SIGNED", "CLOSED")
_CHANNELS = ("app", "web", "mini", "pos")
_CITIES = ("Hangzhou", "Beijing", "Shenzhen", "Chengdu", "Xi'an", "Zürich")
_REASONS = ("damaged", "late", "wrong size", "no longer wanted", "")
_OPERATIONS = ("D", "U", "U", "U", "U", *("I",) * 15)
_TEXT = "the quick brown fox jumps over the lazy dog and then rests a while; "


@dataclass(frozen=True, slots=True)
class TableShape:
    """One table.

    Attributes:
        name: Of the table and its directory.
        seed: Sets its records apart from those of the other one.
        padding: Characters of columns that the join does not use.
        columns: (bits of a record, order) to the columns that it uses.
        old_columns: Bits to columns of the row before.
    """

    name: str
    seed: int
    padding: int
    columns: Callable[[int, int], dict[str, Any]]
    old_columns: Callable[[int], dict[str, Any]]

    def line(self, index: int, keys: int) -> str:
        """Return one record."""
        orders, bits, operations = (int(column[0]) for column in self.facts([index], keys))
        start = bits % len(_TEXT)
        text = (_TEXT * (self.padding // len(_TEXT) + 2))[start : start + self.padding // 4]
        unused = {f"snapshot_{number}": text for number in range(4)}
        record = {
            "operation": _OPERATIONS[operations],
            "table": self.name,
            "offset": index,
            "data": {**self.columns(bits, orders), **unused},
            "old_data": self.old_columns(bits),
        }
        return json.dumps(record, ensure_ascii=False)

    def facts(self, indexes: Any, keys: int) -> tuple[UInt64s, UInt64s, UInt64s]:
        """Return order, bits and operation (0 is a deletion) of many records."""
        mixed = mix(np.asarray(indexes, dtype=np.uint64) + np.uint64(self.seed))
        bits = mix(mixed)
        return mixed % np.uint64(keys), bits, bits % np.uint64(len(_OPERATIONS))


def _order(bits: int, order: int) -> dict[str, Any]:
    hour = bits % 24
    return {
        "order_id": str(10**15 + order),
        "buyer_id": str(bits % 10**8),
        "seller_id": str(bits % 9973),
        "shop_id": str(bits % 997),
        "status": _STATUS[bits % 5],
        "pay_status": str(bits % 3),
        "channel": _CHANNELS[bits % 4],
        "currency": "CNY",
        "amount": f"{bits % 100_000 / 100:.2f}",
        "discount": f"{bits % 1000 / 100:.2f}",
        "postage": "0.00" if bits % 3 else None,
        "created_at": f"2024-05-{bits % 28 + 1:02} {hour:02}:{bits % 60:02}:00",
        "paid_at": f"2024-05-{bits % 28 + 1:02} {hour:02}:{bits % 59:02}:30",
        "province": str(bits % 34),
        "city": _CITIES[bits % 6],
        "district": str(bits % 2800),
        "zip_code": f"{bits % 10**6:06}",
        "receiver": f"user {bits % 10**5}",
        "phone_tail": f"{bits % 10**4:04}",
        "warehouse": f"W{bits % 40}",
        "device": "ios" if bits % 2 else "android",
    }


def _refund(bits: int, order: int) -> dict[str, Any]:
    return {
        "refund_id": str(2 * 10**15 + bits % 10**12),
        "order_id": str(10**15 + order),
        "reason": _REASONS[bits % 5],
        "status": _STATUS[bits % 5],
        "type": "goods" if bits % 3 else "money",
        "amount": f"{bits % 10_000 / 100:.2f}",
        "operator_id": str(bits % 5000),
        "created_at": f"2024-06-{bits % 28 + 1:02} {bits % 24:02}:00:00",
        "updated_at": f"2024-06-{bits % 28 + 1:02} {bits % 24:02}:{bits % 60:02}:00",
        "channel": _CHANNELS[bits % 4],
        "stage": str(bits % 7),
        "remark_code": None if bits % 4 else f"R{bits % 100}",
        "version": bits % 12,
    }


def _refund_before(bits: int) -> dict[str, Any]:
    return {"status": _STATUS[(bits + 4) % 5], "stage": str((bits + 6) % 7)}


ORDERS = TableShape(
    "orders", seed=1 << 60, padding=4300, columns=_order, old_columns=lambda _: {"status": None}
)
REFUNDS = TableShape(
    "refunds", seed=3 << 60, padding=1500, columns=_refund, old_columns=_refund_before
)


def write_binlog(root: Path, records: int, keys: int, files: int = FILES) -> None:
    """Write both tables, `records` of each, with modification times in order of the files."""
    begin = int(time.time()) - files
    for table in (ORDERS, REFUNDS):
        directory = root / table.name
        directory.mkdir(parents=True)
        for number in range(files):
            path = directory / f"{number:05}.json"
            part = range(records * number // files, records * (number + 1) // files)
            with path.open("w", encoding="utf-8") as file:
                file.writelines(f"{table.line(index, keys)}\n" for index in part)
            utime(path, (begin + number, begin + number))


if __name__ == "__main__":
    _numbers = [int(argument) for argument in sys.argv[2:]]
    _records = _numbers[0] if _numbers else 10_000
    write_binlog(Path(sys.argv[1]), _records, _numbers[1] if _numbers[1:] else _records)
