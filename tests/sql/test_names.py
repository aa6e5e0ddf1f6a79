"""Names of columns and tables: two columns of one name, and errors about names."""

from __future__ import annotations

import pytest

from penstock.common import Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.testing import collect

KIND = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    made = StreamExecutionEnvironment.get_execution_environment()
    made.create_view("t", made.from_collection([Row(k="a", v=1)], KIND))
    return made


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT a, a0 FROM (SELECT v AS a, k AS a FROM t)", {"a": 1, "a0": "a"}),
        ("SELECT s.a, s.a0 FROM (SELECT v AS a, k AS a FROM t) AS s", {"a": 1, "a0": "a"}),
        ("SELECT * FROM w", {"a": 1, "b": "a", "a0": "a", "a1": 1}),
        ("SELECT x.a, x.a0, x.a1 FROM w AS x", {"a": 1, "a0": "a", "a1": 1}),
        (
            "SELECT a, a0, a00 FROM (SELECT v AS a, k AS a, k AS a0 FROM t)",
            {"a": 1, "a0": "a", "a00": "a"},
        ),
        (
            "SELECT k, k0, v0 FROM (SELECT * FROM t JOIN t AS o ON t.k = o.k)",
            {"k": "a", "k0": "a", "v0": 1},
        ),
        ("SELECT a0, a1 FROM (SELECT *, 7 AS a0 FROM (SELECT v AS a, k AS a FROM t))", None),
        (
            "WITH s AS (SELECT v AS a, k AS a FROM t) SELECT a0, COUNT(*) AS n FROM s GROUP BY a0",
            {"a0": "a", "n": 1},
        ),
    ],
)
def test_of_two_columns_of_one_name_the_second_gets_a_number(env, query, wanted):
    """Flink's names."""
    env.execute_sql("CREATE VIEW w AS SELECT v AS a, k AS b, k AS a, v AS a FROM t")
    if wanted is None:
        with pytest.raises(SqlError, match="there is no column"):
            env.sql(query)
        return
    (row,) = collect(env.sql(query))
    assert row.as_dict() == wanted


def test_dropping_what_is_of_another_kind_names_the_statement(env):
    env.execute_sql("CREATE VIEW w AS SELECT v FROM t")
    with pytest.raises(SqlError, match="'w' is a view") as caught:
        env.execute_sql("DROP TABLE w")
    assert "DROP VIEW w" in str(caught.value)
