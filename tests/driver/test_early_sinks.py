"""What is for a sink does not travel through later stages, and the sinks get the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.plan.physical import HandOver, PhysicalPlan
from penstock.plan.programs import programs_of
from penstock.spark.live.epochs.epoch_tasks import early_channels
from penstock.wire.frame import FrameKind, read_header
from tests.driver.epoch_loop import LiveLoop, ReturningSink, Workers, planned
from tests.runtime.jobs import STREAMING, Splits, by_time, environment

DEEP = 3


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Workers:
    return Workers(monkeypatch)


def key(record: Any) -> Any:
    return record[0]


def wide(*, raw_first: bool = True, broadcast: bool = False) -> PhysicalPlan:
    """Return a job with a raw sink beside a chain of aggregations; sink 0 is the raw one if `raw_first`."""
    records = tuple((f"k{n % 7}", n, 1) for n in range(60))
    env = environment(STREAMING, 2)
    source = env.from_source(Splits((records[::2], records[1::2])), by_time(), "records")
    raw = source.map(lambda r: r)
    deep = source
    for _ in range(DEEP):
        deep = deep.key_by(key).sum(2)
    streams = [raw.broadcast() if broadcast else raw, deep]
    for stream in streams if raw_first else reversed(streams):
        stream.sink_to(ReturningSink())
    return env.plan()


def run(plan: PhysicalPlan, directory: Path, *, early: bool) -> tuple[LiveLoop, list[int]]:
    """Run the loop; return it, and how many frames of records for sinks arrived at each stage."""
    loop = LiveLoop(plan, plan.runs[0], directory, stages_early=early)
    arrived = [0] * len(loop.stages)
    for rows in planned(plan, plan.runs[0], 5):
        inputs = loop.inputs(rows)
        for number, stage in enumerate(loop.stages[:-1], 1):
            outputs = [list(stage(index, iter(some))) for index, some in enumerate(inputs)]
            inputs = loop.shuffle(outputs)
            frames = [read_header(frame) for some in inputs for frame in some]
            arrived[number] += sum(
                header.kind is FrameKind.RECORDS and header.target_level == 255 for header in frames
            )
        loop.record(loop.end(inputs))
    return loop, arrived


@pytest.mark.parametrize("raw_first", [True, False])
def test_a_raw_sink_gets_the_same_and_its_records_pass_no_later_stage(
    workers: Workers, tmp_path: Path, *, raw_first: bool
) -> None:
    plan = wide(raw_first=raw_first)
    early, passed = run(plan, tmp_path / "early", early=True)
    workers.lose()
    late, passed_before = run(plan, tmp_path / "late", early=False)
    assert Counter(early.records) == Counter(late.records)
    assert len(early.records) == 60
    assert passed == [0] * (DEEP + 1)
    assert passed_before[0] == 0
    assert min(passed_before[1:]) > 0
    assert early.report.records_read == late.report.records_read == 60
    assert any(name.startswith("sinks") for name in early.report.times)


def test_only_a_sink_of_one_level_is_staged_early() -> None:
    def levels(plan: PhysicalPlan) -> list[int]:
        programs = programs_of(
            plan, plan.runs[0], tasks=1, max_frame_records=9, handed=HandOver(), job_parameters={}
        )
        return sorted(early_channels(programs))

    assert levels(wide()) == [0]
    assert levels(wide(broadcast=True)) == []
    env = environment(STREAMING, 2)
    source = env.from_source(Splits(((("a", 1, 1),),)), by_time(), "records")
    first = source.key_by(key).sum(2)
    first.union(source).sink_to(ReturningSink())
    first.key_by(key).sum(2).sink_to(ReturningSink())
    assert levels(env.plan()) == []


def test_a_sink_that_fails_in_an_early_stage_fails_the_task(
    workers: Workers, tmp_path: Path
) -> None:
    plan = wide()
    loop = LiveLoop(plan, plan.runs[0], tmp_path)
    rows = next(planned(plan, plan.runs[0], 5))
    ReturningSink.failures.append(OSError("disk full"))
    inputs = loop.inputs(rows)
    with pytest.raises((PenstockError, OSError, Exception), match="disk full"):
        list(loop.stages[0](0, iter(inputs[0])))
    assert ReturningSink.failures == []
