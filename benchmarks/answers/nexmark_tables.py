"""`nexmark`: the digest of the results of queries, and the right ones, which DuckDB computes of the same files.

The digest of a table is the sum of 32 bits of the MD5 of each row as text: columns with `|` between them, NULL as `~`, times as
microseconds, decimals with six digits behind the point. That of several queries adds those of each, times its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb

from benchmarks.model.digest import MODULUS, as_text
from benchmarks.model.program import Outputs
from benchmarks.nexmark.events import nexmark_events
from benchmarks.nexmark.queries import QUERIES


def digest_of(relation: duckdb.DuckDBPyRelation) -> tuple[int, int]:
    """Return number and digest of the rows of a table."""
    texts = [_text(*each) for each in zip(relation.columns, relation.types, strict=True)]
    row = f"concat_ws('|', {', '.join(texts)})"
    bits = f"CAST('0x' || substr(md5({row}), 1, 8) AS UBIGINT)"
    ((count, digest),) = relation.aggregate(
        f"count(*), coalesce(sum(CAST({bits} AS HUGEINT)), 0)"
    ).fetchall()
    return int(count), int(digest)


def _text(name: str, kind: object) -> str:
    column = f'"{name}"'
    shown = str(kind)
    if shown.startswith("TIMESTAMP"):
        column = f"epoch_us({column})"
    elif shown.startswith("DECIMAL"):
        column = f"CAST({column} AS DECIMAL(38, 6))"
    return f"coalesce(CAST({column} AS VARCHAR), '~')"


def digest_of_all(names: Sequence[str], of_query: Callable[[str], tuple[int, int]]) -> Outputs:
    """Return the outputs of several queries.

    Args:
        names: Of the queries, in order.
        of_query: Name to number and digest of the rows.
    """
    count = digest = 0
    for place, name in enumerate(names, 1):
        rows, of_rows = of_query(name)
        count += rows
        digest += place * of_rows
    return Outputs(count, as_text(digest % MODULUS))


def digest_of_files(directory: Path) -> tuple[int, int]:
    """Return number and digest of the rows of Parquet files; of none there are none."""
    pattern = directory / "**" / "*.parquet"
    if not any(directory.rglob("*.parquet")):
        return 0, 0
    return digest_of(duckdb.connect().read_parquet(str(pattern)))


def expected(root: Path, names: Sequence[str]) -> Outputs:
    """Compute the queries."""
    connection = duckdb.connect()
    for name in nexmark_events(0).tables():
        connection.read_parquet(str(root / name / "*.parquet")).create_view(name)
    return digest_of_all(names, lambda name: digest_of(connection.sql(QUERIES[name].duckdb_text)))
