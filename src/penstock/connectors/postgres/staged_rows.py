"""Rows that wait for their epoch: a table per task, which COPY fills while the task runs, and the statements of a sink.

A killed task leaves no rows, because its transaction ends with its connection. The next start of the job drops rows
that were staged and not committed.

COPY sends texts to the server, and a text loses parts of psycopg's types: a zone in a `timestamp`, a list in a `jsonb`.
The staged tables have the constraints of the table, so that a task refuses a row, and not the commit of a decided epoch.

Only statements quote names.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from math import isfinite, isnan
from typing import Any

from penstock.connectors.postgres.beyond import base_types
from penstock.connectors.postgres.client import (
    PostgresAddress,
    library,
    new_session,
    postgres_errors,
)
from penstock.connectors.postgres.values import TableName
from penstock.errors import SinkError
from penstock.graph.endpoints import SinkContext, SinkWriter
from penstock.types.row import Row, RowKind
from penstock.user_failure import short

SCHEMA = "penstock"
"""Schema of staged rows and of the epochs of sinks."""

NUMBER, IS_DELETED = "penstock_n", "penstock_d"
_TASK = "penstock_t"

_LOCK = 8_072_115_406
"""Lock for the creation of the schema: two `if not exists` at once fail."""

LIMIT = "set local idle_in_transaction_session_timeout = '10s'"
"""Begins what holds locks that another driver may need: the server ends the session of a client that is frozen or gone.

`pg_terminate_backend` by the next driver needs rights, and the process id of a session that a pool may have given to others.
"""

SET_UP = (
    LIMIT,
    f"select pg_advisory_xact_lock({_LOCK})",
    "create schema if not exists penstock",
    """\
