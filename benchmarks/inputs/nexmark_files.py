"""Events of Nexmark as files: Parquet for Spark and for us, and tables of text that the Flink peer loads into its heap.

DIRECTORY/bid/0.parquet …        one file per core
DIRECTORY/bid.tsv                a line of names, a line of types, the rows
DIRECTORY/q0.sql …               the queries in the dialect of Flink
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from benchmarks.nexmark.events import nexmark_events
from benchmarks.nexmark.queries import QUERIES

TYPES = {
    pa.int64(): "BIGINT",
    pa.string(): "STRING",
    pa.timestamp("us"): "TIMESTAMP(3)",
}
"""Types of columns in SQL."""


def write_nexmark(root: Path, events: int, files: int) -> None:
    """Write the tables of so many events, each as some files of columns and as one of text, and the queries."""
    for name, rows in nexmark_events(events).tables().items():
        directory = root / name
        directory.mkdir(parents=True)
        size = -(-len(rows) // files) or 1
        for number in range(files):
            part = rows.slice(number * size, size)
            pq.write_table(part, directory / f"{number}.parquet")
        _write_text(rows, root / f"{name}.tsv")
    for query in QUERIES.values():
        (root / f"{query.name}.sql").write_text(query.flink_text, encoding="utf-8")


def _write_text(rows: pa.Table, path: Path) -> None:
    columns = {
        field.name: _millis(rows[field.name])
        if field.type == pa.timestamp("us")
        else rows[field.name]
        for field in rows.schema
    }
    heads = (rows.column_names, [TYPES[field.type] for field in rows.schema])
    options = pc_csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with path.open("wb") as file:
        file.write("".join("\t".join(head) + "\n" for head in heads).encode())
        pc_csv.write_csv(pa.table(columns), file, options)


def _millis(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.divide(column.cast(pa.int64()), 1000)


def ddl(root: Path, name: str) -> str:
    """Return the statement that makes a table of its files, with event time if it has some."""
    schema = pq.read_schema(root / name / "0.parquet")
    columns = [f"`{field.name}` {TYPES[field.type]}" for field in schema]
    if "dateTime" in schema.names:
        columns.append("WATERMARK FOR dateTime AS dateTime - INTERVAL '4' SECOND")
    return (
        f"CREATE TABLE {name} ({', '.join(columns)}) WITH "
        f"('connector' = 'filesystem', 'format' = 'parquet', 'path' = '{root / name}');"
    )
