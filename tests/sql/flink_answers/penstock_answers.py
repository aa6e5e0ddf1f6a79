"""The answers of Penstock to the expressions whose answers by Flink are recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.config.configuration import Configuration
from penstock.errors import PenstockError
from penstock.expressions.arrow.evaluation import Batch, evaluation
from penstock.expressions.row_values import RowValues, value_of
from penstock.expressions.tree import Expression, Field, named
from penstock.relation.tree import SqlColumn
from penstock.sql.grammar import parse_query
from penstock.sql.scalar_binding.binder import Binder
from penstock.sql.scalar_binding.conversions import cast_call, converted
from penstock.sql.scalar_binding.operators import BUILDERS
from penstock.sql.scalar_binding.scope import Scope
from penstock.sql.scalar_binding.zone import LOCAL_TIME_ZONE, in_zone_of
from penstock.sql.streams import StreamCatalogue
from penstock.types.arrow import arrow_array, columns_to_lists
from penstock.types.sql_types import INT, STRING, SqlType, row
from tests.sql.flink_answers.columns import COLUMNS, ROWS

ANSWERS = Path(__file__).with_name("answers.jsonl")
_ROW_TYPES = {
    "ROW<n INT, s STRING>": row(("n", "s"), (INT, STRING)),
    "ROW<f FLOAT, b BOOLEAN>": row(("f", "b"), (SqlType("FLOAT"), SqlType("BOOLEAN"))),
}

_UNICODE = re.compile(r"U&'([^']*)'")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of Flink.

    Attributes:
        zone: Of the session.
        expression: Over the columns.
        type: Its type; None if it is refused.
        text: Its value as text; None is NULL, False an error.
    """

    zone: str
    expression: str
    type: str | None
    text: Any


def answers() -> list[Answer]:
    """Return all answers of Flink."""
    with ANSWERS.open(encoding="utf-8") as lines:
        return [Answer(*json.loads(line)) for line in lines]


class _Environment:
    def __init__(self, zone: str) -> None:
        self._configuration = Configuration()
        self._configuration.set_string(LOCAL_TIME_ZONE, zone)

    def get_configuration(self) -> Configuration:
        return self._configuration


@contextmanager
def in_zone(zone: str) -> Iterator[None]:
    """Bind in a zone."""
    with in_zone_of(_Environment(zone)):
        yield


def bound(expression: str, scope: Scope) -> Expression:
    """Return an expression with types.

    Raises:
        PenstockError: It is refused.
    """
    query = parse_query(f"SELECT {expression} AS x FROM edge")
    return Binder(scope, StreamCatalogue({}, {}), BUILDERS).scalar(query.expressions[0].this)


@cache
def edge() -> tuple[tuple[SqlColumn, ...], tuple[Any, ...]]:
    """Return the columns of edge values, and their values."""
    columns, values = [], []
    for name, (_, text) in COLUMNS.items():
        scalar = bound(_plain(text), Scope())
        columns.append(SqlColumn(name, scalar.type))
        values.append(value_of(scalar))
    for name, (kind, _, value) in ROWS.items():
        columns.append(SqlColumn(name, _ROW_TYPES[kind]))
        values.append(value)
    return tuple(columns), tuple(values)


def _plain(text: str) -> str:
    """Return a text of Flink SQL with the letters themselves in place of their numbers."""
    return _UNICODE.sub(lambda found: f"'{_letters(found[1])}'", text)


def _letters(numbers: str) -> str:
    text = bytes.fromhex(numbers.replace("\\", "")).decode("utf-16-be")
    return text.replace("'", "''")


def stored(column: SqlColumn, value: Any) -> pa.Array:
    """Return a value as a column of Arrow: a decimal has the digits of its type."""
    kind = column.type
    if kind.name == "DECIMAL":
        return pa.array([value], pa.decimal128(kind.precision, kind.scale))
    return arrow_array(column.name, kind.type_info, [value])


def typed(answer: Answer) -> Expression | None:
    """Return the expression of an answer with types, None if it is refused."""
    with in_zone(answer.zone):
        try:
            return bound(answer.expression, Scope.of("edge", edge()[0]))
        except PenstockError:
            return None


def shown(kind: SqlType, zone: str) -> RowValues:
    """Return what makes texts of values of a type, as CAST does."""
    value = Field("", kind, 0)
    with in_zone(zone):
        made = value if kind == STRING else cast_call("sql_cast", value, STRING)
        return RowValues((converted(made, STRING),))


def python_text(answer: Answer, scalar: Expression) -> Any:
    """Return the text that rows in Python have for an expression, False of an error."""
    try:
        value = RowValues((scalar,)).of(edge()[1])[0]
        return shown(scalar.type, answer.zone).of((value,))[0]
    except PenstockError:
        return False


def arrow_text(answer: Answer, scalar: Expression) -> Any:
    """Return the text that the executor of Arrow has for an expression that has a counterpart of columns."""
    columns, values = edge()

    def column(name: str) -> pa.Array:
        position = names.index(name)
        return stored(columns[position], values[position])

    names = [each.name for each in columns]
    expression = named(scalar, names)
    try:
        found = evaluation(expression)(Batch(1, column))
    except pa.ArrowInvalid:
        return False
    batch = pa.RecordBatch.from_arrays([found], names=["x"])
    return shown(scalar.type, answer.zone).of((columns_to_lists(batch)[0][0],))[0]
