"""Final rows: in BATCH mode a query is insert-only, so files and other append-only tables take its result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.common import Configuration, Row, RowKind, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.relation.tree import Changelog
from penstock.runtime.operators import keyed_changes
from penstock.sql.streams import StreamTable
from penstock.testing import collect, run_in_process

OUT = """
CREATE TABLE out ({}) WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '/nowhere');
"""
KIND = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])
QUERIES: dict[str, tuple[str, str, list[Any]]] = {
    "group": ("k STRING, v BIGINT", "SELECT k, SUM(v) FROM t GROUP BY k", [("a", 4), ("b", 2)]),
    "groups of groups": (
        "v BIGINT, n BIGINT",
        "SELECT s, COUNT(*) FROM (SELECT k, SUM(v) AS s FROM t GROUP BY k) GROUP BY s",
        [(2, 1), (4, 1)],
    ),
    "distinct": ("k STRING", "SELECT DISTINCT k FROM t", [("a",), ("b",)]),
    "over": (
        "k STRING, v BIGINT",
        "SELECT k, SUM(v) OVER (PARTITION BY k) FROM t",
        [("a", 4), ("a", 4), ("b", 2)],
    ),
    "top": (
        "k STRING, v INT",
        "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM t) WHERE n = 1",
        [("a", 3), ("b", 2)],
    ),
    "limit": ("v INT", "SELECT v FROM t ORDER BY v DESC LIMIT 2", [(2,), (3,)]),
    "outer join": (
        "v INT, w INT",
        "SELECT l.v, r.v FROM t AS l FULL JOIN (SELECT k, v FROM t WHERE v = 2) AS r ON l.k = r.k",
        [(1, None), (2, 2), (3, None)],
    ),
    "anti join": (
        "k STRING",
        "SELECT k FROM t WHERE v NOT IN (SELECT v + 1 FROM t WHERE v < 3)",
        [("a",)],
    ),
    "union": ("k STRING", "SELECT k FROM t UNION SELECT 'c'", [("a",), ("b",), ("c",)]),
    "except": ("k STRING", "SELECT k FROM t EXCEPT SELECT 'b'", [("a",)]),
    "changes": (
        "k STRING, v INT",
        "SELECT k, v FROM r WHERE v < 9",
        [("x", 2), ("z", 3), ("z", 3)],
    ),
}


def changed(kind: RowKind, **values: object) -> Row:
    row = Row(**values)
    row.set_row_kind(kind)
    return row


ROWS = [Row(k="a", v=1), Row(k="b", v=2), Row(k="a", v=3)]
CHANGES = [
    Row(k="x", v=1),
    changed(RowKind.UPDATE_BEFORE, k="x", v=1),
    changed(RowKind.UPDATE_AFTER, k="x", v=2),
    Row(k="y", v=1),
    changed(RowKind.DELETE, k="y", v=1),
    Row(k="z", v=3),
    Row(k="z", v=3),
]


def with_tables(env: StreamExecutionEnvironment) -> StreamExecutionEnvironment:
    for name, rows, changelog in (
        ("t", ROWS, Changelog.INSERT_ONLY),
        ("r", CHANGES, Changelog.RETRACT),
    ):
        stream = env.from_collection(rows, KIND)
        env.sql_session.create_view(name, StreamTable(stream, changelog))
    return env


def written(name: str, env: StreamExecutionEnvironment, setting: str) -> list[tuple[object, ...]]:
    columns, query, _ = QUERIES[name]
    first, last = ("", setting) if setting.startswith(" ") else (setting, "")
    with_tables(env).sql_session.add(
        f"{first} {OUT.format(columns)} {last} INSERT INTO out {query};"
    )
    rows = [json.loads(line) for line in run_in_process(env).of("out")]
    return sorted((tuple(each.values()) for each in rows), key=repr)


SETTING = "SET 'execution.runtime-mode' = '{}';"


@pytest.mark.parametrize("name", QUERIES)
def test_a_batch_job_writes_final_rows_to_files(name: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    found = written(name, env, SETTING.format("BATCH"))
    assert found == sorted(QUERIES[name][2], key=repr)


@pytest.mark.parametrize("setting", ["first", "last", "program", "automatic"])
def test_the_mode_may_be_set_anywhere_before_the_insertion(setting: str) -> None:
    modes = {"program": "BATCH", "automatic": "AUTOMATIC"}
    options = {"execution.runtime-mode": modes[setting]} if setting in modes else {}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    text = {"first": SETTING.format("BATCH"), "last": " " + SETTING.format("BATCH")}
    assert written("group", env, text.get(setting, "")) == [("a", 4), ("b", 2)]


@pytest.mark.parametrize("name", ["group", "changes"])
def test_a_stream_is_refused_and_the_hint_has_the_mode(name: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(SqlError, match="cannot take rows that are retract") as caught:
        written(name, env, "")
    assert "SET 'execution.runtime-mode' = 'BATCH'" in str(caught.value)


@pytest.mark.parametrize(("mode", "shown"), [("BATCH", "insert-only"), ("STREAMING", "retract")])
def test_explain_has_the_changelog_mode_of_the_job(mode: str, shown: str) -> None:
    env = with_tables(StreamExecutionEnvironment.get_execution_environment())
    text = env.execute_sql(
        f"{SETTING.format(mode)} EXPLAIN SELECT k, SUM(v) FROM t GROUP BY k;"
    ).text
    assert f"SUM(#1) [{shown}" in text


@pytest.mark.parametrize("name", QUERIES)
def test_rows_of_a_query_are_insertions(name: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.get_configuration().set_string("execution.runtime-mode", "BATCH")
    found = collect(with_tables(env).sql(QUERIES[name][1]))
    assert {row.get_row_kind() for row in found} == {RowKind.INSERT}
    assert sorted(map(tuple, found), key=repr) == sorted(QUERIES[name][2], key=repr)


def test_changes_of_parts_of_a_key_are_added_up() -> None:
    kept: dict[bytes, list[Row]] = {}
    nan = float("nan")
    keyed_changes._add_up(kept, [Row(a=[1], b=nan), Row(a=[2], b=nan)])
    keyed_changes._add_up(
        kept,
        [changed(RowKind.DELETE, a=[1], b=float("nan")), changed(RowKind.UPDATE_AFTER, a=[3], b=0)],
    )
    assert [(row.a, row.get_row_kind()) for (row,) in kept.values()] == [
        ([2], RowKind.INSERT),
        ([3], RowKind.INSERT),
    ]
