"""First rows of each key: Spark SQL leaves them in history, with the outputs and the state of workers that read all rows.

Catches: another order of NULL, NaN, zeros and ties in Spark SQL; timestamps and watermarks of rows that do not reach the operator; rows that
a condition drops after their timestamps count; state that live rows do not go on from.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.cli.main import command_line
from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import DiscardingSink, FileSource, HybridSource
from penstock.errors import PenstockError
from penstock.sql.streams import StreamTable
from penstock.types.arrow import arrow_schema
from tests.spark.conftest import Environment
from tests.sql.harness import at

T = Types.ROW_NAMED(
    ["k", "g", "n", "x", "ts"],
    [Types.STRING(), Types.INT(), Types.LONG(), Types.DOUBLE(), Types.SQL_TIMESTAMP()],
)
NAN = float("nan")
TIMED = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col.ts)
UNTIMED = WatermarkStrategy.no_watermarks()
HISTORY, LIVE = 120, 30
WAYS: dict[str, tuple[str, dict[str, str]]] = {
    "Spark SQL": ("mixed", {}),
    "workers": ("mixed", {"execution.batch.expressions": "false"}),
    "live": ("streaming", {}),
}


def rows_of_seed(seed: int) -> list[Row]:
    rng = random.Random(seed)  # noqa: S311 - examples, not secrets
    rows = [
        Row(
            rng.choice((None, "a", "b", "ü", "Z")),
            rng.choice((None, 1, 2)),
            rng.choice((None, *range(4))),
            rng.choice((None, -0.0, 0.0, 2.5, -1.0, NAN, float("inf"))),
            at(number),
        )
        for number in range(HISTORY + LIVE)
    ]
    rng.shuffle(rows)
    return [*rows[:HISTORY], *rows[:5], *rows[HISTORY:]]  # some come twice


def written(rows: list[Row], path: Path, name: str) -> str:
    (directory := path / name).mkdir(parents=True)
    schema = arrow_schema(T)
    values = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate(schema.types)]
    pq.write_table(pa.table(values, schema=schema), directory / "rows.parquet")
    return str(directory)


def sql(query: str) -> Callable[[Any], Any]:
    return lambda stream: stream.get_execution_environment().sql(query, {"t": StreamTable(stream)})


def number(order: str, by: str = "PARTITION BY k") -> str:
    return f"ROW_NUMBER() OVER ({by} ORDER BY {order}) AS r"


def nested(inside: str, outside: str, source: str = "t") -> Callable[[Any], Any]:
    return sql(f"SELECT {outside} FROM (SELECT {inside} FROM {source}) WHERE r <= 3")


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "all columns": nested(f"*, {number('n DESC NULLS LAST')}", "*"),
    "two keys": nested(f"*, {number('x ASC NULLS FIRST, n', 'PARTITION BY k, g')}", "k, g, n, x"),
    "no key": sql("SELECT k, n, x FROM t ORDER BY x DESC NULLS FIRST, n LIMIT 4"),
    "some columns": nested(f"k, n, x, {number('n ASC NULLS LAST')}", "k, n, x"),
    "condition": nested(f"*, {number('x DESC')}", "k, n, x, ts", "t WHERE n > 1"),
    "computed": nested(
        f"u, m, x, {number('m DESC NULLS FIRST', 'PARTITION BY u')}",
        "u, m, x, r",
        "(SELECT COALESCE(k, 'none') AS u, n + 1 AS m, x FROM t WHERE n > 0)",
    ),
    "columns": lambda stream: stream.key_by(col.k).top_n(2, by=(col.n, col.x)),
    "columns of a condition": lambda stream: (
        stream.where(col.n > 0)
        .select(col.k, col.g, each=12 % col.n, x=col.x * col.n, n=col.n)
        .key_by(col.k, col.g)
        .top_n(1, by=col.each, descending=False)
    ),
}


def rows_in(
    env: StreamExecutionEnvironment, paths: tuple[str, str], strategy: WatermarkStrategy
) -> Any:
    past, live = (FileSource.parquet(path, T) for path in paths)
    source = HybridSource.builder(past).add_source(live).build()
    return env.from_source(source, strategy, "t").uid("t")


def changes_of(made: Any) -> list[str]:
    with made.execute_and_collect() as found:
        return [repr((str(row.get_row_kind()), *row)) for row in found]


def left(changes: list[str]) -> Counter[str]:
    """Return the rows that changes leave, whatever the sign of a zero is."""
    found = Counter[str]()
    for change in changes:
        kind, _, values = change.replace("-0.0", "0.0").partition(",")
        found[values] += 1 if "+" in kind else -1
    return +found


def handed_over(job: Path) -> Any:
    record = json.loads((job / "run-0.done.json").read_text().splitlines()[0])
    return {name: record[name] for name in ("records", "memory", "watermarks")}


def state_of(job: Path) -> list[str]:
    def shown(*arguments: str) -> list[dict[str, Any]]:
        result = CliRunner().invoke(command_line(), ["state", *arguments, "--json"])
        assert result.exit_code == 0, result.output
        return [json.loads(line) for line in result.stdout.splitlines()]

    (state,) = shown("ls", str(job))
    return sorted(map(str, shown("show", str(job), state["uid"], state["name"], "--limit", "999")))


@pytest.mark.parametrize("is_timed", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_first_rows_are_the_same_wherever_history_is_reduced(
    environment: Environment, tmp_path: Path, program: str, *, is_timed: bool
) -> None:
    seed = [*PROGRAMS].index(program) + 100 * is_timed
    rows = rows_of_seed(seed)
    # of every third program the state at the end is that of history
    live = rows[HISTORY:] if seed % 3 else []
    paths = written(rows[:HISTORY], tmp_path, "past"), written(live, tmp_path, "live")
    changes, jobs = {}, {}
    for way, (mode, settings) in WAYS.items():
        jobs[way] = tmp_path / f"job of {way}"
        env = environment(mode, **{"execution.checkpointing.dir": str(jobs[way])} | settings)
        made = PROGRAMS[program](rows_in(env, paths, TIMED if is_timed else UNTIMED))
        sink = made.sink_to(DiscardingSink()).node_id
        assert len(env.plan().first_rows) == (way == "Spark SQL"), env.plan().decisions
        env.graph.remove(sink)
        changes[way] = changes_of(made)
    wanted = changes["workers"]
    assert wanted
    if is_timed:
        assert Counter(changes["Spark SQL"]) == Counter(wanted)
    assert left(changes["Spark SQL"]) == left(wanted) == left(changes["live"])
    one, other = (state_of(jobs[way]) for way in ("Spark SQL", "workers"))
    assert str(one).replace("-0.0", "0.0") == str(other).replace("-0.0", "0.0")
    assert one
    assert handed_over(jobs["Spark SQL"]) == handed_over(jobs["workers"])


def test_only_first_rows_reach_workers(environment: Environment, tmp_path: Path) -> None:
    rows = rows_of_seed(1)
    path = written(rows, tmp_path, "past")
    counts = {}
    for way, strategy in (("plain", UNTIMED), ("timed", TIMED)):
        for place in ("true", "false"):
            job = {"execution.checkpointing.dir": str(tmp_path / f"{way}-{place}")}
            env = environment("batch", **job, **{"execution.batch.expressions": place})
            stream = env.from_source(FileSource.parquet(path, T), strategy, "t")
            stream.key_by(col.k).top_n(2, by=col.ts, descending=False).uid("first").sink_to(
                DiscardingSink()
            )
            result = env.execute()
            assert [run.records for run in result.runs] == [len(rows)]
            counts[way, place] = result.get_accumulator_result("first.numRecordsIn")
    keys, signs = 5, 2
    assert counts["plain", "false"] == counts["timed", "false"] == len(rows)
    assert keys * 2 <= counts["plain", "true"] <= keys * signs * 2
    assert keys * 3 <= counts["timed", "true"] <= keys * signs * 3


def test_the_first_of_rows_that_only_time_orders_is_the_earliest(
    environment: Environment, tmp_path: Path
) -> None:
    zeros = [(-0.0, 7), (0.0, 6), (-0.0, 5), (0.0, 4), (-0.0, 3), (0.0, 3.5)]
    rows = [Row("a", 1, 1, zero, at(second)) for zero, second in zeros]
    paths = written(rows, tmp_path, "past"), written([], tmp_path, "live")
    env = environment()
    made = rows_in(env, paths, TIMED).select(col.k, col.x).key_by(col.k).top_n(2, by=col.x)
    assert changes_of(made) == ["('+I', 'a', -0.0)", "('+I', 'a', 0.0)"]


def test_a_row_without_a_time_fails_the_job_wherever_it_is_reduced(
    environment: Environment, tmp_path: Path
) -> None:
    rows = [*rows_of_seed(3)[:50], Row("a", 1, None, 2.0, None)]
    paths = written(rows, tmp_path, "past"), written([], tmp_path, "live")
    for way in ("Spark SQL", "workers"):
        job = {"execution.checkpointing.dir": str(tmp_path / way)}
        env = environment("mixed", **job | WAYS[way][1])
        made = rows_in(env, paths, TIMED).where(col.n > 0).key_by(col.k).top_n(1, by=col.n)
        with pytest.raises(PenstockError, match="'ts' is NULL"):
            changes_of(made)