create table if not exists penstock.epochs (
    writer text primary key, mark bigint, owner text not null,
    at timestamptz not null default now())""",
)
OWN = """\
insert into penstock.epochs (writer, owner) values (%s, %s)
on conflict (writer) do update set owner = excluded.owner"""
MARK = "select mark from penstock.epochs where writer = %s and owner = %s"
RAISE = """\
update penstock.epochs set mark = %s, at = now()
where writer = %s and owner = %s returning mark"""
HAS_MARKS = "select to_regclass('penstock.epochs') is not null"
IS_MARKED = "select true from penstock.epochs where writer = %s"
UNMARK = "delete from penstock.epochs where writer = %s"
STAGED = """\
select c.relname from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = %s and starts_with(c.relname, %s)"""


@dataclass(frozen=True, slots=True)
class TableWrites:
    """Writes of rows to a table.

    Attributes:
        columns: Columns of a row, in order.
        keys: Columns by which rows replace others; none appends.
    """

    table: TableName
    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The table in words."""
        return str(self.table)

    def make_stage(self, stage: str) -> Any:
        """Return the statement that makes a table of staged rows.

        It is logged: an unlogged one is empty after a crash of the server, and the epoch is decided by then.
        """
        return _sql(
            "create table {stage} as "
            "select 0::bigint as {number}, false as {deleted}, {columns} from {table} with no data",
            stage=_staged(stage),
            number=_names([NUMBER]),
            deleted=_names([IS_DELETED]),
            columns=_names(self.columns),
            table=self._target(),
        )

    def check_stage(self, stage: str, name: str, condition: str) -> Any:
        """Return the statement that adds a constraint of the table to staged rows; those that delete need not fulfil it."""
        return _sql(
            "alter table {stage} add constraint {name} check ({deleted} or ({condition}))",
            stage=_staged(stage),
            name=_names([name]),
            deleted=_names([IS_DELETED]),
            condition=library().sql.SQL(condition.replace("{", "{{").replace("}", "}}")).format(),
        )

    def fill_stage(self, stage: str) -> Any:
        """Return the COPY that stages rows: number, whether it is deleted, values."""
        return _sql(
            "copy {stage} ({columns}) from stdin",
            stage=_staged(stage),
            columns=_names([NUMBER, IS_DELETED, *self.columns]),
        )

    def commit(self, stages: Sequence[str]) -> list[Any]:
        """Return the statements that write staged rows, of several tasks in order."""
        every = (
            library()
            .sql.SQL(" union all ")
            .join(
                _sql(
                    "select {task} as {name}, * from {stage}",
                    task=library().sql.Literal(task),
                    name=_names([_TASK]),
                    stage=_staged(stage),
                )
                for task, stage in enumerate(stages)
            )
        )
        if not self.keys:
            return [self._insert(every, order=[_TASK, NUMBER])]
        newest = _sql(
            "select distinct on ({keys}) * from ({every}) staged "
            "order by {keys}, {task} desc, {number} desc",
            keys=_names(self.keys),
            every=every,
            task=_names([_TASK]),
            number=_names([NUMBER]),
        )
        gone = _sql(
            "delete from {table} t using ({newest}) s where s.{deleted} and {same}",
            table=self._target(),
            newest=newest,
            deleted=_names([IS_DELETED]),
            same=library()
            .sql.SQL(" and ")
            .join(_sql("t.{key} = s.{key}", key=_names([key])) for key in self.keys),
        )
        return [gone, self._insert(newest, order=self.keys)]

    def check(self) -> Any:
        """Return a statement that does nothing, and fails where `commit` would."""
        nothing = _sql(
            "select 0 as {task}, 0::bigint as {number}, false as {deleted}, {columns} from {table} where false",
            task=_names([_TASK]),
            number=_names([NUMBER]),
            deleted=_names([IS_DELETED]),
            columns=_names(self.columns),
            table=self._target(),
        )
        return self._insert(nothing, order=[NUMBER])

    def _insert(self, rows: Any, order: Sequence[str]) -> Any:
        return _sql(
            "insert into {table} ({columns}) select {columns} from ({rows}) s "
            "where not {deleted} order by {order}{conflict}",
            table=self._target(),
            columns=_names(self.columns),
            rows=rows,
            deleted=_names([IS_DELETED]),
            order=_names(order),
            conflict=self._conflict(),
        )

    def _conflict(self) -> Any:
        sql = library().sql
        if not self.keys:
            return sql.SQL("")
        others = [column for column in self.columns if column not in self.keys]
        sets = sql.SQL(", ").join(_sql("{c} = excluded.{c}", c=_names([name])) for name in others)
        done = _sql("update set {sets}", sets=sets) if others else sql.SQL("nothing")
        return _sql(" on conflict ({keys}) do {done}", keys=_names(self.keys), done=done)

    def _target(self) -> Any:
        return library().sql.Identifier(self.table.schema, self.table.name)


def drop_stage(stage: str) -> Any:
    """Return the statement that drops staged rows, if they are there."""
    return _sql("drop table if exists {stage}", stage=_staged(stage))


def _staged(stage: str) -> Any:
    return library().sql.Identifier(SCHEMA, stage)


def _names(names: Sequence[str]) -> Any:
    sql = library().sql
    return sql.SQL(", ").join(sql.Identifier(name) for name in names)


def _sql(text: str, **parts: Any) -> Any:
    return library().sql.SQL(text).format(**parts)


_COLUMNS = """\
select a.attname, a.atttypid::bigint, a.attnotnull,
    exists (select from pg_catalog.pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal and t.tgtype & 2 = 2)
from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = %s and c.relname = %s and a.attnum > 0 and not a.attisdropped"""
"""A trigger BEFORE INSERT may change the row, so its table is only checked at the commit."""

_CHECKS = """\
select k.conname, pg_catalog.pg_get_expr(k.conbin, k.conrelid)
from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = %s and c.relname = %s and k.contype = 'c'
    and coalesce((to_jsonb(k) ->> 'conenforced')::boolean, true)
    and not exists (select from pg_catalog.pg_attribute a where a.attrelid = c.oid
                    and a.attnum = any(k.conkey) and a.attname <> all(%s))
order by k.conname"""

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class SinkColumns:
    """The columns of a sink.

    Attributes:
        converts: Position of a column to what makes a value for it, where psycopg's text is not enough.
        checks: Name and condition of each constraint that a row must fulfil.
    """

    converts: Mapping[int, Convert]
    checks: Sequence[tuple[str, str]]


