"""An upgrade that goes on after a kill: it needs of the history only what no earlier attempt has read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.plan.physical import PhysicalPlan
from penstock.runtime.task.report import Report
from penstock.spark.job.run_outline import outline_of
from penstock.spark.sources.split_reads import NAMES
from penstock.spark.upgrade.bootstrap import Bootstrap
from penstock.state.savepoint import Savepoint, SourceRecord
from tests.log_world import WorldLog
from tests.runtime.jobs import STREAMING, environment

STANDS = 15


@pytest.fixture
def log() -> WorldLog:
    return WorldLog.of({"a": {n: (n, n) for n in range(20)}}, stamped=False)


def program(log: WorldLog, *, has_new: bool = False) -> PhysicalPlan:
    env = environment(STREAMING)
    read: Any = env.from_source(log, WatermarkStrategy.no_watermarks(), "log").uid("log")
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
    record = SourceRecord("log", "log", kinds, 0, stands, {}, began)
    return outline_of(plan, run, "1", "job").savepoint("1", Report(), (record,), (), drained=False)


def test_what_an_earlier_attempt_has_read_may_be_gone(log: WorldLog) -> None:
    stored, new = at(program(log), STANDS), program(log, has_new=True)
    assert Bootstrap.of(new, stored, "v1").refusals(stored) == []
    log.world.earliest["a"] = 10
    (refused,) = Bootstrap.of(new, stored, "v1").refusals(stored)
    assert refused.startswith("  source log: ")
    read = replace(stored, sources=at(program(log), 12).sources)
    resumed = Bootstrap.of(new, stored, "v1", read)
    assert resumed.refusals(stored) == []
    (part,) = resumed.history.parts["log"].values()
    assert part.splits == [(12, STANDS)]


def test_the_rest_has_to_be_there(log: WorldLog) -> None:
    stored, new = at(program(log), STANDS), program(log, has_new=True)
    read = replace(stored, sources=at(program(log), 12).sources)
    log.world.earliest["a"] = 13
    (refused,) = Bootstrap.of(new, stored, "v1", read).refusals(stored)
    assert refused.startswith("  source log: ")
