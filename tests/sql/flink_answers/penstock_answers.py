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

from penstock.config.configuration import Configuration
from penstock.errors import PenstockError
from penstock.sql.binding.binder import Binder
from penstock.sql.binding.conversions import cast_call, converted
from penstock.sql.binding.operators import BUILDERS
from penstock.sql.binding.scope import Scope
from penstock.sql.binding.zone import LOCAL_TIME_ZONE, in_zone_of
from penstock.sql.catalogue import SqlColumn
from penstock.sql.column_types import INT, STRING, SqlType, row
from penstock.sql.grammar import parse_query
from penstock.sql.scalars.evaluation import RowValues, value_of
from penstock.sql.scalars.tree import Scalar
from penstock.sql.streams import StreamCatalogue
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


def bound(expression: str, scope: Scope) -> Scalar:
    """Return an expression with types.

    Raises:
        PenstockError: It is refused.
    """
    query = parse_query(f"SELECT {expression} AS x FROM edge")
    return Binder(scope, StreamCatalogue({}, {}), BUILDERS).scalar(query.expressions[0].this)


@cache
def edge() -> tuple[Scope, tuple[Any, ...]]:
    """Return the columns of edge values, and their values."""
    columns, values = [], []
    for name, (_, text) in COLUMNS.items():
        scalar = bound(_plain(text), Scope())
        columns.append(SqlColumn(name, scalar.type))
        values.append(value_of(scalar))
    for name, (kind, _, value) in ROWS.items():
        columns.append(SqlColumn(name, _ROW_TYPES[kind]))
        values.append(value)
    return Scope.of("edge", columns), tuple(values)


def _plain(text: str) -> str:
    """Return a text of Flink SQL with the letters themselves in place of their numbers."""
    return _UNICODE.sub(lambda found: f"'{_letters(found[1])}'", text)


def _letters(numbers: str) -> str:
    text = bytes.fromhex(numbers.replace("\\", "")).decode("utf-16-be")
    return text.replace("'", "''")


def penstock_answer(answer: Answer) -> tuple[str | None, Any]:
    """Return the type and text that Penstock has for an expression; as those of an `Answer`."""
    scope, values = edge()
    with in_zone(answer.zone):
        try:
            scalar = bound(answer.expression, scope)
            shown = scalar if scalar.type == STRING else cast_call("cast", scalar, STRING)
            shown = converted(shown, STRING)
        except PenstockError:
            return None, False
        try:
            return str(scalar.type), RowValues((shown,)).of(values)[0]
        except PenstockError:
            return str(scalar.type), False
