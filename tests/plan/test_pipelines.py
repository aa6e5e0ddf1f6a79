"""Pipelines: the parts of a job that share no operator, each with runs of its own."""

from __future__ import annotations

import pytest

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import WatermarkStrategy
from penstock.datastream.connectors import CollectionSource
from penstock.plan.explain.render import render_text
from penstock.plan.phases.pipelines import most_tasks
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.program.run_settings import RunKind
from tests.plan.test_blocking import ENDLESS, enriched, key, totals
from tests.runtime.jobs import BATCH, MIXED, STREAMING, environment, history_then_live

NO_TIME = WatermarkStrategy.no_watermarks()
SOME = [("a", 1, 1)]


def also(env, name, source, then=lambda stream: stream.key_by(key).sum(2)):
    """Add a pipeline to a job."""
    then(env.from_source(source, NO_TIME, name)).sink_to(DiscardingSink()).name(f"{name} out")
    return env


def runs_of(env):
    return [(run.pipeline, run.name, run.kind.name, run.after) for run in env.plan().runs]


def test_each_part_that_shares_no_operator_has_runs_of_its_own():
    env = also(environment(STREAMING), "orders", history_then_live([], []))
    also(env, "clicks", ENDLESS)
    assert runs_of(env) == [
        (0, "history", "LIVE", ()),
        (0, "live", "LIVE", ()),
        (1, "live", "LIVE", ()),
    ]


def test_a_source_without_backlog_turns_batch_off_for_its_own_pipeline_only():
    env = also(environment(MIXED), "clicks", ENDLESS)
    also(env, "orders", history_then_live([], []))
    assert runs_of(env) == [
        (0, "live", "LIVE", ()),
        (1, "history", "BATCH", ()),
        (1, "live", "LIVE", ()),
    ]


def test_a_bounded_region_holds_back_only_what_reads_it():
    env = also(enriched(STREAMING, ENDLESS, SOME), "clicks", ENDLESS)
    also(env, "other totals", CollectionSource.of(SOME), totals)
    assert runs_of(env) == [
        (0, "bounded", "BATCH", ()),
        (1, "bounded", "BATCH", ()),
        (2, "results", "LIVE", (0,)),
        (2, "live", "LIVE", ()),
        (3, "live", "LIVE", ()),
    ]


def test_what_reads_two_regions_waits_for_both():
    env = environment(MIXED)
    regions = [totals(env.from_collection([record])) for record in SOME * 2]
    live = env.from_source(ENDLESS, NO_TIME, "live")
    live.union(*regions).map(lambda r: r).sink_to(DiscardingSink())
    assert [(run.name, run.after) for run in env.plan().runs] == [
        ("bounded", ()),
        ("bounded", ()),
        ("results", (0, 1)),
        ("live", ()),
    ]


def test_a_batch_job_is_one_pipeline():
    env = environment(BATCH)
    for name in ("a", "b"):
        also(env, name, CollectionSource.of(SOME))
    assert runs_of(env) == [(0, "batch", "BATCH", ())]


def test_streams_that_meet_are_one_pipeline():
    env = environment(STREAMING)
    first = env.from_source(ENDLESS, NO_TIME, "first")
    second = env.from_source(ENDLESS, NO_TIME, "second")
    for stream in (first, first.union(second), second):
        stream.map(lambda r: r).sink_to(DiscardingSink())
    assert len(env.plan().pipelines) == 1


def test_every_source_and_operator_is_in_the_runs_of_one_pipeline():
    env = also(enriched(MIXED, history_then_live([], []), SOME), "clicks", ENDLESS)
    plan = env.plan()
    sources = [source for pipeline in plan.pipelines for source in pipeline.sources]
    assert sorted(sources) == sorted(source.id for source in plan.sources)
    executed = [
        {
            op.id
            for level in programs_of(
                plan, run, tasks=1, max_frame_records=9, handed=HandOver(), job_parameters={}
            )
            for op in level.operators
        }
        for run in (plan.runs_of(pipeline.index)[-1] for pipeline in plan.pipelines)
    ]
    every = [op.id for level in plan.levels for op in level.operators]
    assert sorted(id_ for some in executed for id_ in some) == sorted(every)


@pytest.mark.parametrize(
    ("asked", "others", "expected"),
    [(None, 0, None), (None, 1, 3), (None, 2, 2), (None, 5, 1), (7, 1, 7), (7, 0, None)],
)
def test_history_leaves_a_core_to_each_pipeline_that_goes_live_beside_it(asked, others, expected):
    asked_for = {} if asked is None else {"execution.backlog.tasks": str(asked)}
    env = environment({**MIXED, **asked_for})
    env = also(env, "totals", history_then_live(SOME, SOME))
    for number in range(others):
        env = also(env, f"clicks {number}", ENDLESS)
    plan = env.plan()
    (history,) = (run for run in plan.runs if run.kind is RunKind.BATCH)
    assert most_tasks(plan, history, cores=4) == expected
    text = f"leaves {others} core" if asked is None else f"at most {asked} tasks"
    said = [each for each in plan.decisions if "execution.backlog.tasks" in each.reason]
    assert [each.choice.startswith(text) for each in said] == [True] * (others > 0)


def test_a_region_leaves_no_core_to_what_waits_for_it():
    plan = enriched(STREAMING, ENDLESS, SOME).plan()
    assert most_tasks(plan, plan.runs[0], cores=4) is None


def test_the_plan_shows_pipelines_that_run_beside_each_other():
    env = also(enriched(STREAMING, ENDLESS, SOME), "clicks", ENDLESS)
    text = render_text(env.plan())
    lines = text.split("levels")[0].splitlines()
    assert [line for line in lines if "pipeline" in line] == [
        "  pipeline 0",
        "  pipeline 1, behind pipeline 0",
        "  pipeline 2",
    ]
    assert "    3 live (live): reads clicks" in text
    assert "pipeline 2 ('clicks'): beside the others, because it shares no operator" in text
    alone = render_text(enriched(STREAMING, ENDLESS, SOME).plan())
    assert "pipeline" not in alone
