"""`penstock check` of SQL scripts: the final rows of a job are also those of DuckDB."""

from __future__ import annotations

import json

import pytest

from penstock.extras import EXTRAS
from penstock.sql.duckdb_text import NotInDuckDbError, duckdb_text
from penstock.sql.grammar import parse_query
from penstock.types.sql_types import SqlType

HEAD = """
CREATE TABLE orders (customer STRING, amount BIGINT, price DOUBLE, at TIMESTAMP(3))
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json');
CREATE VIEW large (who, paid) AS SELECT customer, amount FROM orders WHERE amount > 2;
CREATE TABLE totals (customer STRING, total BIGINT, mean BIGINT, most DOUBLE, n BIGINT)
WITH ('connector' = 'print');
"""
INSERT = """
INSERT INTO totals
SELECT who, SUM(paid), AVG(paid), MAX(price), COUNT(DISTINCT price)
FROM large JOIN orders ON who = customer AND paid = amount GROUP BY who;
"""


@pytest.fixture
def script(tmp_path):
    data = tmp_path / "orders"
    data.mkdir()
    lines = [
        json.dumps(
            {
                "customer": "abc"[n % 3],
                "amount": n % 7,
                "price": n / 2,
                "at": f"2024-01-01 00:00:{n:02}",
            }
        )
        for n in range(40)
    ]
    (data / "1.json").write_text("\n".join(lines))

    def write(text):
        path = tmp_path / "job.sql"
        path.write_text(HEAD.format(path=data) + text)
        return str(path)

    return write


def test_the_rows_of_a_script_are_those_of_duckdb(penstock, script):
    result = penstock("check", script(INSERT), "--ways", "8")
    assert result.exit_code == 0, result.stdout + result.stderr
    assert result.stdout.startswith("same answer in 9 ways (40 records, seed 0)\n")
    assert "note: DuckDB has the same final rows: INSERT 1 INTO totals\n" in result.stdout


def test_groups_of_a_script_have_one_answer_in_ways_that_update_them(penstock, script):
    insert = (
        "INSERT INTO totals SELECT customer, SUM(amount), 1, 2e0, 3 FROM orders GROUP BY customer;"
    )
    result = penstock("check", script(insert), "--ways", "40")
    assert result.exit_code == 0, result.stdout


def test_a_wrong_row_is_found_with_the_smallest_input(penstock, script, monkeypatch):
    def wrong(*arguments):
        return duckdb_text(*arguments).replace("> 2", "> 3")

    monkeypatch.setattr("penstock.testing.law.sql_script.duckdb_text", wrong)
    result = penstock("check", script(INSERT), "--ways", "4")
    assert result.exit_code == 1, result.stdout
    assert "sink 'INSERT 1 INTO totals' gets two answers for 1 record" in result.stdout
    assert "  DuckDB:\n" in result.stdout.replace("BATCH, DuckDB", "DuckDB")


def test_what_duckdb_cannot_express_is_named(penstock, script):
    text = """
        INSERT INTO totals SELECT customer, amount, 1, 2e0, 3 FROM orders;
        INSERT INTO totals SELECT LISTAGG(customer), 1, 2, 3e0, 4 FROM orders;
    """
    result = penstock("check", script(text), "--ways", "4")
    assert "DuckDB has the same final rows: INSERT 1 INTO totals" in result.stdout
    assert "INSERT 2 INTO totals is not compared with DuckDB: it has no counterpart of" in (
        result.stdout
    )


def test_without_duckdb_there_is_a_note_and_an_error_if_it_is_needed(penstock, script, monkeypatch):
    absent = EXTRAS["duckdb"].__class__(
        "duckdb", ("duckdb>=1.2",), "no_such_duckdb", "DuckDB", "", False
    )
    monkeypatch.setitem(EXTRAS, "duckdb", absent)
    result = penstock("check", script(INSERT), "--ways", "2")
    assert result.exit_code == 0
    assert "note: not compared with DuckDB: DuckDB needs the package duckdb" in result.stdout
    result = penstock("check", script(INSERT), "--ways", "2", "--duckdb")
    assert result.exit_code == 2
    assert "pip install 'duckdb>=1.2'" in result.stderr
    result = penstock("check", script(INSERT), "--ways", "2", "--no-duckdb")
    assert "DuckDB" not in result.stdout


def test_options_that_do_not_go_together(penstock, script, program):
    assert "scripts of SQL only" in penstock("check", program(""), "--duckdb").stderr
    assert "programs in Python" in penstock("check", script(INSERT), "--write-test", "t.py").stderr
    assert "does not reach" in penstock("check", program(""), "--spark", "--stub", "f=1").stderr


KINDS = {
    "a": frozenset({SqlType("INT")}),
    "x": frozenset({SqlType("DOUBLE")}),
    "d": frozenset({SqlType("DECIMAL", 10, 2)}),
    "f": frozenset({SqlType("FLOAT")}),
}


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("SELECT a / 2 FROM t", "a division that is not of a DOUBLE"),
        ("SELECT AVG(d) FROM t", "AVG"),
        ("SELECT AVG(a + 1) FROM t", "AVG"),
        ("SELECT CAST(x AS INT) FROM t", "CAST"),
        ("SELECT a FROM t ORDER BY a LIMIT 1", "(ORDER|LIMIT)"),
        ("SELECT AVG(a) FROM (SELECT d AS a FROM t)", "AVG"),
        ("SELECT d * 2 FROM t", "a product of DECIMAL"),
        ("SELECT f FROM t", "the column f of FLOAT"),
        ("SELECT RAND() FROM t", "RAND"),
        ("SELECT own(a) FROM t", "OWN"),
        ("SELECT a FROM db.t", "database"),
    ],
)
def test_queries_with_another_meaning_are_refused(query, part):
    with pytest.raises(NotInDuckDbError, match=part):
        duckdb_text(parse_query(query), KINDS)


def test_averages_and_divisions_are_those_of_flink():
    assert "//" in duckdb_text(parse_query("SELECT AVG(a) FROM t"), KINDS)
    assert "AVG(x)" in duckdb_text(parse_query("SELECT AVG(x), x / a FROM t"), KINDS)
