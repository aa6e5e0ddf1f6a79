"""State of queries between runs: time-to-live, savepoints with another parallelism and backend, and queries that changed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from penstock.common import Configuration, RowKind, Types
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.relation.groups import GroupBy
from penstock.relation.tree import Changelog, Relation
from tests.sql.generated import materialized
from tests.sql.harness import at, changed, query_harness, shown

HOUR_MS = 3_600_000
T = Types.ROW_NAMED(["k", "n", "ts"], [Types.STRING(), Types.INT(), Types.SQL_TIMESTAMP()])
INSERTED: dict[str, Any] = {"t": (T, {})}
CHANGING = {"t": (T, {"changelog": Changelog.RETRACT})}
TIMED = {"t": (T, {"time": "ts"})}
PAIR: dict[str, Any] = {"t": (T, {}), "u": (T, {})}
TTL = {"table.exec.state.ttl": "1 h"}


def row(k, n, seconds=0.0, kind=RowKind.INSERT):
    return changed(kind, k=k, n=n, ts=at(seconds))


# Time-to-live


def test_a_group_is_forgotten_an_hour_after_its_last_row():
    with query_harness("SELECT k, SUM(n) AS s FROM t GROUP BY k", INSERTED, options=TTL) as harness:
        assert shown(harness.push(row("a", 1))) == [("+I", "a", 1)]
        harness.advance_processing_time(HOUR_MS - 1)
        assert shown(harness.push(row("a", 2))) == [("+U", "a", 3), ("-U", "a", 1)]
        harness.advance_processing_time(2 * HOUR_MS - 2)
        assert shown(harness.push(row("a", 4))) == [("+U", "a", 7), ("-U", "a", 3)]
        harness.advance_processing_time(3 * HOUR_MS)
        assert shown(harness.push(row("a", 5))) == [("+I", "a", 5)]


@pytest.mark.parametrize(
    ("query", "again"),
    [
        ("SELECT DISTINCT k FROM t", [("+I", "a")]),
        (
            "SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n) AS r FROM t) WHERE r = 1",
            [("+I", "a", 1)],
        ),
        (
            "SELECT k, COUNT(*) OVER (PARTITION BY k) AS c FROM t",
            [("+I", "a", 1)],
        ),
    ],
)
def test_what_is_forgotten_counts_as_never_seen(query, again):
    with query_harness(query, INSERTED, options=TTL) as harness:
        first = harness.push(row("a", 1))
        assert shown(first) == again
        harness.advance_processing_time(HOUR_MS + 1)
        assert shown(harness.push(row("a", 1))) == again


def test_a_hint_is_about_the_rows_of_its_table():
    query = "SELECT /*+ STATE_TTL('t' = '1 h') */ t.n AS n, u.n AS m FROM t JOIN u ON t.k = u.k"
    with query_harness(query, PAIR) as harness:
        harness.push(row("a", 1), input=0)
        harness.push(row("b", 2), input=1)
        harness.advance_processing_time(HOUR_MS + 1)
        assert harness.push(row("a", 3), input=1) == []
        assert shown(harness.push(row("b", 4), input=0)) == [("+I", 4, 2)]


def test_a_hint_of_a_group_is_stronger_than_the_option():
    query = "SELECT /*+ STATE_TTL('t' = '2 h') */ k, COUNT(*) AS c FROM t GROUP BY k"
    with query_harness(query, INSERTED, options=TTL) as harness:
        harness.push(row("a", 1))
        harness.advance_processing_time(HOUR_MS + 1)
        assert shown(harness.push(row("a", 1))) == [("+U", "a", 2), ("-U", "a", 1)]
        harness.advance_processing_time(3 * HOUR_MS + 2)
        assert shown(harness.push(row("a", 1))) == [("+I", "a", 1)]


# Savepoints

CHANGES = [
    row("a", 1, 1),
    row("b", 2, 2),
    row("a", 3, 3),
    row("a", 1, 1, RowKind.DELETE),
    row("b", 2, 2, RowKind.UPDATE_BEFORE),
    row("b", 5, 2, RowKind.UPDATE_AFTER),
    row("a", 9, 7),
    row(None, 4, 8),
]
OF_CHANGES = [
    "SELECT k, SUM(n) AS s, MIN(n) AS least, COUNT(DISTINCT n) AS d FROM t GROUP BY k",
    "SELECT k, n, r FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC) AS r FROM t) WHERE r <= 2",
    "SELECT k, n, SUM(n) OVER (PARTITION BY k ORDER BY n) AS s FROM t",
    "SELECT a.n AS n, b.n AS m FROM t AS a FULL JOIN t AS b ON a.k = b.k AND a.n < b.n",
    "SELECT n FROM t AS a WHERE n > 1 AND NOT EXISTS (SELECT 1 FROM t AS b WHERE b.n = a.n + 2)",
    "SELECT COUNT(*) AS c FROM (SELECT k FROM t EXCEPT SELECT k FROM t WHERE n > 4)",
    "SELECT LISTAGG(k) AS l FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) WHERE c > 1",
]
WINDOW = "TABLE({}(TABLE t, DESCRIPTOR(ts), {}))"
OF_TIME = [
    "SELECT window_end, SUM(n) AS s FROM "
    + WINDOW.format("HOP", "INTERVAL '2' SECOND, INTERVAL '4' SECOND")
    + " GROUP BY window_start, window_end",
    (
        "SELECT k, window_start, COUNT(*) AS c FROM TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts),"
        " INTERVAL '2' SECOND)) GROUP BY k, window_start, window_end"
    ),
    (
        "SELECT a.n AS n, b.n AS m FROM t AS a LEFT JOIN t AS b ON a.k = b.k AND a.n <> b.n"
        " AND b.ts BETWEEN a.ts - INTERVAL '2' SECOND AND a.ts + INTERVAL '2' SECOND"
    ),
]


def steps(query):
    """Return the tables of a query, and what is done with them, in order."""
    if query in OF_CHANGES:
        return CHANGING, [("push", each) for each in CHANGES]
    rows = [row(each.k, each.n, (each.ts - at(0)).total_seconds()) for each in CHANGES[:3]]
    rows += [row("a", 4, 4.5), row("b", 6, 6), row("a", 9, 7)]
    made = [("push", each) for each in rows]
    return TIMED, [*made[:3], ("mark", 3_000), *made[3:], ("mark", 60_000)]


def carried_out(harness, todo):
    for kind, each in todo:
        if kind == "mark":
            harness.advance_watermark(each)
        else:
            harness.push(each, int((each.ts - at(0)).total_seconds() * 1000))
    return harness.output()


@pytest.mark.parametrize("query", [*OF_CHANGES, *OF_TIME])
def test_a_job_goes_on_behind_every_step_with_another_parallelism_and_backend(query):
    tables, todo = steps(query)
    with query_harness(query, tables) as harness:
        wanted = sorted(materialized(carried_out(harness, todo)), key=repr)
    assert wanted
    rows, saved = [], None
    for number, step in enumerate(todo):
        how = {"parallelism": 1 + number % 3, "backend": ("hashmap", "lmdb")[number % 2]}
        with query_harness(query, tables, snapshot=saved, **how) as harness:
            rows += carried_out(harness, [step])
            saved = harness.snapshot()
        materialized(rows)  # no row is taken back that is not there
    assert sorted(materialized(rows), key=repr) == wanted


# Queries that changed

UIDS = re.compile(r"-[0-9a-f]{12}$")


def uids_of_state(query):
    """Return the uids that say what state was computed from."""
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.runtime-mode": "STREAMING"})
    )
    env.execute_sql(
        "CREATE TABLE t (k STRING, n INT, m INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)"
        " WITH ('connector' = 'datagen', 'number-of-rows' = '1');"
        "CREATE TABLE u (k STRING, n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
    )
    env.sql(query).sink_to(DiscardingSink())
    return {
        node.uid for node in env.graph.nodes() if node.uid is not None and UIDS.search(node.uid)
    }


GROUP = "SELECT k, SUM(n) AS s FROM t GROUP BY k"
JOIN = "SELECT t.n FROM t JOIN u ON t.k = u.k"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (GROUP, "SELECT k AS kk, SUM(n) * 2 AS other FROM t GROUP BY k"),
        (GROUP, "SELECT k, s FROM (SELECT k, SUM(n) AS s FROM t GROUP BY k) WHERE s > 3"),
        (GROUP, f"{GROUP} HAVING SUM(n) > 2"),
        (GROUP, f"WITH w AS (SELECT * FROM t) {GROUP.replace('FROM t', 'FROM w')}"),
        (GROUP, f"{GROUP} UNION ALL SELECT k, n FROM u"),
        (GROUP, GROUP.replace("SELECT", "SELECT /*+ STATE_TTL('t' = '1d') */")),
        (JOIN, "SELECT t.m, u.n FROM t JOIN u ON t.k = u.k"),
    ],
)
def test_a_change_above_state_keeps_it(before, after):
    assert uids_of_state(before)
    assert uids_of_state(before) <= uids_of_state(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (GROUP, "SELECT k, SUM(m) AS s FROM t GROUP BY k"),
        (GROUP, "SELECT k, MAX(n) AS s FROM t GROUP BY k"),
        (GROUP, "SELECT k, SUM(DISTINCT n) AS s FROM t GROUP BY k"),
        (GROUP, "SELECT k, SUM(n) FILTER (WHERE m > 1) AS s FROM t GROUP BY k"),
        (GROUP, "SELECT m AS k, SUM(n) AS s FROM t GROUP BY m"),
        (GROUP, "SELECT k, SUM(n) AS s FROM t WHERE n > 1 GROUP BY k"),
        (GROUP, "SELECT k, SUM(n) AS s FROM u GROUP BY k"),
        ("SELECT SUM(n) AS a, SUM(m) AS b FROM t", "SELECT SUM(m) AS b, SUM(n) AS a FROM t"),
        (JOIN, "SELECT t.n FROM t LEFT JOIN u ON t.k = u.k"),
        (JOIN, "SELECT t.n FROM t JOIN u ON t.k = u.k AND t.n < u.n"),
        (
            "SELECT k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n) AS r FROM t) WHERE r = 1",
            "SELECT k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC) AS r FROM t) WHERE r = 1",
        ),
        (
            "SELECT LAG(n) OVER (PARTITION BY k ORDER BY n) AS p FROM t",
            "SELECT LAG(n) OVER (PARTITION BY k ORDER BY m) AS p FROM t",
        ),
    ],
)
def test_a_change_below_state_makes_other_state(before, after):
    """The savepoint is refused then: the program lacks an operator that has state."""
    assert uids_of_state(before)
    assert not uids_of_state(before) & uids_of_state(after)


def test_the_uids_in_savepoints_do_not_change():
    assert uids_of_state(GROUP) == {"group by-686227d63c50"}
    assert uids_of_state(JOIN) == {"inner join-ff2334ce92fd"}


def test_a_new_form_of_state_is_a_new_uid(monkeypatch: pytest.MonkeyPatch) -> None:
    """A savepoint with the earlier form is refused: the program lacks an operator that has state."""
    before = uids_of_state(GROUP)
    monkeypatch.setattr(GroupBy, "form", 3)
    assert not uids_of_state(GROUP) & before
    assert uids_of_state(JOIN) == {"inner join-ff2334ce92fd"}


def test_relations_have_tags_of_their_own() -> None:
    found: list[type[Relation]] = [Relation]
    for each in found:
        found += each.__subclasses__()
    tags = {each.__name__: each.__dict__.get("tag") for each in found}  # slots make classes twice
    assert {name for name, tag in tags.items() if tag is None} == {
        *("Relation", "OneInput", "TwoInputs"),
    }
    assert sorted(tag for tag in tags.values() if tag is not None) == [
        *("Correlate", "Delayed", "Filter", "GroupBy", "Join", "Normalize", "Over", "Project"),
        *("Rank", "RowNumber", "Scan", "TemporalJoin", "Union", "Values", "WindowGroupBy"),
        "WindowTable",
    ]


def test_two_groups_of_one_shape_are_told_apart():
    one, two = (f"SELECT COUNT(*) AS c FROM t WHERE n > {at}" for at in (1, 2))
    both = uids_of_state(f"{one} UNION ALL {two}")
    assert both == uids_of_state(one) | uids_of_state(two)
    assert both == uids_of_state(f"{two} UNION ALL {one}")
