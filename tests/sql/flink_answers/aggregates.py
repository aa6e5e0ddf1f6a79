"""The aggregates of Penstock whose answers by Flink are recorded, such as `SUM(i_one, i_two)`: each value is one of a row."""

from __future__ import annotations

import re
from typing import Any

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource
from penstock.errors import PenstockError
from penstock.testing import collect
from penstock.types.sql_types import SqlType, of_type_info
from tests.sql.flink_answers.cases import AGGREGATES
from tests.sql.flink_answers.penstock_answers import Answer, answers, edge, shown

_AGGREGATE = re.compile(rf"({'|'.join(AGGREGATES)})\((DISTINCT )?(.*)\)")


def aggregate_answers() -> list[Answer]:
    """Return the answers of Flink to aggregates."""
    return [each for each in answers() if _AGGREGATE.fullmatch(each.expression)]


def scalar_answers() -> list[Answer]:
    """Return the answers of Flink to other expressions."""
    return [each for each in answers() if not _AGGREGATE.fullmatch(each.expression)]


def values_of(answer: Answer) -> tuple[SqlType, list[Any]]:
    """Return the values of an aggregate and their type."""
    found = _AGGREGATE.fullmatch(answer.expression)
    assert found is not None
    columns, values = edge()
    positions = {each.name: at for at, each in enumerate(columns)}
    chosen = [positions[name] for name in found[3].split(", ")]
    return columns[chosen[0]].type, [values[at] for at in chosen]


def call_of(answer: Answer) -> str:
    """Return the call of an aggregate of the column x; decimals are texts, since the type of a stream has no digits."""
    found = _AGGREGATE.fullmatch(answer.expression)
    assert found is not None
    kind, _ = values_of(answer)
    column = f"CAST(x AS {kind})" if kind.name == "DECIMAL" else "x"
    return f"{found[1]}({found[2] or ''}{column})"


def query_of(calls: list[str], kind: SqlType, values: list[Any], mode: str = "BATCH") -> Any:
    """Return the stream of a query of aggregates of some values."""
    options = {"execution.runtime-mode": mode, "parallelism.default": "1"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    stored = kind.type_info
    if kind.name == "DECIMAL":
        stored, values = Types.STRING(), [None if each is None else str(each) for each in values]
    source = CollectionSource.of(
        [Row(x=value) for value in values], Types.ROW_NAMED(["x"], [stored])
    )
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "edge")
    outputs = ", ".join(f"{each} AS y{at}" for at, each in enumerate(calls))
    return env.sql(f"SELECT {outputs} FROM t", {"t": rows})


def aggregate_text(answer: Answer, mode: str = "BATCH") -> Any:
    """Return the text of an aggregate, False of an error."""
    kind, values = values_of(answer)
    try:
        stream = query_of([call_of(answer)], kind, values, mode)
        (result,) = stream.get_type().field_types
        return shown(of_type_info(result), answer.zone).of((collect(stream)[-1][0],))[0]
    except PenstockError:
        return False
