"""The queries by name, from the files beside this one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchmarks.nexmark.events import nexmark_events

_HERE = Path(__file__).parent
_RESERVED = re.compile(r"\b(dateTime|key|value)\b")
_TABLES = tuple(nexmark_events(0).tables())


@dataclass(frozen=True, slots=True)
class NexmarkQuery:
    """A query.

    Attributes:
        name: `q0` to `q22`.
        text: In the dialect of Flink.
        duckdb_text: The same for DuckDB.
    """

    name: str
    text: str
    duckdb_text: str

    @property
    def flink_text(self) -> str:
        """The same for Flink, where some words are reserved."""
        return _RESERVED.sub(r"`\g<0>`", self.text)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables it reads."""
        return tuple(
            name for name in _TABLES if re.search(rf"\b(FROM|JOIN|TABLE) {name}\b", self.text)
        )


def _read(path: Path) -> NexmarkQuery:
    _, _, text = path.read_text(encoding="utf-8").partition("\n")
    other = path.with_suffix(".duckdb.sql")
    duckdb_text = other.read_text(encoding="utf-8") if other.exists() else text
    return NexmarkQuery(path.stem, text.strip(), duckdb_text.strip())


QUERIES = {
    path.stem: _read(path)
    for path in sorted(_HERE.glob("q*.sql"), key=lambda path: (len(path.stem), path.stem))
    if "." not in path.stem
}
"""Name to query, in order. Of Nexmark's 23, q12 is missing: its windows go by the clock of whoever computes them."""