def sink_columns(connection: Any, table: TableName, columns: Sequence[str]) -> SinkColumns:
    """Return the columns of a sink, as the table has them now."""
    rows = connection.execute(_COLUMNS, (table.schema, table.name)).fetchall()
    types = {name: oid for name, oid, _, _ in rows}
    bases = base_types(connection, list(types.values()))
    of_columns = (
        (index, bases[types[column]]) for index, column in enumerate(columns) if column in types
    )
    converts = {index: _CONVERTS[base] for index, base in of_columns if base in _CONVERTS}
    if any(has_trigger for *_, has_trigger in rows):
        return SinkColumns(converts, ())
    parameters = (table.schema, table.name, list(columns))
    required = [name for name, _, is_required, _ in rows if is_required and name in columns]
    checks = [(f"not null {n}: {name}", _is_there(name)) for n, name in enumerate(required)]
    return SinkColumns(converts, [*checks, *connection.execute(_CHECKS, parameters).fetchall()])


def _is_there(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}" is not null'


def _as_json(value: Any) -> Any:
    """Return JSON; a text is JSON already, as in psycopg."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _without_zone(value: Any) -> Any:
    """Return a time in UTC, which is the zone of the session, without the zone."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def _as_text(value: Any) -> Any:
    """Return a value that becomes text as the server converts it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime) and value.tzinfo is not None:
        return f"{_without_zone(value)}+00"
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, float) and value.is_integer() and abs(value) < _LONG_FLOAT:
        return f"{value:.0f}"
    return value


_LONG_FLOAT = 1e15
_CONVERTS: dict[int, Convert] = {
    **dict.fromkeys((114, 3802), _as_json),
    **dict.fromkeys((1114, 1082, 1083), _without_zone),
    **dict.fromkeys((25, 1042, 1043), _as_text),
}
"""Number of a type (`json`, `jsonb`; `timestamp`, `date`, `time`; texts) to what makes its values."""


_DELETED = frozenset({RowKind.DELETE})
_REPLACED = frozenset({RowKind.UPDATE_BEFORE})


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Handle of the rows of one task.

    Attributes:
        subtask: Index of the task.
    """

    table: str
    subtask: int
    record_count: int


def stage_prefix(context: SinkContext) -> str:
    """Return the prefix of the names of all staged tables of a sink."""
    named = f"{context.job_id}/{context.sink_id}".encode()
    return f"stage_{hashlib.sha256(named).hexdigest()[:20]}_"


