"""Statements of a script as frozen values, before any name is resolved.

`dialect.parse` creates them from a text. Each has the tree of sqlglot that it was made of and its place, so that errors
of later steps can name the construct.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from penstock.sql.place import TextPlace
from penstock.sql.sqlglot_source import exp
from penstock.types.sql_types import SqlType

Name = tuple[str, ...]
"""The parts of the name of a table, view or function, such as `("catalog", "database", "orders")`."""


class ColumnKind(Enum):
    """Origin of the values of a column of a table."""

    PHYSICAL = "physical"
    """From the records of the table."""

    COMPUTED = "computed"
    """From an expression, `cost AS price * amount`."""

    METADATA = "metadata"
    """From the metadata of a record in its connector, `ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'`."""


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column of CREATE TABLE.

    Attributes:
        kind: Where its values come from.
        type: Its type; None of a computed column, which has that of its expression.
        metadata_key: Name of a metadata column in the connector.
        is_virtual: True if a metadata column is not written.
        is_nullable: True if it may be NULL.
    """

    name: str
    kind: ColumnKind
    type: SqlType | None
    expression: exp.Expr | None = None
    metadata_key: str | None = None
    is_virtual: bool = False
    is_nullable: bool = True
    place: TextPlace | None = None


@dataclass(frozen=True, slots=True)
class WatermarkDefinition:
    """`WATERMARK FOR column AS expression`.

    Attributes:
        column: The time of the rows.
        expression: The watermark that a row allows, such as `ts - INTERVAL '5' SECOND`.
    """

    column: str
    expression: exp.Expr
    place: TextPlace | None = None


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE.

    Attributes:
        primary_key: Columns of PRIMARY KEY … NOT ENFORCED; none if there is no key.
        watermark: None if there is none.
        if_not_exists: True if a table of that name is left as it is.
        partitioned_by: Columns that files are divided by.
        like: Name of a table whose columns and options come first; None if there is none.
        text: As it was written.
    """

    name: Name
    columns: tuple[ColumnDefinition, ...]
    primary_key: tuple[str, ...]
    watermark: WatermarkDefinition | None
    options: tuple[tuple[str, str], ...]
    if_not_exists: bool
    partitioned_by: tuple[str, ...]
    place: TextPlace
    like: Name | None = None
    text: str = ""

    def merged_with(self, other: CreateTable) -> CreateTable:
        """Return the statement with the columns and options of another table before its own."""
        return replace(
            self,
            columns=other.columns + self.columns,
            primary_key=self.primary_key or other.primary_key,
            watermark=self.watermark or other.watermark,
            options=tuple((dict(other.options) | dict(self.options)).items()),
            partitioned_by=self.partitioned_by or other.partitioned_by,
            like=None,
        )


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE VIEW.

    Attributes:
        columns: Names of its columns; empty takes those of the query.
        is_replacing: True if a view of that name is replaced.
        if_not_exists: True if one is left as it is.
    """

    name: Name
    columns: tuple[str, ...]
    query: exp.Query
    is_replacing: bool
    if_not_exists: bool
    place: TextPlace


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """CREATE FUNCTION … AS 'module.name' LANGUAGE PYTHON.

    Attributes:
        target: Its implementation, `module.name` or `module:name`.
        is_replacing: True if a function of that name is replaced.
        if_not_exists: True if one is left as it is.
    """

    name: Name
    target: str
    is_replacing: bool
    if_not_exists: bool
    place: TextPlace


@dataclass(frozen=True, slots=True)
class Drop:
    """DROP TABLE, VIEW or FUNCTION.

    Attributes:
        kind: `TABLE`, `VIEW` or `FUNCTION`.
        if_exists: True if it may be missing.
    """

    kind: str
    name: Name
    if_exists: bool
    place: TextPlace


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO.

    Attributes:
        columns: Columns of the table that the query has; empty is all in order.
        options: Options of the hint `OPTIONS` of the table, in order.
    """

    target: Name
    columns: tuple[str, ...]
    query: exp.Query
    place: TextPlace
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class StatementSet:
    """EXECUTE STATEMENT SET BEGIN … END, or BEGIN STATEMENT SET; … END: one job of several insertions.

    Attributes:
        inserts: At least one.
    """

    inserts: tuple[Insert, ...]
    place: TextPlace


@dataclass(frozen=True, slots=True)
class Select:
    """A query whose rows are shown."""

    query: exp.Query
    place: TextPlace


@dataclass(frozen=True, slots=True)
class SetOption:
    """SET 'key' = 'value', or RESET 'key'.

    Attributes:
        key: The setting; None sets nothing and shows all.
        value: Its new value; None resets it.
    """

    key: str | None
    value: str | None
    place: TextPlace


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN of a statement."""

    statement: Select | Insert | StatementSet
    place: TextPlace


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE of a table or view."""

    name: Name
    place: TextPlace


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW.

    Attributes:
        what: `TABLES`, `VIEWS`, `FUNCTIONS`, `CREATE TABLE` or `CREATE VIEW`.
        name: Name of the table of SHOW CREATE; None for the others.
    """

    what: str
    name: Name | None
    place: TextPlace


Statement = (
    CreateTable
    | CreateView
    | CreateFunction
    | Drop
    | Insert
    | StatementSet
    | Select
    | SetOption
    | Explain
    | Describe
    | Show
)
"""Any statement of a script."""
