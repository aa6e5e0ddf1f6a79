"""Random programs whose rows Spark SQL merges in history, with each place forced that the planner may choose: one answer.

Groups, DISTINCT, windows, sessions and first rows read Parquet files: all of them in BATCH mode, or a history that hands over to live rows.
Workers in this process are the oracle of the changes that live rows make, so of the state behind history; DuckDB is that of the final rows of SQL.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from penstock.api.windows.time_assigners import CumulatingEventTimeWindows
from penstock.common import Configuration, Duration, Row, Time, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import CollectionSource, DiscardingSink, HybridSource
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.expressions.python.times import millis_of
from penstock.plan import planner
from penstock.plan.physical import PhysicalPlan
from penstock.plan.placement.expressions import place_expressions
from penstock.plan.placement.first_rows import place_first_rows
from penstock.sql.streams import StreamTable
from penstock.testing import Schedule, collect
from tests.spark.test_merged_sessions import written
from tests.sql.generated import comparable, materialized
from tests.sql.timed import (
    BOUND_SECONDS,
    KIND,
    TimedMaker,
    TimedQuery,
    duckdb_answer,
    events,
    on_time,
)

TIMED = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(BOUND_SECONDS))
TIMED = TIMED.with_timestamp_assigner(col.ts)
UNTIMED = WatermarkStrategy.no_watermarks()
BATCH = {"execution.runtime-mode": "BATCH"}
HISTORY = {"execution.checkpointing.interval-during-backlog": "0"}
PARTS = {"execution.batch.queries": "false"}
ROWS = {"execution.batch.combine": "false"}
WORKERS = {"execution.batch.expressions": "false"}
WAYS: dict[str, dict[str, str]] = {
    "batch, query": BATCH,
    "batch, merged": BATCH | PARTS,
    "batch, rows": BATCH | PARTS | ROWS,
    "batch, workers": BATCH | PARTS | WORKERS,
    "history, merged": HISTORY,
    "history, rows": HISTORY | ROWS,
    "history, workers": HISTORY | WORKERS,
}
"""Name to settings: Spark SQL computes the whole query, merges parts, or evaluates expressions only; or workers do all of it."""
ALWAYS = "history, merged"
Streams = Callable[[str], Any]


@dataclass(frozen=True)
class Program:
    """A program, and what is known of its answer.

    Attributes:
        made: Makes its stream of the streams of its tables.
        query: Its query; None of a program of columns.
        is_timed: True if its tables have timestamps and watermarks.
        has_one_operator: True if its changes in a micro-batch do not depend on the order of rows.
        keys: How many columns a row has in common with the row that it replaces; None of a changelog.
    """

    made: Callable[[Streams], Any]
    query: TimedQuery | None = None
    is_timed: bool = True
    has_one_operator: bool = True
    keys: int | None = None

    def left(self, rows: Sequence[Row]) -> Counter[Any]:
        """Return the rows that are left."""
        if self.keys is not None:
            rows = list({tuple(row)[: self.keys]: row for row in rows}.values())
        return Counter(materialized(rows))

    @property
    def tables(self) -> tuple[str, ...]:
        return ("e",) if self.query is None else self.query.tables


class MergedMaker(TimedMaker):
    """Draws programs that begin with rows to merge."""

    def program(self, kind: str) -> Program:
        """Return a program of a kind of `KINDS`."""
        made: Program = getattr(self, f"_of_{kind}")()
        return made

    def _of_text(self, text: str, *, has_one_operator: bool = True) -> Program:
        is_timed = self._rng.random() < 0.5
        return _of_query(TimedQuery(text), is_timed=is_timed, has_one_operator=has_one_operator)

    def _of_group(self) -> Program:
        text = self._grouped(self._rng.choice(("s.k", "s.a", "s.k, s.a"))).replace("{e}", "e")
        if self._rng.random() < 0.7:
            return self._of_text(text)
        again = f"SELECT c0, COUNT(*) AS n FROM ({text}) AS o GROUP BY c0"
        return self._of_text(again, has_one_operator=False)

    def _of_distinct(self) -> Program:
        columns = self._columns("s")
        shown = self._rng.choice(("s.k", "s.k, s.a", "s.a, s.k, s.a > 0 AS p"))
        return self._of_text(f"SELECT DISTINCT {shown} FROM e AS s{self._where(columns)}")

    def _of_top(self) -> Program:
        rng = self._rng
        order = ", ".join(
            f"{name} {rng.choice(('ASC NULLS FIRST', 'DESC NULLS LAST'))}"
            for name in rng.sample(("a", "x"), 2)
        )
        inside = f"SELECT s.k AS k, s.a AS a, s.x AS x FROM e AS s{self._where(self._columns('s'))}"
        numbered = f"SELECT k, a, x, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order}) AS r"
        text = f"SELECT k, a, x FROM ({numbered} FROM ({inside}) AS i) AS j WHERE r <= {rng.randint(1, 3)}"
        return self._of_text(text)

    def _of_pair(self) -> Program:
        """Return two groups of two tables: parts of which each has a place of its own."""
        groups = [self._counted(table) for table in ("e", "f")]
        if self._rng.random() < 0.5:
            both = (f"SELECT k, n FROM ({group}) AS g" for group in groups)
            return self._of_text(" UNION ALL ".join(both))
        kind = self._rng.choice(("JOIN", "LEFT JOIN", "FULL JOIN"))
        text = f"SELECT l.k AS k, l.n AS n, r.n AS m FROM ({groups[0]}) AS l {kind} ({groups[1]}) AS r ON l.k = r.k"
        return self._of_text(text, has_one_operator=False)

    def _counted(self, table: str) -> str:
        columns = self._columns("s")
        value = self._scalar(columns, "whole", self._rng.choice((0, 1)))
        call = self._rng.choice(("COUNT", "COUNT", "SUM", "MIN", "MAX"))
        where = self._where(columns)
        return f"SELECT s.k AS k, CAST({call}({value}) AS BIGINT) AS n FROM {table} AS s{where} GROUP BY s.k"

    def _of_window(self, function: str) -> Program:
        while True:
            query = self._timed_group()
            if query.windows is not None and query.windows.text.startswith(function):
                is_one = query.text.count("GROUP BY") == 1
                return _of_query(query, has_one_operator=is_one)

    def _of_tumble(self) -> Program:
        return self._of_window("TUMBLE")

    def _of_hop(self) -> Program:
        return self._of_window("HOP")

    def _of_cumulate(self) -> Program:
        return self._of_window("CUMULATE")

    def _of_session(self) -> Program:
        return _of_query(self._timed_session())

    def _of_columns(self) -> Program:
        aggregates, keys = self._aggregates(), self._keys()
        return Program(
            self._chained(keys, lambda keyed: keyed.aggregate(**aggregates)),
            is_timed=self._rng.random() < 0.5,
            keys=len(keys),
        )

    def _keys(self) -> tuple[Any, ...]:
        return self._rng.choice(((col.k,), (col.k, col.a)))

    def _of_columns_in_windows(self) -> Program:
        rng, aggregates = self._rng, self._aggregates()
        assigner = rng.choice(
            (
                TumblingEventTimeWindows.of(Time.seconds(rng.choice((3, 10)))),
                SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(rng.choice((2, 4, 5)))),
                CumulatingEventTimeWindows(12_000, 3_000, rng.choice((0, 1_000))),
                EventTimeSessionWindows.with_gap(Time.seconds(rng.choice((2, 3)))),
            )
        )
        return Program(
            self._chained(
                self._keys(),
                lambda keyed: keyed.window(assigner).aggregate(col.window_end, **aggregates),
            )
        )

    def _of_columns_first(self) -> Program:
        count, is_descending = self._rng.randint(1, 3), self._rng.random() < 0.5
        by = self._rng.sample((col.a, col.x), 2)
        return Program(
            self._chained(
                self._keys(), lambda keyed: keyed.top_n(count, by=by, descending=is_descending)
            ),
            is_timed=self._rng.random() < 0.5,
        )

    def _aggregates(self) -> dict[str, Any]:
        names = self._rng.sample([*AGGREGATES], self._rng.randint(3, 8))
        return {name: AGGREGATES[name] for name in names}

    def _chained(
        self, keys: tuple[Any, ...], last: Callable[[Any], Any]
    ) -> Callable[[Streams], Any]:
        rng = self._rng
        condition = rng.choice((None, None, *CONDITIONS))
        has_new = rng.random() < 0.3

        def made(streams: Streams) -> Any:
            rows = streams("e")
            if has_new:
                rows = rows.with_columns(a=col.a + 1)
            if condition is not None:
                rows = rows.where(condition)
            return last(rows.key_by(*keys))

        return made


def _of_query(query: TimedQuery, *, is_timed: bool = True, **facts: bool) -> Program:
    def made(streams: Streams) -> Any:
        tables = {name: streams(name) for name in query.tables}
        given = {
            name: StreamTable(rows, time="ts" if is_timed else None)
            for name, rows in tables.items()
        }
        return tables["e"].get_execution_environment().sql(query.for_penstock(), given)

    return Program(made, query, is_timed, **facts)


KINDS = (
    *("group", "distinct", "top", "pair", "tumble", "hop", "cumulate", "session"),
    *("columns", "columns_in_windows", "columns_first"),
)
CONDITIONS = (col.a > 0, (col.k == "p") | col.k.is_null(), col.x * 0.5 < 1.0, col.a.is_not_null())
AGGREGATES = {
    "n": col.count(),
    "c": col.x.count(),
    "s": col.a.sum(),
    "t": (col.a * 2).sum(),
    "m": col.a.mean(),
    "l": col.a.min(),
    "g": col.x.max(),
    "f": col.k.min(),
    "d": col.a.count_distinct(),
    "e": col.k.count_distinct(),
    "q": col.a.approx_quantile(0.5),
    "v": col.a.stddev(),
    "w": col.ts.max(),
}


@contextmanager
def merging_only(sources: frozenset[int] | None) -> Iterator[None]:
    """Let Spark SQL merge rows of some sources only, of those that the planner has chosen; None is all."""
    if sources is None:
        yield
        return

    def expressions(plan: PhysicalPlan) -> PhysicalPlan:
        plan = place_expressions(plan)
        kept = (e for e in plan.projections if e.merged_for is None or e.source in sources)
        return replace(plan, projections=tuple(kept))

    def first_rows(plan: PhysicalPlan) -> PhysicalPlan:
        plan = place_first_rows(plan)
        return replace(plan, first_rows=tuple(e for e in plan.first_rows if e.source in sources))

    forced: dict[planner.Phase, planner.Phase] = {
        place_expressions: expressions,
        place_first_rows: first_rows,
    }
    phases = tuple(forced.get(phase, phase) for phase in planner.PHASES)
    with patch.object(planner, "PHASES", phases):
        yield


def merging(made: Any) -> tuple[frozenset[int], frozenset[int]]:
    """Return the sources whose rows Spark SQL merges, and those of which it leaves first rows, of a program that stays without a sink."""
    env = made.get_execution_environment()
    sink = made.sink_to(DiscardingSink()).node_id
    try:
        plan = env.plan()
    finally:
        env.graph.remove(sink)
    merged = frozenset(each.source for each in plan.projections if each.merged_for is not None)
    return merged, frozenset(each.source for each in plan.first_rows)


class Case:
    """A program and its rows, which are cut into history and live ones."""

    def __init__(
        self, seed: int, kind: str, root: Path, shares: Sequence[float] = (0.3, 0.5, 0.7)
    ) -> None:
        self._rng = rng = random.Random(seed)  # noqa: S311 - examples, not secrets
        self._is_late = rng.random() < 0.5
        arrived = events(rng, is_late=self._is_late, counts=(60, 90))
        self._rows = {
            name: [each.row for each in arrived if each.table == name] for name in ("e", "f")
        }
        share = rng.choice(shares)
        self._cuts = {name: int(len(rows) * share) for name, rows in self._rows.items()}
        self._root = root
        self._files = {
            (name, part): written(rows, root / f"{name}-{part}", KIND)
            for name in self._rows
            for part, rows in self._parts(name).items()
        }
        maker = MergedMaker(rng)
        while True:
            self.program = maker.program(kind)
            self.merged, self.first = merging(self.on_files(HISTORY))
            if len(self.merged | self.first) == len(self.program.tables):
                break
        self.answer: Counter[Any] | None = None
        if self.program.query is not None:
            rows = duckdb_answer(self.program.query, [on_time(each) for each in arrived])
            self.answer = Counter(rows)

    def _parts(self, name: str) -> Mapping[str, Sequence[Row]]:
        rows, cut = self._rows[name], self._cuts[name]
        return {"all": rows, "past": rows[:cut], "new": rows[cut:]}

    def on_files(self, settings: dict[str, str], job: str = "") -> Any:
        """Return the stream of the program over files."""
        env = _environment(settings | ({"execution.checkpointing.dir": job} if job else {}))
        if settings.items() >= BATCH.items():
            return self._of(env, lambda name: self._files[name, "all"])
        return self._of(env, partial(self._cut, lambda name, part: self._files[name, part]))

    def in_process(self, settings: dict[str, str]) -> Any:
        """Return the stream of the program over collections."""
        collected = partial(
            self._cut, lambda name, part: CollectionSource.of(list(self._parts(name)[part]), KIND)
        )
        return self._of(_environment(settings), collected)

    def _of(self, env: StreamExecutionEnvironment, source: Callable[[str], Any]) -> Any:
        strategy = TIMED if self.program.is_timed else UNTIMED
        return self.program.made(lambda name: env.from_source(source(name), strategy, name))

    @staticmethod
    def _cut(part: Callable[[str, str], Any], name: str) -> Any:
        return HybridSource.builder(part(name, "past")).add_source(part(name, "new")).build()

    def compared(self, rows: list[Row], *, is_batch: bool) -> Counter[Any]:
        """Return the changes, or what they leave where changes depend on the mode or the order of rows."""
        if is_batch or not self.program.has_one_operator:
            return self.program.left(rows)
        return Counter((str(row.get_row_kind()), *map(comparable, row)) for row in rows)

    def check(self, ways: Sequence[str]) -> None:
        """Run the program in some ways of `WAYS`, and with one source merged of several."""
        behind_history = collect(self.in_process(HISTORY), Schedule(batch_sizes=(10_000,)))
        whole = self.program.left(collect(self.in_process(BATCH)))
        assert self.answer is None or whole == self.answer
        if not self._is_late:
            live = collect(self.in_process({"execution.runtime-mode": "STREAMING"}))
            assert self.program.left(live) == self.program.left(behind_history) == whole
        wanted = {True: whole, False: self.compared(behind_history, is_batch=False)}
        chosen: list[tuple[str, frozenset[int] | None]] = [(way, None) for way in ways]
        if len(self.merged) > 1:
            chosen.append(("history, merged", frozenset({self._rng.choice(sorted(self.merged))})))
        for number, (way, sources) in enumerate(chosen):
            is_batch = way.startswith("batch")
            with merging_only(sources):
                job = self._root / f"job-{number}"
                made = self.on_files(WAYS[way], str(job))
                if not is_batch:
                    assert merging(made) == self._forced(way, sources), (way, sources)
                with made.execute_and_collect() as results:
                    rows = list(results)
            if not is_batch:
                self._check_hand_over(job)
            found = self.compared(rows, is_batch=is_batch)
            assert found == wanted[is_batch], (way, sources, self.program)

    def _check_hand_over(self, job: Path) -> None:
        """Check the number of records of history, and the watermarks that live rows meet."""
        files = job.glob("run-*.done.json")
        records = [json.loads(file.read_text().splitlines()[0]) for file in files]
        tables = self.program.tables
        assert sum(each["records"] for each in records) == sum(map(self._cuts.__getitem__, tables))
        if self.program.is_timed:
            groups = [group for each in records for group in each["watermarks"].values()]
            marks = {mark for group in groups for mark in group.values()}
            assert marks == set(map(self._watermark, tables))

    def _watermark(self, name: str) -> int:
        times = [row.ts for row in self._parts(name)["past"]]
        if not times:
            return -(1 << 63)
        return millis_of(max(times)) - BOUND_SECONDS * 1000 - 1

    def _forced(
        self, way: str, sources: frozenset[int] | None
    ) -> tuple[frozenset[int], frozenset[int]]:
        """Return what `merging` finds in a way with history."""
        none: frozenset[int] = frozenset()
        if way == "history, workers":
            return none, none
        if way == "history, rows":
            return none, self.first
        return (self.merged, self.first) if sources is None else (sources, none)


def _environment(settings: dict[str, str]) -> StreamExecutionEnvironment:
    conf = Configuration.from_dict({"parallelism.default": "2"} | settings)
    return StreamExecutionEnvironment.get_execution_environment(conf)


@pytest.mark.parametrize("number", range(len(KINDS)))
@pytest.mark.usefixtures("session")
def test_one_answer_wherever_rows_are_merged(number: int, tmp_path: Path) -> None:
    others = [way for way in WAYS if way != ALWAYS]
    Case(number, KINDS[number], tmp_path).check((ALWAYS, others[number % len(others)]))


@pytest.mark.fuzz
@pytest.mark.usefixtures("session")
def test_one_answer_of_new_programs(tmp_path: Path) -> None:
    rng = random.Random(os.environ.get("PENSTOCK_FUZZ_SEED", "0"))  # noqa: S311
    end = time.monotonic() + 60
    while time.monotonic() < end:
        seed, kind = rng.randrange(1 << 32), rng.choice(KINDS)
        (root := tmp_path / str(seed)).mkdir()
        Case(seed, kind, root, (0, 0.3, 0.5, 0.7, 1)).check(tuple(WAYS))