class StagedRowWriter(SinkWriter):
    """Copies the rows of one task into a table of its own."""

    def __init__(
        self,
        address: PostgresAddress,
        writes: TableWrites,
        context: SinkContext,
        *,
        is_direct: bool,
    ) -> None:
        """Begin without a connection."""
        self._address = address
        self._writes = writes
        self._context = context
        self._is_direct = is_direct
        self._table = f"{stage_prefix(context)}{uuid.uuid4().hex[:20]}"
        self._connection: Any = None
        self._copying: AbstractContextManager[Any] | None = None
        self._copy: Any = None
        self._count = 0
        self._keys = [writes.columns.index(key) for key in writes.keys]
        self._converts: Mapping[int, Convert] = {}

    def write(self, values: list[Any]) -> None:
        """Stage records."""
        with self._errors("stage rows for"):
            if self._copy is None:
                self._begin()
            count = self._count
            for value in values:
                kind, row = self._row(value)
                if kind in _REPLACED and self._writes.keys:
                    continue  # the row that follows replaces it
                self._write_row(value, (count, kind in _DELETED, *self._converted(value, row)))
                count += 1
            self._count = count

    def prepare_commit(self) -> list[Any]:
        """End the COPY; returns no handle if there were no records, or if they are written."""
        if self._connection is None:
            return []
        with self._errors("stage rows for"):
            assert self._copying is not None, "there are records"
            self._copying.__exit__(None, None, None)
            if self._is_direct:
                self._connection.execute(LIMIT)
                for statement in self._writes.commit([self._table]):
                    self._connection.execute(statement)
                self._connection.execute(drop_stage(self._table))
            self._connection.execute("commit")
            self._connection.close()
        if self._is_direct:
            return []
        return [StagedRows(self._table, self._context.subtask, self._count)]

    def abort(self) -> None:
        """End the connection, and with it the transaction that has the rows."""
        if self._connection is not None:
            with contextlib.suppress(library().Error):
                self._connection.close()

    def _begin(self) -> None:
        self._connection = new_session(self._address, "writer")
        register_json(self._connection)
        self._connection.execute("begin")
        self._connection.execute(self._writes.make_stage(self._table))
        columns = sink_columns(self._connection, self._writes.table, self._writes.columns)
        self._converts = columns.converts
        for name, condition in columns.checks:
            self._connection.execute(self._writes.check_stage(self._table, name, condition))
        self._copying = self._connection.cursor().copy(self._writes.fill_stage(self._table))
        self._copy = self._copying.__enter__()

    def _converted(self, value: Any, row: Sequence[Any]) -> Sequence[Any]:
        """Return a row with values as its columns take them."""
        if not self._converts:
            return row
        converted = [*row]
        for index, convert in self._converts.items():
            try:
                converted[index] = convert(converted[index])
            except Exception as cause:
                named = self._writes.columns[index]
                raise self._refused(value, f"its value of column {named!r}: {cause}") from cause
        return converted

    def _write_row(self, value: Any, row: Sequence[Any]) -> None:
        try:
            self._copy.write_row(row)
        except library().Error as error:
            if error.sqlstate is not None or isinstance(error, library().OperationalError):
                raise
            raise self._refused(value, str(error)) from error

    def _row(self, value: Any) -> tuple[RowKind, Sequence[Any]]:
        read = _ROWS.get(type(value)) or next(
            (make for kind, make in _ROWS.items() if isinstance(value, kind)), None
        )
        columns = self._writes.columns
        if read is None:
            raise self._refused(value, "it is no Row, tuple, list or dict")
        kind, row = read(value, columns)
        if len(row) != len(columns):
            raise self._refused(value, f"it has {len(row)} values, and {len(columns)} columns")
        if kind is not RowKind.INSERT and not self._writes.keys:
            raise self._refused(value, f"a row of the kind {kind.name} cannot be appended")
        for index in self._keys:
            if row[index] is None:
                raise self._refused(value, f"its key {columns[index]!r} is None")
        return kind, row

    def _refused(self, value: Any, why: str) -> SinkError:
        return SinkError(
            f"sink {self._context.name!r} cannot write {short(value)} to {self._writes.name}: {why}",
            hint="Map records to rows of the columns of the sink; rows that update others need keys, "
            "set_upsert_keys(…).",
            origin=self._context.origin,
        ).permanent()

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        described = f"{doing} table {self._writes.name} (sink {self._context.name!r})"
        return postgres_errors(SinkError, self._address, described, self._context.origin)


def _of_row(value: Row, columns: tuple[str, ...]) -> tuple[RowKind, Sequence[Any]]:
    try:
        values = value.get_fields_by_names(columns)
    except (ValueError, KeyError):
        values = list(value)  # without names, or with others: by position
    return value.get_row_kind(), values


def _of_sequence(value: Any, _: tuple[str, ...]) -> tuple[RowKind, Sequence[Any]]:
    return RowKind.INSERT, value


def _of_dict(value: dict[str, Any], columns: tuple[str, ...]) -> tuple[RowKind, Sequence[Any]]:
    return RowKind.INSERT, [value.get(column) for column in columns]


_ROWS: dict[type, Callable[[Any, tuple[str, ...]], tuple[RowKind, Sequence[Any]]]] = {
    Row: _of_row,
    tuple: _of_sequence,
    list: _of_sequence,
    dict: _of_dict,
}


def register_json(connection: Any) -> None:
    """Let dicts be written as JSON; lists are arrays."""
    json = import_module("psycopg.types.json")
    connection.adapters.register_dumper(dict, json.JsonDumper)
