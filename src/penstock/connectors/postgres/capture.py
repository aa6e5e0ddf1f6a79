"""Captures tables in files: ranges of pages, which several connections read at one snapshot.

    COPY (SELECT … WHERE ctid >= '(4096,0)' AND ctid < '(8192,0)') TO STDOUT (FORMAT csv)

A range is a Parquet file. Its columns are bytes: the text that PostgreSQL writes, as in changes, so that a value is
the same whether it was captured or changed. The file's metadata has the columns.
"""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import accumulate, repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from penstock.connectors.postgres.beyond import ERROR, loaded_columns
from penstock.connectors.postgres.client import PostgresAddress, library, new_session
from penstock.connectors.postgres.values import Column, SourceTable, TableName, TableRows
from penstock.failpoint import failpoint

_RANGE_PAGES = 4096
_GROUP_BYTES = 8 << 20
"""Text of a row group, about; a reader has two of them in memory."""

_Version = tuple[Path, int, int, int]
"""A path, and the time, number and size of the file that is there."""

_FACTS = b"penstock"
_PAGES = """\
select pg_catalog.pg_relation_size(%s::regclass) / current_setting('block_size')::bigint,
       (extract(epoch from now()) * 1000)::bigint"""

_LEAVES = """\
with recursive part(oid) as (
    select %s::oid union all
    select i.inhrelid from pg_catalog.pg_inherits i join part on i.inhparent = part.oid)
select c.oid::bigint, n.nspname, c.relname from part join pg_catalog.pg_class c on c.oid = part.oid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace where c.relkind <> 'p' order by c.oid"""
"""By the catalogue's rows and not its functions, so that it is as of the snapshot."""


@dataclass(frozen=True, slots=True)
class _PageRange:
    """Pages of a table; `last` is None for all that follow, and `most` for all of their rows."""

    table: SourceTable
    relation: TableName
    first: int
    last: int | None
    name: str
    most: int | None = None


class Capture:
    """Captures tables at one snapshot."""

    def __init__(
        self, address: PostgresAddress, snapshot: str, position: int, directory: Path
    ) -> None:
        """Begin without a connection."""
        self._address = address
        self._snapshot = snapshot
        self._position = position
        self._directory = directory
        self._lock = threading.Lock()
        self._is_failed = False

    def files(self, tables: Sequence[SourceTable], connections: int) -> dict[str, int]:
        """Capture tables; return file to number of records, of those that have some."""
        with self._session() as session:
            ranges = iter([part for n, t in enumerate(tables) for part in _ranges(session, n, t)])
            now_ms = _time(session, tables)
        with ThreadPoolExecutor(connections, thread_name_prefix="penstock-capture") as pool:
            results = [
                *pool.map(self._take, repeat(ranges, connections), repeat(now_ms, connections))
            ]
        return dict(sorted(pair for counts in results for pair in counts.items() if pair[1]))

    def first_files(self, tables: Sequence[SourceTable], records: int) -> dict[str, int]:
        """Capture the first records of each table; return as `files`."""
        counts: dict[str, int] = {}
        with self._session() as session:
            now_ms = _time(session, tables)
            for number, table in enumerate(tables):
                left = records
                for taken in _ranges(session, number, table):
                    count = self._write(session, replace(taken, most=left), now_ms)
                    left -= count
                    counts |= {taken.name: count} if count else {}
                    if not left:
                        break
        return counts

    def _session(self) -> Any:
        session = new_session(self._address, "snapshot")
        try:
            session.execute("begin isolation level repeatable read read only")
            sql = library().sql
            session.execute(sql.SQL("set transaction snapshot {}").format(self._snapshot))
        except BaseException:
            session.close()
            raise
        return session

    def _take(self, ranges: Iterator[_PageRange], now_ms: int) -> dict[str, int]:
        """Capture ranges as long as there are some and no thread has failed."""
        counts = {}
        try:
            with self._session() as session:
                while not self._is_failed:
                    with self._lock:
                        taken = next(ranges, None)
                    if taken is None:
                        break
                    counts[taken.name] = self._write(session, taken, now_ms)
                    failpoint("postgres.range-captured")
        except BaseException:
            self._is_failed = True
            raise
        return counts

    def _write(self, session: Any, taken: _PageRange, now_ms: int) -> int:
        """Write a range; return how many records it has. Without records there is no file."""
        columns = taken.table.columns
        facts = {
            "table": str(taken.table.name),
            "columns": [list(asdict(column).values()) for column in columns],
            "lsn": self._position,
            "timestamp_ms": now_ms,
        }
        schema = pa.schema([(f"c{index}", pa.binary()) for index in range(len(columns))])
        schema = schema.with_metadata({_FACTS: json.dumps(facts).encode()})
        path, count = self._directory / taken.name, 0
        writer: pq.ParquetWriter | None = None
        try:
            with session.cursor().copy(_statement(taken)) as rows:
                for text in _texts(rows):
                    writer = writer or pq.ParquetWriter(path, schema, compression="zstd")
                    group = _columns(text, schema)
                    writer.write_table(group)
                    count += group.num_rows
        finally:
            if writer is not None:
                writer.close()
        return count


