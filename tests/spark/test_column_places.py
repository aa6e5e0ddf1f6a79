"""Random programs of columns on Spark, with each place forced that the planner may choose: one answer, that of workers in this process.

A program joins tables, with conditions and columns before and behind, and perhaps aggregates or first rows at the end. The tables are
Parquet files; in the ways with history the first half is a batch run, the second one is live.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import CollectionSource, DiscardingSink
from penstock.testing import collect
from tests.spark.test_sql_places import BATCH, HISTORY, WAYS, in_catalyst, source_of, written
from tests.sql.generated import TABLES, changing_table, materialized

SEEDS = range(8)
_ON = {"u": "k", "v": "b"}
_CONDITIONS = (
    col.a > 0,
    (col.k == "p") | col.k.is_null(),
    ~col.f,
    col.a + 1 > 1,
    col.x * 0.5 < 1.0,
    col.b.isin([0, 1, 2]),
)


class ProgramMaker:
    """Draws programs.

    Attributes:
        is_live: True if the program may run on rows that change: the last step takes the changes of the joins.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._steps = [step for step in ("u", "v", "where", "columns") if rng.random() < 0.8]
        rng.shuffle(self._steps)
        self._kinds = {name: rng.choice(("inner", "left", "right", "full")) for name in _ON}
        self._conditions = [rng.choice(_CONDITIONS) for _ in range(2)]
        self._is_united = rng.random() < 0.3
        self.last = rng.choice(("rows", "aggregate", "top_n"))
        outer = {kind for name, kind in self._kinds.items() if name in self._steps} - {"inner"}
        self.is_live = self.last == "rows" or not outer

    def rows(self, table: Callable[[str], Any]) -> Any:
        """Return the stream of the program."""
        made = table("t")
        if self._is_united:
            made = made.union(table("t").where(col.f))
        for step in self._steps:
            if step == "where":
                made = made.where(*self._conditions)
            elif step == "columns":
                made = made.with_columns(d=col.a * 2, e=col.k.fill_null("-"))
            else:
                made = made.join(table(step), on=col[_ON[step]], how=self._kinds[step])
        if self.last == "aggregate":
            return made.key_by(col.k).aggregate(
                n=col.count(), total=col.a.sum(), least=col.b.min(), mean=col.x.mean()
            )
        return made if self.last == "rows" else made.key_by(col.k).top_n(2, by=[col.b, col.a])

    def answer(self, rows: Any) -> Counter[Any]:
        """Return the rows that are left: of aggregates the last one of each key."""
        if self.last == "aggregate":
            return Counter(materialized({row.k: row for row in rows}.values()))
        return Counter(materialized(rows))


def program_of(maker: ProgramMaker, settings: dict[str, str], source: Callable[[str], Any]) -> Any:
    conf = Configuration.from_dict({"parallelism.default": "2"} | settings)
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    none = WatermarkStrategy.no_watermarks()
    return maker.rows(lambda name: env.from_source(source(name), none, name))


def _files(tables: Any, paths: Any, name: str, *, is_cut: bool) -> Any:
    return source_of(tables[name], paths[name], is_cut=is_cut)


@pytest.mark.usefixtures("session")
def test_one_answer_wherever_a_program_is_computed(tmp_path: Path) -> None:
    placed: Counter[str] = Counter()
    queries, last = 0, set()
    for seed in SEEDS:
        rng = random.Random(seed)  # noqa: S311 - examples, not secrets
        tables = {name: changing_table(rng, name, is_changing=False) for name in TABLES}
        maker = ProgramMaker(rng)
        rows = {
            name: CollectionSource.of(list(each.changes), each.type_info)
            for name, each in tables.items()
        }
        in_process = program_of(maker, BATCH, rows.__getitem__)
        wanted = maker.answer(collect(in_process))
        (root := tmp_path / str(seed)).mkdir()
        paths = {name: written(each, root) for name, each in tables.items()}
        last.add(maker.last)
        for number, (way, settings) in enumerate(WAYS.items()):
            if not maker.is_live and not settings.items() >= BATCH.items():
                continue
            is_cut = settings.items() >= HISTORY.items()
            directory = {"execution.checkpointing.dir": str(root / f"job-{number}")}
            files = partial(_files, tables, paths, is_cut=is_cut)
            made = program_of(maker, settings | directory, files)
            env = made.get_execution_environment()
            sink = made.sink_to(DiscardingSink()).node_id
            plan = env.plan()
            placed[way] += in_catalyst(plan)
            queries += any(each.is_query for each in plan.sources)
            env.graph.remove(sink)
            with made.execute_and_collect() as found:
                assert maker.answer(found) == wanted, (seed, way)
    assert queries > len(SEEDS) // 2
    assert last == {"rows", "aggregate", "top_n"}
    assert min(placed[way] for way in WAYS if "workers" not in way) > 0, placed
    assert max(placed[way] for way in WAYS if "workers" in way) == 0, placed
