"""The checkpoint interval of a live run follows the backlog of its sources."""

from __future__ import annotations

import pickle
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Configuration
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import WatermarkStrategy
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.runtime.task.level_zero import LevelZero
from penstock.runtime.task.report import Report, decode_report
from penstock.spark.live.epochs.epoch_pace import BacklogInterval
from penstock.wire.elements import MIN_TIMESTAMP
from penstock.wire.frame import FrameKind, read_header
from tests.runtime.jobs import STREAMING, by_time, environment, history_then_live

SETTINGS = STREAMING | {
    "execution.checkpointing.interval": "1 s",
    "execution.checkpointing.interval-during-backlog": "60 s",
    "pipeline.backlog.watermark-lag-threshold": "100 ms",
}


def plan_of(*sources, settings=SETTINGS, strategy=None):
    env = environment(settings, 1)
    streams = [
        env.from_source(source, strategy or by_time(), f"source {number}")
        for number, source in enumerate(sources)
    ]
    first, *others = streams
    (first.union(*others) if others else first).sink_to(DiscardingSink())
    return env.plan()


def intervals(plan, *reports, run=-1):
    interval = BacklogInterval(Configuration.from_dict(SETTINGS), plan, plan.runs[run])
    found = [interval.seconds]
    for marks in reports:
        interval.note(Report(source_watermarks=dict(marks)), 1000)
        found.append(interval.seconds)
    return found


ONE = plan_of(CollectionSource.of([]))
TWO = plan_of(CollectionSource.of([]), CollectionSource.of([]))
A, B = (source.id for source in TWO.sources)
(ONLY,) = (source.id for source in ONE.sources)


# FLIP-327, rule 15.
@pytest.mark.parametrize(
    ("reports", "seconds"),
    [
        ([], [1]),
        ([{ONLY: 899}], [1, 60]),
        ([{ONLY: 900}], [1, 1]),
        ([{ONLY: 899}, {}, {ONLY: 950}], [1, 60, 60, 1]),
        ([{ONLY: 899}, {ONLY: 950}, {ONLY: 5}], [1, 60, 1, 1]),
        ([{ONLY: 5}, {ONLY: MIN_TIMESTAMP}], [1, 60, 1]),
    ],
)
def test_the_lag_of_a_source_decides_until_it_is_small_once(reports, seconds):
    assert intervals(ONE, *reports) == seconds


def test_one_source_that_lags_is_enough():
    assert intervals(TWO, {A: 5, B: 990}, {B: 5}, {A: 990}) == [1, 60, 60, 1]


def test_without_watermarks_or_threshold_nothing_lags():
    untimed = plan_of(CollectionSource.of([]), strategy=WatermarkStrategy.no_watermarks())
    assert intervals(untimed, {ONLY: 5}) == [1, 1]
    plan = plan_of(CollectionSource.of([]))
    del (settings := dict(SETTINGS))["pipeline.backlog.watermark-lag-threshold"]
    interval = BacklogInterval(Configuration.from_dict(settings), plan, plan.runs[0])
    interval.note(Report(source_watermarks={ONLY: 5}), 1000)
    assert interval.seconds == 1


def test_a_part_before_the_last_is_backlog_whatever_its_lag():
    plan = plan_of(history_then_live([], []))
    (source,) = (each.id for each in plan.sources)
    assert intervals(plan, {source: 990}, run=0) == [60, 60]
    assert intervals(plan, {source: 5}, {source: 990}, run=1) == [1, 60, 1]


@given(st.lists(st.dictionaries(st.sampled_from([A, B]), st.integers(0, 1000), max_size=2)))
def test_after_backlog_there_is_none_again(reports):
    for source in (A, B):
        of_one = [{source: marks[source]} for marks in reports if source in marks]
        found = intervals(TWO, *of_one)[1:]
        assert found == sorted(found, reverse=True)


def reported(level):
    level.end_batch()
    frames = [frame for _, frame in level.take_output()]
    (report,) = (decode_report(f) for f in frames if read_header(f).kind is FrameKind.REPORT)
    return report.source_watermarks


def test_a_task_reports_the_least_watermark_of_its_splits():
    programs = programs_of(
        TWO, TWO.runs[0], tasks=1, max_frame_records=9, handed=HandOver(), job_parameters={}
    )
    level = LevelZero(programs[0], 0)

    def read(source, split, *times, finished=False):
        level.start_split(source, split)
        if times:
            level.collect(source, [("a", time) for time in times], None)
        level.finish_split(source, split, finished=finished)

    read(A, 0, 10, 30)
    read(A, 1, 20)
    read(B, 0, 7, finished=True)
    assert reported(level) == {A: 19, B: 6}
    read(A, 0)
    read(A, 1, 50)
    level.end_source(B)
    assert reported(level) == {A: 49, B: MIN_TIMESTAMP}
    assert reported(level) == {}


def test_reports_of_tasks_merge_to_the_least():
    merged = Report(source_watermarks={A: 5})
    merged.merge(Report(source_watermarks={A: 3, B: 9}))
    assert merged.source_watermarks == {A: 3, B: 9}


def test_a_report_of_an_earlier_version_is_read():
    report = Report(source_records={1: 2})
    known = {each.name: getattr(report, each.name) for each in fields(report)}
    del known["source_watermarks"]
    again = Report.__new__(Report)
    again.__setstate__((None, known))
    again.merge(Report(source_records={1: 3}))
    assert again == Report(source_records={1: 5})
    assert pickle.loads(pickle.dumps(report)) == report
