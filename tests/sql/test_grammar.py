"""Statements of Flink SQL: a corpus that is read, and texts that are refused with construct and place."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SqlError
from penstock.sql.dialect import TableArgument, hints_of
from penstock.sql.grammar import parse_query, parse_script
from penstock.sql.place import TextPlace, place_of
from penstock.sql.sqlglot_source import exp
from penstock.sql.statements import (
    ColumnKind,
    CreateTable,
    CreateView,
    Explain,
    Insert,
    Select,
    SetOption,
    StatementSet,
)
from penstock.types.sql_types import BIGINT, BYTES, STRING, TIMESTAMP, TIMESTAMP_LTZ

CORPUS = (Path(__file__).parent / "corpus.sql").read_text()
REFUSED = yaml.safe_load((Path(__file__).parent / "refused.yaml").read_text())


def one(text: str) -> Any:
    (found,) = parse_script(text)
    return found


def part(node: exp.Expr, kind: Any) -> Any:
    found = node.find(kind)
    assert found is not None
    return found


def test_every_statement_of_the_corpus_is_one():
    found = parse_script(CORPUS)
    lines = [each.place.line for each in found]
    assert lines == sorted(lines)
    assert len(set(lines)) == len(found)  # none was cut in two, and none was taken with the next
    own_lines = CORPUS.splitlines()[19:]
    assert len(found) == 1 + len(own_lines)


@pytest.mark.parametrize(("text", "says"), REFUSED)
def test_what_is_refused_is_named_with_its_place(text: str, says: str):
    with pytest.raises(SqlError) as caught:
        parse_query(text) if not text else parse_script(text)
    error = caught.value
    assert says in f"{error.problem} {error.hint}"
    assert error.origin is not None
    assert Path(error.origin.filename).name == Path(__file__).name


def test_columns_of_a_table():
    table = parse_script(CORPUS)[0]
    assert isinstance(table, CreateTable)
    assert table.watermark is not None
    assert table.name == ("orders",)
    by_name = {column.name: column for column in table.columns}
    assert [str(column.type) for column in table.columns[:4]] == [
        "BIGINT",
        "ROW<name STRING, tags ARRAY<STRING>>",
        "MAP<STRING, DECIMAL(10, 2)>",
        "DECIMAL(32, 2)",
    ]
    assert by_name["order_id"].is_nullable is False
    assert by_name["price"].is_nullable is True
    assert by_name["cost"].kind is ColumnKind.COMPUTED
    assert str(by_name["cost"].expression) == "price * 2"
    assert by_name["ts"].metadata_key == "timestamp"
    assert by_name["ts"].is_virtual
    assert by_name["ts"].type == TIMESTAMP_LTZ
    assert by_name["offset"].metadata_key == "offset"
    assert not by_name["offset"].is_virtual
    assert by_name["offset"].type == BIGINT
    assert by_name["event_time"].type == TIMESTAMP
    assert by_name["other"].type == TIMESTAMP_LTZ
    assert by_name["data"].type == BYTES
    assert by_name["fixed"].type == STRING
    assert by_name["ts"].place == TextPlace(8, 3)
    assert table.watermark.column == "event_time"
    assert table.primary_key == ("order_id",)
    assert table.partitioned_by == ("order_id",)
    assert table.options == (("connector", "kafka"), ("topic", "it's"))


def test_a_statement_set_has_its_insertions():
    found = one("BEGIN STATEMENT SET;\nINSERT INTO a SELECT 1;\nINSERT INTO b SELECT 2;\nEND;")
    assert isinstance(found, StatementSet)
    assert [each.target for each in found.inserts] == [("a",), ("b",)]
    assert [each.place.line for each in found.inserts] == [2, 3]


def test_options_of_hints():
    found = one("INSERT INTO s /*+ OPTIONS('a' = 'b', 'c' = 'd') */ SELECT * FROM t")
    assert found.options == (("a", "b"), ("c", "d"))
    query = parse_query(
        "SELECT /*+ STATE_TTL('l' = '1d'), BROADCAST(r) */ * FROM l /*+ OPTIONS('x' = 'y') */ AS a"
    )
    assert [(hint.name, hint.arguments) for hint in hints_of(query)] == [
        ("STATE_TTL", (("l", "1d"),)),
        ("BROADCAST", (("r", None),)),
    ]
    table = part(query, exp.Table)
    assert [hint.arguments for hint in hints_of(table)] == [(("x", "y"),)]
    assert table.alias == "a"
    assert hints_of(table.copy()) == hints_of(table)


def test_a_table_as_an_argument():
    query = parse_query(
        "SELECT * FROM TABLE(SESSION(TABLE b PARTITION BY item, shop, DESCRIPTOR(t), INTERVAL '1' HOUR))"
    )
    argument = part(query, TableArgument)
    assert argument.this.name == "b"
    assert [column.name for column in argument.args["partition_by"]] == ["item", "shop"]
    (call,) = (each for each in query.find_all(exp.Anonymous) if each.name == "SESSION")
    assert [type(each) for each in call.expressions] == [TableArgument, exp.Anonymous, exp.Interval]


def test_arguments_by_name():
    query = parse_query(
        "SELECT * FROM TUMBLE(DATA => TABLE b, TIMECOL => DESCRIPTOR(t), SIZE => INTERVAL '1' HOUR)"
    )
    (call,) = (each for each in query.find_all(exp.Anonymous) if each.name == "TUMBLE")
    assert [each.this.name for each in call.expressions] == ["DATA", "TIMECOL", "SIZE"]


def test_values_are_a_query():
    found = one("INSERT INTO s VALUES (1, 'x'), (2, NULL)")
    assert isinstance(found, Insert)
    assert len(part(found.query, exp.Values).expressions) == 2


def test_places_name_the_file():
    found: Any = parse_script("SELECT\n  a FROM t", "job.sql")[0]
    assert str(found.place) == "job.sql, line 1, column 1"
    assert str(place_of(found.query)) == "job.sql, line 2, column 3"
    with pytest.raises(SqlError, match=r"job\.sql, line 1, column 1"):
        parse_script("SELECT\n", "job.sql")


def test_settings():
    assert one("SET 'a' = 'b'").value == "b"
    assert one("RESET 'a'") == SetOption("a", None, TextPlace(1, 1))
    assert one("SET").key is None


def test_explain_is_of_a_statement():
    assert isinstance(one("EXPLAIN SELECT 1").statement, Select)
    assert isinstance(one("EXPLAIN INSERT INTO s SELECT 1").statement, Insert)
    found = one("EXPLAIN STATEMENT SET BEGIN INSERT INTO s SELECT 1; END")
    assert isinstance(found, Explain)
    assert isinstance(found.statement, StatementSet)


def test_a_view_may_name_its_columns():
    found = one("CREATE OR REPLACE VIEW v (a, b) AS SELECT 1, 2")
    assert isinstance(found, CreateView)
    assert found.columns == ("a", "b")
    assert found.is_replacing


@given(st.text(alphabet="SELECT FROMa1'`\"/*-+();,.\n", max_size=40))
def test_any_text_is_read_or_refused(text: str):
    with suppress(SqlError):  # anything else is a defect
        parse_script(text)
