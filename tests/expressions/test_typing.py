"""Wrong expressions are errors when the program is written, and say what was meant."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

import pytest

from penstock.common import Row, Types
from penstock.datastream import ColumnExpression, StreamExecutionEnvironment, col, lit, when
from penstock.errors import ArgumentError, KeyTypeError, PenstockError, UnknownFieldError
from penstock.expressions.column import tree_of
from penstock.expressions.mistakes import OTHER_NAMES
from penstock.expressions.typing import typed
from penstock.types import TypeInformation

ROW = Types.ROW_NAMED(
    ["carrier", "small", "n", "big", "f", "d", "money", "at", "utc", "day", "tags", "inner", "raw"],
    [
        Types.STRING(),
        Types.BYTE(),
        Types.INT(),
        Types.LONG(),
        Types.FLOAT(),
        Types.DOUBLE(),
        Types.BIG_DEC(),
        Types.SQL_TIMESTAMP(),
        Types.TIMESTAMP_LTZ(),
        Types.SQL_DATE(),
        Types.LIST(Types.STRING()),
        Types.ROW_NAMED(["x"], [Types.INT()]),
        Types.PICKLED_BYTE_ARRAY(),
    ],
)


def type_of(expression: ColumnExpression) -> TypeInformation | None:
    return typed(expression.tree, ROW, "test").type_info


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (col.small + 1, Types.BYTE()),
        (1 + col.small, Types.BYTE()),
        (col.small + 1000, Types.INT()),
        (col.small + col.n, Types.INT()),
        (col.n + col.big, Types.LONG()),
        (col.n + 2**40, Types.LONG()),
        (col.n + col.f, Types.DOUBLE()),
        (col.f + 1, Types.FLOAT()),
        (col.f + 0.1, Types.DOUBLE()),
        (col.f * col.d, Types.DOUBLE()),
        (col.n / col.n, Types.DOUBLE()),
        (col.n % 7, Types.INT()),
        (col.money + 1, Types.BIG_DEC()),
        (col.money - col.n, Types.BIG_DEC()),
        (col.n > Decimal("1.5"), Types.BOOLEAN()),
        (-col.small, Types.BYTE()),
        (abs(col.d), Types.DOUBLE()),
        (col.n.sqrt(), Types.DOUBLE()),
        (col.f.round(), Types.FLOAT()),
        (col.carrier + "!", Types.STRING()),
        ("!" + col.carrier, Types.STRING()),
        (col.carrier.length(), Types.INT()),
        (col.tags.length(), Types.INT()),
        (col.tags.get(0), Types.STRING()),
        (col.inner.field("x"), Types.INT()),
        (col.carrier.split(","), Types.LIST(Types.STRING())),
        (col.at + timedelta(hours=1), Types.SQL_TIMESTAMP()),
        (timedelta(hours=1) + col.utc, Types.TIMESTAMP_LTZ()),
        (col.utc - timedelta(hours=1), Types.TIMESTAMP_LTZ()),
        (col.utc < datetime(2026, 1, 1, tzinfo=UTC), Types.BOOLEAN()),
        (col.utc.epoch_millis(), Types.LONG()),
        (col.day.year(), Types.INT()),
        (col.d.fill_null(0), Types.DOUBLE()),
        (col.n.fill_null(None, 0), Types.INT()),
        (when(col.n > 1, "a").otherwise(None), Types.STRING()),
        (when(col.n > 1, col.n).when(col.n < 0, col.big).otherwise(0), Types.LONG()),
        (lit(None, Types.LONG()), Types.LONG()),
        (col.n.isin([1, 2**40]), Types.BOOLEAN()),
        (col.f.isin([1, 2.5]), Types.BOOLEAN()),
        (col.n.between(1, 2) & ~col.carrier.is_null() | col.d.is_nan(), Types.BOOLEAN()),
        (col.n.cast(Types.STRING()), Types.STRING()),
        (col.raw, Types.PICKLED_BYTE_ARRAY()),
    ],
    ids=str,
)
def test_types(expression: ColumnExpression, expected: TypeInformation) -> None:
    assert type_of(expression) == expected


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (col.carrier + 1, "no type in common"),
        (col.money + col.d, "cast one of them"),
        (col.money * 2, "it takes"),
        (col.carrier > col.n, "no type in common"),
        (col.at == col.utc, "no type in common"),
        (col.n & col.big, "Boolean"),
        (~col.n, "Boolean"),
        (col.n.is_nan(), "Double, Float"),
        (col.carrier.year(), "SqlDate"),
        (col.day.hour(), "SqlTimestamp"),
        (col.at.truncate("week"), "second, minute, hour, day"),
        (col.n.length(), "String"),
        (col.carrier.slice(-1, 2), "position from 0"),
        (col.carrier.replace("", "x"), "empty"),
        (col.carrier.get(0), "takes a list"),
        (col.tags.get(-1), "position from 0"),
        (col.inner.field("y"), "no field 'y'"),
        (col.n.field("x"), "takes a row"),
        (col.n.isin([]), "no values"),
        (col.n.isin([None]), "is_null"),
        (col.d.isin([float("nan")]), "is_nan"),
        (col.n + 2**70, "64 bits"),
        (col.n + object(), "cannot be the value of a column"),
        (lit(None), "no type"),
        (lit(None) + None, "lit(None, type)"),
        (col.d.cast(Types.STRING()), "cannot be cast"),
        (col.n.cast(Types.INT), "parentheses"),  # type: ignore[arg-type]
        (col.raw.is_null(), "it takes"),
        (col.tags == col.tags, "it takes"),
        (col.raw.fill_null("x"), "no type in common"),
    ],
)
def test_what_cannot_be_computed(expression: ColumnExpression, words: str) -> None:
    with pytest.raises(ArgumentError, match=r"test got|lit\(None") as refused:
        type_of(expression)
    assert words in str(refused.value)


@pytest.fixture
def stream() -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    empty = dict.fromkeys(ROW.get_field_names())
    return env.from_collection([Row(**(empty | {"carrier": "AA"}))], ROW)


def test_a_typo_names_the_column_that_is_near_and_the_line(stream: Any) -> None:
    with pytest.raises(UnknownFieldError, match="did you mean 'carrier'") as refused:
        stream.where(col.carier == "AA")
    assert refused.value.origin is not None
    assert refused.value.origin.filename == __file__
    assert "Use one of carrier, small" in refused.value.hint


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda s: s.where(col.n), ArgumentError, "true or false"),
        (lambda s: s.where(), ArgumentError, "no condition"),
        (lambda s: s.where(col.n > 1 and col.n < 5), ArgumentError, "Write & for and"),
        (lambda s: s.where(1 < col.n < 5), ArgumentError, "between"),
        (lambda s: s.select(), ArgumentError, "no columns"),
        (lambda s: s.select(col.n + 1), ArgumentError, "no name"),
        (lambda s: s.select("n"), ArgumentError, "no name"),
        (lambda s: s.select(col.n, col.n), ArgumentError, "two columns called 'n'"),
        (lambda s: s.select(col.n, n=1), ArgumentError, "two columns called 'n'"),
        (lambda s: s.select(col.n.alias("")), ArgumentError, "not empty"),
        (lambda s: s.with_columns(x=None), ArgumentError, "no type"),
        (lambda s: s.key_by(col.carier), UnknownFieldError, "carrier"),
        (lambda s: s.key_by(col.n + 1), ArgumentError, "with_columns"),
        (lambda s: s.key_by(col.n, "carrier"), ArgumentError, "not a column"),
        (lambda s: s.map(lambda r: r).where(col.n > 1), ArgumentError, "has no columns"),
        (lambda _: list(col.n), ArgumentError, "cannot be iterated"),
        (lambda s: s.where(col.n == None), ArgumentError, "is_null()"),  # noqa: E711 - as beginners do
        (lambda s: s.where(col.n != None), ArgumentError, "is_not_null()"),  # noqa: E711
        (lambda s: s.where(lambda row: row.n > 1), ArgumentError, "call filter"),
        (lambda s: s.where(col.n.sum() > 1), ArgumentError, "in a later select"),
        (lambda s: s.select(x=col.n.sum()), ArgumentError, "in a later select"),
        (lambda _: col.n.sum() / col.n.count(), ArgumentError, "in a later select"),
        (lambda _: 1 - col.n.mean(), ArgumentError, "in a later select"),
        (lambda _: col[cast("str", 3)], ArgumentError, "name of a column"),
    ],
)
def test_refusals(
    stream: Any, call: Callable[[Any], Any], error: type[PenstockError], words: str
) -> None:
    with pytest.raises(error) as refused:
        call(stream)
    assert words in str(refused.value)


def test_an_inferred_type_is_not_enough(stream: Any) -> None:
    def mapped(row: Row) -> tuple[int, str]:
        return 1, "a"

    with pytest.raises(ArgumentError, match="inferred"):
        stream.map(mapped).where(col.f0 > 1)


def test_a_key_that_can_be_changed() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    maps = Types.ROW_NAMED(["m"], [Types.MAP(Types.STRING(), Types.INT())])
    with pytest.raises(KeyTypeError):
        env.from_collection([Row(m={})], maps).key_by(col.m)


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_names_of_other_libraries_lead_to_ours(name: str) -> None:
    with pytest.raises(AttributeError, match=f"write {OTHER_NAMES[name]}$"):
        getattr(col.n, name)
    assert hasattr(col.n, OTHER_NAMES[name])
    assert not hasattr(col.n, name)


def test_a_method_that_is_nearly_right() -> None:
    with pytest.raises(AttributeError, match="did you mean 'contains'"):
        _ = col.n.contain
    assert repr(copy.copy(col.n)) == repr(col.n)


def test_expressions_have_no_hash_and_show_themselves() -> None:
    with pytest.raises(TypeError):
        hash(col.n)
    assert repr(col.n + 1) == "<column add(n, 1)>"
    assert repr(col) == "col"
    assert tree_of(col["a b"]) == tree_of(col["a b"])
