"""What the rows of the hour take in other encodings, per row: a line more in its record.

python -m benchmarks.coded_hour.rows WORK/data build/coded-hour.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.answers.coded_join_rows import ORDER, REFUND, parse_order, parse_refund
from benchmarks.encodings.row_encodings import Make, avro, coded, fixed_slots, pickled
from benchmarks.inputs.binlog import ORDERS, REFUNDS

ROWS = 20_000
"""Of each table; the bytes of a row do not depend on how many there are."""

ENCODINGS: dict[str, Make] = {
    "coded rows": coded,
    "slots of 8 bytes (BinaryRowData)": fixed_slots,
    "pickle": pickled,
    "Avro (fastavro)": avro,
}
_TABLES = ((ORDERS, ORDER, parse_order), (REFUNDS, REFUND, parse_refund))


def weights(data: Path, rows: int = ROWS) -> dict[str, Any]:
    """Return the bytes of a row of each table in each encoding, the mean of the first rows."""
    found: dict[str, Any] = {}
    for table, row_type, parse in _TABLES:
        some = list(islice(_rows(data / table.name, row_type, parse), rows))
        found[table.name] = {"rows": len(some)} | {
            name: round(make(row_type).encode(some).size_bytes / len(some), 1)
            for name, make in ENCODINGS.items()
        }
    return found


def _rows(directory: Path, row_type: Any, parse: Any) -> Iterator[Any]:
    for path in sorted(directory.iterdir()):
        with path.open(encoding="utf-8") as file:
            for line in file:
                yield from map(row_type.coerce, parse(line))


def row_table(found: dict[str, Any]) -> str:
    """Return the bytes of a row as a table of Markdown."""
    lines = ["| bytes of a row | an order | a refund |", "|---|---|---|"]
    lines += [
        f"| {name} | {' | '.join(f'{found[table.name][name]:,.0f}' for table, _, _ in _TABLES)} |"
        for name in ENCODINGS
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    _found = weights(Path(sys.argv[1]))
    with Path(sys.argv[2]).open("a", encoding="utf-8") as _lines:
        _lines.write(json.dumps({"rows": _found}) + "\n")
    sys.stdout.write(row_table(_found))
