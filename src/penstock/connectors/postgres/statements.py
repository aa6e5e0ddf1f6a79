"""The statements of a sink: from staged rows into its table. Names are quoted here, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.connectors.postgres.address import library
from penstock.connectors.postgres.values import TableName

SCHEMA = "penstock"
"""Schema of staged rows and of the epochs of sinks."""

NUMBER, IS_DELETED = "penstock_n", "penstock_d"
_TASK = "penstock_t"

_LOCK = 8_072_115_406
"""Lock for the creation of the schema: two `if not exists` at once fail."""

SET_UP = (
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
        table: The table.
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
        sets = sql.SQL(", ").join(_sql("{c} = excluded.{c}", c=_names([each])) for each in others)
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
