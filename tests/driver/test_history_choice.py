"""The choices about a history that cannot be read again: what a plan reads, shows and refuses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from penstock.common import TypeInformation, Types, WatermarkStrategy
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.errors import EvolutionError
from penstock.plan.compat.function_digest import source_uids
from penstock.plan.physical import PhysicalPlan
from penstock.runtime.task.report import Report
from penstock.spark.job.run_outline import outline_of
from penstock.spark.sources.split_reads import NAMES
from penstock.spark.upgrade.bootstrap import Bootstrap
from penstock.spark.upgrade.history import PartHistory, rest_of
from penstock.spark.upgrade.history_choice import lacking, offers
from penstock.state.savepoint import Savepoint, SourceRecord
from tests.log_world import WorldLog
from tests.runtime.jobs import STREAMING, by_time, environment

ORDER = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
EMPTY = "execution.evolution.start-empty"
TABLES = "execution.evolution.history"


@dataclass(frozen=True)
class Orders(WorldLog):
    """A log of rows, or of lines."""

    type_info: TypeInformation = ORDER

    def get_produced_type(self) -> TypeInformation:
        return self.type_info


def orders(**how: Any) -> WorldLog:
    """Return a log that has dropped its first ten records."""
    log = Orders.of({"a": {n: (f"k{n % 3}", n) for n in range(20)}}, stamped=False, **how)
    log.world.earliest["a"] = 10
    return log


def program(
    log: WorldLog,
    *,
    has_new: bool = True,
    strategy: WatermarkStrategy | None = None,
    **settings: str,
) -> PhysicalPlan:
    env = environment({**STREAMING, **settings})
    strategy = strategy or WatermarkStrategy.no_watermarks()
    read: Any = env.from_source(log, strategy, "orders").uid("orders")
    counts = read.map(lambda r: (r[0], 1)).uid("ones").key_by(lambda r: r[0]).sum(1).uid("counts")
    counts.sink_to(DiscardingSink()).uid("out")
    if has_new:
        often = counts.key_by(lambda r: r[1]).sum(1).uid("often")
        often.map(str, Types.STRING()).uid("texts").sink_to(DiscardingSink()).uid("new")
    return env.plan()


def at(plan: PhysicalPlan, position: int) -> Savepoint:
    """Return the manifest of a program that has read up to a position."""
    (run,), (source,) = plan.runs, plan.sources
    kinds = tuple(part.kind for part in source.parts)
    stands = {"splits": [[position, None]], NAMES: ["a"]}
    began = {"0": {"splits": [[0, None]], NAMES: ["a"]}}
    (uid,) = source_uids(plan).values()
    record = SourceRecord(uid, "orders", kinds, 0, stands, {}, began)
    return outline_of(plan, run, "1", "job").savepoint("1", Report(), (record,), (), drained=False)


def upgraded(log: WorldLog, **how: Any) -> tuple[Bootstrap, list[str]]:
    """Return what reads the history of the changed program, and why it cannot."""
    stored = at(program(log, has_new=False, strategy=how.get("strategy")), 15)
    made = Bootstrap.of(program(log, **how), stored, "v1")
    return made, made.refusals(stored)


def table(directory: Path, *names: str) -> str:
    directory.mkdir()
    for name in names:
        (directory / name).touch()
    return str(directory)


def test_the_error_names_what_is_missing_and_the_command_of_each_choice() -> None:
    log = orders()
    made, (refused,) = upgraded(log)
    assert refused.startswith("  source orders: ")
    with pytest.raises(EvolutionError) as error:
        made.check(at(program(log, has_new=False), 15))
    assert error.value.problem.splitlines()[1:] == [refused, *offers(made.plan, made.history)]
    assert [*offers(made.plan, made.history)] == [
        "choose for each of these sources:",
        "  penstock upgrade OLD_DIR NEW_DIR JOB.PY --start-empty orders",
        f"    what is not kept begins without it; also {EMPTY}=orders",
        "  penstock upgrade OLD_DIR NEW_DIR JOB.PY --history orders=TABLE",
        f"    reads files or a Delta table in its place; also {TABLES}=orders=TABLE",
    ]


def test_an_empty_source_leaves_nothing_to_read() -> None:
    made, refused = upgraded(orders(), **{EMPTY: "orders"})
    assert (made.graph, made.is_needed, refused) == (None, True, [])
    assert [*offers(made.plan, made.history)] == []
    assert lacking(made.plan, made.evolution, "orders") == [
        "sum (uid often)",
        "sink discard (uid new)",
    ]


def test_a_table_takes_the_place_of_the_history(tmp_path: Path) -> None:
    path = table(tmp_path / "table", "1.parquet", "_SUCCESS")
    made, refused = upgraded(orders(), **{TABLES: f"orders={path}"})
    assert refused == []
    assert made.history.parts == {"orders": {0: PartHistory()}}
    (source,) = made.planned().sources
    assert source.parts == (FileSource.parquet(path, ORDER),)


@pytest.mark.parametrize(
    ("names", "how", "problem"),
    [
        (["1.txt"], {}, "end with '.txt', and the records are of Row"),
        (["1.csv", "1.json"], {}, "end with '.csv', '.json'"),
        ([], {}, "end with nothing"),
        (
            ["1.json"],
            {"type_info": Types.PICKLED_BYTE_ARRAY()},
            "end with '.json', and the records",
        ),
        (["1.json"], {}, "the times that the source gives to its records"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(
    tmp_path: Path, names: list[str], how: dict[str, Any], problem: str
) -> None:
    path = table(tmp_path / "table", *names)
    log = replace(orders(), **how)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    with pytest.raises(EvolutionError, match="cannot be read in the place of the history") as error:
        upgraded(log, strategy=strategy, **{TABLES: f"orders={path}"})
    assert problem in error.value.problem


def test_lines_of_text_and_times_of_a_field_fit(tmp_path: Path) -> None:
    lines = table(tmp_path / "lines", "1.txt")
    made, refused = upgraded(orders(type_info=Types.STRING()), **{TABLES: f"orders={lines}"})
    assert refused == []
    assert made.planned().sources[0].parts == (FileSource.text(lines),)
    rows = table(tmp_path / "rows", "1.json")
    log = replace(orders(), stamped=True)
    _, refused = upgraded(log, strategy=by_time(), **{TABLES: f"orders-1={rows}"})
    assert refused == []


def test_choices_about_other_sources_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EvolutionError, match="no source 'visits'"):
        upgraded(orders(), **{EMPTY: "visits"})
    both = {EMPTY: "orders", TABLES: f"orders={tmp_path}"}
    with pytest.raises(EvolutionError, match="is to start empty, and to have the history of"):
        upgraded(orders(), **both)


def test_a_source_that_is_new_has_no_history_to_choose() -> None:
    log = orders()
    stored = replace(at(program(log, has_new=False), 15), sources=())
    env = environment({**STREAMING, EMPTY: "rules"})
    read: Any = env.from_source(log, WatermarkStrategy.no_watermarks(), "orders").uid("orders")
    rules: Any = env.from_source(log, WatermarkStrategy.no_watermarks(), "rules").uid("rules")
    both = read.union(rules).map(str, Types.STRING()).uid("texts")
    both.sink_to(DiscardingSink()).uid("new")
    stored = replace(stored, sources=at(program(log, has_new=False), 10).sources)
    refused = Bootstrap.of(env.plan(), stored, "v1").refusals(stored)
    assert any(
        "it is new, so it begins at its beginning and not with nothing" in r for r in refused
    )


def test_the_rest_needs_no_record_of_the_beginning() -> None:
    log = orders()
    new = program(log)
    (stood,) = at(new, 12).sources
    (stands,) = at(new, 15).sources
    rest = rest_of(new, [replace(stands, began={})], [replace(stood, began={})])
    assert rest.refused == {}
    assert rest.parts["orders"][0].splits == [(12, 15)]