def _time(session: Any, tables: Sequence[SourceTable]) -> int:
    """Return the time of the snapshot."""
    _, now_ms = session.execute(_PAGES, (tables[0].oid,)).fetchone()
    return int(now_ms)


def _ranges(session: Any, number: int, table: SourceTable) -> Iterator[_PageRange]:
    relations = [(table.oid, table.name)]
    if table.is_partitioned:
        leaves = session.execute(_LEAVES, (table.oid,)).fetchall()
        relations = [(oid, TableName(schema, name)) for oid, schema, name in leaves]
    index = 0
    for oid, relation in relations:
        pages, _ = session.execute(_PAGES, (oid,)).fetchone()
        for first in range(0, max(pages, 1), _RANGE_PAGES):
            last = first + _RANGE_PAGES if first + _RANGE_PAGES < pages else None
            yield _PageRange(table, relation, first, last, f"{number:03d}-{index:06d}.parquet")
            index += 1


def _statement(taken: _PageRange) -> Any:
    """Return the COPY of a range."""
    sql = library().sql
    table = taken.table
    last = (
        sql.SQL("") if taken.last is None else sql.SQL(" and ctid < {}").format(f"({taken.last},0)")
    )
    rows = sql.SQL("") if table.row_filter is None else sql.SQL(f" and ({table.row_filter})")
    most = sql.SQL("") if taken.most is None else sql.SQL(f" limit {taken.most}")
    return sql.SQL(
        "copy (select {columns} from only {table} where ctid >= {first}{last}{rows}{most}) "
        "to stdout (format csv)"
    ).format(
        columns=sql.SQL(", ").join(sql.Identifier(column.name) for column in table.columns),
        table=sql.Identifier(taken.relation.schema, taken.relation.name),
        first=f"({taken.first},0)",
        last=last,
        rows=rows,
        most=most,
    )


def _texts(rows: Any) -> Iterator[bytes]:
    """Yield the text of some rows at a time. The server sends whole rows."""
    parts: list[bytes] = []
    size = 0
    for part in rows:
        parts.append(bytes(part))
        size += len(part)
        if size >= _GROUP_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def _columns(text: bytes, schema: pa.Schema) -> pa.Table:
    """Return rows of CSV as columns of bytes; a NULL is what has neither text nor quotes."""
    columns = pa_csv.read_csv(
        io.BytesIO(text),
        read_options=pa_csv.ReadOptions(column_names=schema.names, block_size=len(text) + 1),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pa_csv.ConvertOptions(
            column_types=schema,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            check_utf8=False,
        ),
    )
    return columns.cast(schema)


@dataclass(frozen=True, slots=True)
class _File:
    """A file of a capture.

    Attributes:
        lsn: Position of the snapshot.
        bounds: Number of the record behind each row group.
    """

    table: str
    columns: tuple[Column, ...]
    lsn: int
    timestamp_ms: int
    bounds: tuple[int, ...]


def _version_of(path: Path) -> _Version:
    """Return which file is there now: a job that begins anew in the same directory writes others of the same names."""
    status = path.stat()
    return path, status.st_mtime_ns, status.st_ino, status.st_size


@lru_cache(maxsize=64)
def _file_of(version: _Version) -> _File:
    path = version[0]
    with pq.ParquetFile(path) as file:
        facts = json.loads(file.schema_arrow.metadata[_FACTS])
        groups = [file.metadata.row_group(n).num_rows for n in range(file.metadata.num_row_groups)]
    return _File(
        facts["table"],
        tuple(Column(*column) for column in facts["columns"]),
        facts["lsn"],
        facts["timestamp_ms"],
        tuple(accumulate(groups)),
    )


@lru_cache(maxsize=2)
def _group_of(version: _Version, number: int) -> pa.Table:
    with pq.ParquetFile(version[0]) as file:
        return file.read_row_group(number)


def captured_rows(path: Path, start: int, end: int, beyond: str = ERROR) -> TableRows:
    """Return the rows `[start, end)` of a file, or the first ones of them."""
    version = _version_of(path)
    file = _file_of(version)
    number = next(n for n, bound in enumerate(file.bounds) if start < bound)
    begin = file.bounds[number - 1] if number else 0
    until = min(end, file.bounds[number])
    part = _group_of(version, number).slice(start - begin, until - start)
    columns = tuple(replace(column, beyond=beyond) for column in file.columns)
    texts = [part.column(index).to_pylist() for index in range(len(columns))]
    values = loaded_columns(file.table, columns, texts)
    return TableRows(file.table, columns, values, file.lsn, file.timestamp_ms)
