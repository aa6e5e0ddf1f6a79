"""Every live run has an engine: `jobs` if that is asked for and all it reads is read by positions."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from penstock.api.environment.ignored_settings import log_ignored_by_queries
from penstock.common import Configuration, Duration
from penstock.config.live_options import LIVE_ENGINE
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.discard import DiscardingSink
from penstock.connectors.spark_source import SparkSource
from penstock.datastream import StreamExecutionEnvironment, WatermarkStrategy
from penstock.datastream.connectors import DataGeneratorSource, HybridSource
from penstock.errors import ConfigError, GraphError
from penstock.plan.compat.fingerprint import describe_shape
from penstock.plan.explain.render import render_text
from penstock.plan.phases.live_engine import choose_engines
from penstock.program.run_settings import LiveEngine, RunKind
from penstock.types import Types
from tests.connectors.test_source_facts import EXAMPLES, FACTS, Frame

BACKLOG = "execution.checkpointing.interval-during-backlog"
NUMBERS = CollectionSource(("1", "2"), Types.STRING())
FILES = FileSource("in", "text")


class StreamFrame(Frame):
    isStreaming = True  # noqa: N815 - as in Spark
    columns = ("a",)
    schema = SimpleNamespace(jsonValue=lambda: {"fields": [{"name": "a", "type": "long"}]})


STREAM = SparkSource(StreamFrame())
ROW = Types.ROW_NAMED(["a"], [Types.LONG()])
ROWS = CollectionSource((), ROW)
BY_STREAM = "is read by the stream of its DataFrame"
BY_POSITIONS = "all that it reads is read by positions"
ASKED = "execution.live.engine is query"


def plan_of(*sources, engine=None, mode="STREAMING", **settings):
    values = {"parallelism.default": 2, "execution.runtime-mode": mode} | settings
    if engine is not None:
        values[LIVE_ENGINE.key] = engine
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))
    streams = [
        env.from_source(source, WatermarkStrategy.no_watermarks(), f"source {number}")
        for number, source in enumerate(sources)
    ]
    for stream in streams:
        stream.sink_to(DiscardingSink())
    if len(streams) > 1:  # they meet, so that one run reads them
        first, *others = (stream.map(lambda value: value) for stream in streams)
        first.union(*others).sink_to(DiscardingSink())
    return env.plan()


def engines(plan):
    return [(run.engine, run.engine_reason) for run in plan.runs]


def with_part(plan, part):
    """Return the plan over another source, its engines chosen anew."""
    runs = tuple(replace(run, engine=None, engine_reason="") for run in plan.runs)
    return choose_engines(replace(plan.with_parts(lambda _: part), runs=runs, decisions=()))


@pytest.mark.parametrize("engine", list(LiveEngine), ids=lambda engine: engine.value)
@pytest.mark.parametrize(
    "source",
    [each for each in EXAMPLES if not isinstance(each, HybridSource)],
    ids=lambda each: each.kind,
)
def test_every_source_has_an_engine_and_a_reason(source, engine):
    plan = plan_of(NUMBERS, engine=engine.value)
    if engine is LiveEngine.QUERY and source.as_split is not None and source.as_split.is_log:
        with pytest.raises(
            GraphError, match="is a log with heads, which only the engine jobs asks"
        ):
            with_part(plan, source)
        return
    (run,) = with_part(plan, source).runs
    has_positions = source.kind in f"{FACTS['as_split']} {FACTS['read_in_epochs_by']}".split()
    if engine is LiveEngine.QUERY:
        expected = LiveEngine.QUERY, ASKED
    elif has_positions:
        expected = LiveEngine.JOBS, BY_POSITIONS
    else:
        expected = LiveEngine.QUERY, f"source 'source 0' is read by {source.streamed_by}"
    assert (run.engine, run.engine_reason) == expected


@pytest.mark.parametrize("source", [FILES, FILES.monitor_continuously(), SparkSource(Frame())])
def test_files_have_positions_in_a_loop(source):
    (run,) = with_part(plan_of(NUMBERS, engine="jobs"), source).runs
    assert (run.engine, run.engine_reason) == (LiveEngine.JOBS, BY_POSITIONS)


@pytest.mark.parametrize(
    ("settings", "readers"),
    [
        (
            {BACKLOG: "0"},
            [
                f"reader of 'source 0' in run {run}"
                for run in (
                    f"0 (history): {FILES.read_in_batch_by}, because it is history",
                    f"1 (live): {FILES.read_in_epochs_by}, because it is read in a loop of epochs",
                )
            ],
        ),
        (
            {"engine": "query", "mode": "STREAMING"},
            [
                f"reader of 'source 0' in run {run}: Spark's file stream, because it is read in a query"
                for run in ("0 (history)", "1 (live)")
            ],
        ),
    ],
)
def test_a_plan_says_what_reads_files(settings, readers):
    hybrid = HybridSource.builder(FILES).add_source(FILES.monitor_continuously()).build()
    lines = render_text(plan_of(hybrid, **{"mode": "AUTOMATIC"} | settings)).splitlines()
    assert [line.strip() for line in lines if "reader of" in line] == readers


def ignored(plan):
    return [each for each in plan.decisions if each.choice == "no effect"]


def test_a_plan_says_that_a_query_ignores_the_discovery_interval(caplog):
    watching = FILES.monitor_continuously(Duration.of_seconds(5))
    source = HybridSource.builder(FILES).add_source(watching).build()
    plan = plan_of(source, engine="query")
    (said,) = ignored(plan)
    assert said.subject == "a discovery interval of 5 s of 'source 0' in run 1 (live)"
    assert said.reason == "it is read in a query, by Spark's file stream"
    log_ignored_by_queries(plan)
    (record,) = caplog.records
    assert record.getMessage() == f"{said.subject}: no effect, because {said.reason}"


@pytest.mark.parametrize(
    ("source", "engine"),
    [
        (FILES.monitor_continuously(Duration.of_seconds(5)), "jobs"),
        (FILES.monitor_continuously(), "query"),
        (FILES, "query"),
    ],
)
def test_there_is_nothing_to_say_without_an_interval_or_in_a_loop(source, engine, caplog):
    plan = plan_of(source, engine=engine)
    assert not ignored(plan)
    log_ignored_by_queries(plan)
    assert not caplog.records


def test_a_streaming_dataframe_is_read_by_its_own_stream():
    (run,) = with_part(plan_of(NUMBERS, engine="jobs"), STREAM).runs
    assert (run.engine, run.engine_reason) == (LiveEngine.QUERY, f"source 'source 0' {BY_STREAM}")


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, LiveEngine.JOBS),
        ({"engine": "Query"}, LiveEngine.QUERY),
        ({"engine": " JOBS"}, LiveEngine.JOBS),
    ],
)
def test_the_default_is_jobs_and_case_does_not_matter(settings, asked):
    assert plan_of(NUMBERS, **settings).options.live_engine is asked


def test_another_engine_is_refused():
    with pytest.raises(ConfigError, match=r"execution\.live\.engine") as caught:
        plan_of(NUMBERS, engine="threads")
    assert "must be one of jobs, query" in str(caught.value)


def test_one_source_without_positions_decides_for_its_run():
    plan = plan_of(NUMBERS, STREAM, engine="jobs")
    assert engines(plan) == [(LiveEngine.QUERY, f"source 'source 1' {BY_STREAM}")]


def test_each_run_has_its_own_engine():
    hybrid = (
        HybridSource.builder(FileSource("in", "json", ROW))
        .add_source(ROWS)
        .add_source(STREAM)
        .build()
    )
    plan = plan_of(hybrid, engine="jobs")
    assert [run.engine for run in plan.runs] == [
        LiveEngine.JOBS,
        LiveEngine.JOBS,
        LiveEngine.QUERY,
    ]


@pytest.mark.parametrize("engine", ["jobs", "query"])
def test_batch_runs_have_none(engine):
    hybrid = HybridSource.builder(FILES).add_source(NUMBERS).build()
    batch, live = plan_of(hybrid, engine=engine, **{BACKLOG: "0"}).runs
    assert (batch.kind, batch.engine, batch.engine_reason) == (RunKind.BATCH, None, "")
    assert (live.kind, live.engine) == (RunKind.LIVE, LiveEngine(engine))
    (run,) = plan_of(NUMBERS, engine=engine, mode="BATCH").runs
    assert run.engine is None


def test_the_engine_does_not_change_the_shape_of_a_job_unless_history_is_beside_live_input():
    hybrid = HybridSource.builder(FILES).add_source(NUMBERS).build()
    one, other = (plan_of(hybrid, engine=each) for each in ("jobs", "query"))
    assert [run.engine for run in one.runs] != [run.engine for run in other.runs]
    assert describe_shape(one) == describe_shape(other)


def test_a_plan_has_one_line_per_live_run():
    hybrid = HybridSource.builder(ROWS).add_source(STREAM).build()
    lines = [
        line.strip()
        for line in render_text(plan_of(hybrid, engine="jobs")).splitlines()
        if "engine" in line
    ]
    assert lines == [
        f"engine of run 0 (history): jobs, because {BY_POSITIONS}",
        f"engine of run 1 (live): query, because source 'source 0' {BY_STREAM}",
    ]


class Headed(DataGeneratorSource):
    """A source that says how many records there are."""

    def head(self, split):
        return 7


@pytest.mark.parametrize(
    ("others", "engine", "why"),
    [
        ((STREAM,), "jobs", BY_STREAM),
        ((), "query", "execution.live.engine is query"),
    ],
)
def test_a_source_with_a_head_is_in_no_query(others, engine, why):
    headed = Headed(lambda i: i)
    with pytest.raises(GraphError, match="has a head") as caught:
        plan_of(headed, *others, engine=engine)
    assert why in str(caught.value)
    (run,) = plan_of(headed, engine="jobs").runs
    assert run.engine is LiveEngine.JOBS
