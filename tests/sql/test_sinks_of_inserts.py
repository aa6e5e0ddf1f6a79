"""Sinks of INSERTs keep their identity when statements are added, changed or removed, so that an upgrade writes nothing twice."""

from __future__ import annotations

import pytest

from penstock.api.environment.job import PlanReady
from penstock.plan.compat.evolution import StoredProgram, compare, sink_names, unclear_sinks
from penstock.plan.physical import PhysicalPlan
from tests.runtime.jobs import STREAMING, environment

TABLES = "".join(
    f"CREATE TABLE {name} (k STRING, v INT) WITH ('connector' = 'filesystem', 'path' = '/{name}', 'format' = 'json'{more});"
    for name, more in (("t", ", 'source.monitor-interval' = '1 s'"), ("a", ""), ("b", ""))
)


def planned(*statements: str) -> PhysicalPlan:
    """Return the plan of INSERTs, each a table and what it selects."""
    env = environment({**STREAMING, "execution.target": "plan"})
    pairs = (each.split(" ", 1) for each in statements)
    inserts = "".join(f"INSERT INTO {table} SELECT {what} FROM t;" for table, what in pairs)
    with pytest.raises(PlanReady) as ready:
        env.execute_sql(f"{TABLES} EXECUTE STATEMENT SET BEGIN {inserts} END;")
    return ready.value.plan


def after(old: PhysicalPlan, new: PhysicalPlan) -> list[str]:
    """Return the status of each sink of a program that takes the place of another one, dropped ones last; unclear ones are marked."""
    stored = StoredProgram("v1", (), frozenset(), sinks=sink_names(old))
    marks = ["?" for _ in unclear_sinks(new, stored)]
    return [each.change.value for each in compare(new, stored).sinks] + marks


ONE, OTHER, THIRD = "a k, v", "a k, v + 1", "a k, v + 2"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([ONE], [ONE], ["kept"]),
        ([ONE], [OTHER], ["kept"]),
        ([ONE], [ONE, OTHER], ["kept", "new"]),
        ([ONE], [OTHER, ONE], ["new", "kept"]),
        ([ONE, OTHER], [OTHER], ["kept", "dropped"]),
        ([ONE, OTHER], [THIRD, OTHER, ONE], ["new", "kept", "kept"]),
        ([ONE, OTHER], [ONE, THIRD], ["kept", "kept"]),
        ([ONE], [ONE, ONE], ["kept", "new"]),
        ([ONE, "b k, v"], ["b k, v", OTHER], ["kept", "kept"]),
        ([ONE], ["b k, v"], ["new", "dropped"]),
        ([ONE], [OTHER, THIRD], ["new", "new", "dropped", "?", "?"]),
        ([ONE, OTHER], [THIRD], ["new", "dropped", "dropped", "?"]),
    ],
)
def test_a_sink_is_known_by_its_table_and_its_select(
    old: list[str], new: list[str], expected: list[str]
) -> None:
    assert after(planned(*old), planned(*new)) == expected


def test_uids_are_those_of_tables_and_of_their_selects() -> None:
    assert [sink.uid for sink in planned(ONE, "b k, v").sinks] == ["into-a", "into-b"]
    first, second = (sink.uid for sink in planned(ONE, OTHER).sinks)
    assert first.startswith("into-a-")
    assert [sink.uid for sink in planned(THIRD, OTHER, ONE).sinks][1:] == [second, first]
