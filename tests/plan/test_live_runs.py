"""The live runs of a pipeline: history beside live input in one run where the loop can read all of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from penstock.common import Types
from penstock.config.run_options import BACKLOG_SHARE
from penstock.connectors.files.file_source import FileSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.connectors.spark_source import SparkSource
from penstock.datastream import WatermarkStrategy
from penstock.datastream.connectors import CollectionSource, DataGeneratorSource, HybridSource
from penstock.errors import ConfigError
from penstock.graph.hybrid import parts_of
from penstock.plan.explain.render import render_text
from penstock.plan.phases.pipelines import is_written_beside, most_written_tasks
from tests.plan.test_blocking import ENDLESS, totals
from tests.runtime.jobs import MIXED, STREAMING, environment, history_then_live

NO_TIME = WatermarkStrategy.no_watermarks()
HYBRID = history_then_live([("a", 1, 1)], [("a", 2, 1)])
LONG = HybridSource.builder(CollectionSource.of([])).add_source(HYBRID.parts[0]).add_source(ENDLESS)
TEXT = FileSource("/in", "text")
FILES = HybridSource.builder(TEXT).add_source(TEXT.monitor_continuously()).build()
SCHEMA = SimpleNamespace(jsonValue=lambda: {"fields": [{"name": "a", "type": "long"}]})
FRAME = SparkSource(
    SimpleNamespace(mapInArrow=None, isStreaming=False, columns=["a"], schema=SCHEMA)
)


def plan_of(*sources, settings=STREAMING, with_results=False):
    """Return the plan of a job in which all sources meet."""
    env = environment(settings)
    names = "abc"
    streams = [
        env.from_source(source, NO_TIME, name) for source, name in zip(sources, names, strict=False)
    ]
    if with_results:
        streams.append(totals(env.from_collection([("a", 1, 1)])))
    first, *others = (stream.map(lambda record: record) for stream in streams)
    (first.union(*others) if others else first).sink_to(DiscardingSink())
    return env.plan()


def runs_of(plan):
    names = {source.id: source.name for source in plan.sources}
    return [
        (
            run.name,
            run.kind.name,
            {names[reading.source]: reading.parts for reading in run.readings},
            run.hands_over,
        )
        for run in plan.runs
    ]


def decisions(plan, word):
    return [
        (decision.subject, decision.choice, decision.reason)
        for decision in plan.decisions
        if word in decision.subject
    ]


# FLIP-327, rule 8.
@pytest.mark.parametrize("settings", [STREAMING, MIXED], ids=["streaming", "mixed"])
def test_history_and_live_input_that_meet_are_one_run(settings):
    plan = plan_of(HYBRID, ENDLESS, settings=settings)
    assert runs_of(plan) == [("live", "LIVE", {"a": (0, 1), "b": (0,)}, False)]
    (run,) = plan.runs
    assert [plan.source(source).name for source in plan.backlog_sources(run)] == ["a"]
    assert [reading.ends for reading in run.readings] == [True, False]


# FLIP-327, rule 9.
def test_two_sources_with_history_are_one_run_unless_both_are_read_as_a_batch():
    plan = plan_of(LONG.build(), HYBRID)
    assert runs_of(plan) == [("live", "LIVE", {"a": (0, 1, 2), "b": (0, 1)}, False)]
    assert [run[:3] for run in runs_of(plan_of(LONG.build(), HYBRID, settings=MIXED))] == [
        ("history", "BATCH", {"a": (0, 1), "b": (0,)}),
        ("live", "LIVE", {"a": (2,), "b": (1,)}),
    ]


def test_a_source_alone_has_a_run_per_part():
    assert runs_of(plan_of(LONG.build())) == [
        ("history", "LIVE", {"a": (0,)}, True),
        ("history", "LIVE", {"a": (1,)}, True),
        ("live", "LIVE", {"a": (2,)}, False),
    ]


def test_live_files_are_read_beside_history():
    plan = plan_of(HYBRID, TEXT.monitor_continuously())
    assert runs_of(plan) == [("live", "LIVE", {"a": (0, 1), "b": (0,)}, False)]


ROWS = CollectionSource.of([], Types.ROW_NAMED(["a"], [Types.LONG()]))


@pytest.mark.parametrize("later", [FRAME, ROWS])
def test_history_in_a_dataframe_is_written_and_read_beside_live_input(later):
    plan = plan_of(HybridSource.builder(FRAME).add_source(later).build(), ENDLESS)
    assert runs_of(plan) == [("live", "LIVE", {"a": (0, 1), "b": (0,)}, False)]
    assert is_written_beside(plan)
    (run,) = plan.runs
    assert most_written_tasks(plan, run, 4) == 3
    assert most_written_tasks(plan, run, 1) == 1
    ((_, _, reason),) = decisions(plan, "history")
    assert "of 'a' in whole files, at least one" in reason


def test_a_dataframe_is_written_in_all_tasks_if_nothing_is_read_meanwhile():
    plan = plan_of(HybridSource.builder(FRAME).add_source(ROWS).build())
    assert not is_written_beside(plan)
    assert [most_written_tasks(plan, run, 4) for run in plan.runs] == [None, None]
    assert not is_written_beside(plan_of(HYBRID, ENDLESS))


LATER = {
    "positions": CollectionSource.of(["later"], Types.STRING()),
    "files": TEXT,
    "live files": TEXT.monitor_continuously(),
}
OTHERS = {
    "positions": ENDLESS,
    "live files": TEXT.monitor_continuously(),
    "history in files": FILES,
    "history": HYBRID,
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("later", LATER)
def test_history_in_files_is_read_beside_what_meets_it(later, other):
    builder = HybridSource.builder(TEXT).add_source(LATER[later])
    plan = plan_of(builder.build(), OTHERS[other])
    parts = (0,) if len(parts_of(OTHERS[other])) == 1 else (0, 1)
    assert runs_of(plan) == [("live", "LIVE", {"a": (0, 1), "b": parts}, False)]
    (run,) = plan.runs
    named = [plan.source(source).name for source in sorted(plan.backlog_sources(run))]
    assert named == ["a", "b"][: len(parts)]


def test_golden_text_of_history_in_files_beside_live_input():
    lines = render_text(plan_of(FILES, ENDLESS, settings=MIXED)).splitlines()
    words = ("reads a (", "run 0 (live)")
    assert "\n".join(line for line in lines if any(word in line for word in words)) == GOLDEN


GOLDEN = """\
  0 live (live): reads a (text files of /in, then text files of /in as they appear); b (endless generated records), and goes on until it is stopped
  run 0 (live): live, because source 'b' has no backlog: only the parts of a HybridSource before its last are, and the job leaves backlog when all sources have
  history in run 0 (live): in the epochs of the live input, because history of 'a' and live input meet, so neither waits for the other: history has 0.5 of the records of an epoch while it lasts (execution.backlog.share), of 'a' in whole files, at least one; a batch run needs a backlog of 'b', such as HybridSource.until_head(…)
  reader of 'a' in run 0 (live): strict decoders of lines (workers read plain local files, Spark the others), over new files, because it is read in a loop of epochs
  checkpoints of run 0 (live): not off during backlog, because execution.checkpointing.interval-during-backlog of 0 cannot be kept: results of live input are visible only when they are committed, and history is read in the same micro-batches"""


STREAM = SparkSource(
    SimpleNamespace(mapInArrow=None, isStreaming=True, columns=["a"], schema=SCHEMA)
)


def test_a_stream_behind_history_is_read_beside_live_input():
    plan = plan_of(HybridSource.builder(ROWS).add_source(STREAM).build(), ENDLESS)
    assert runs_of(plan) == [("live", "LIVE", {"a": (0, 1), "b": (0,)}, False)]


@pytest.mark.parametrize(
    ("source", "readers"),
    [
        (
            FILES,
            [
                f"reader of 'a' in run {run}"
                for run in (
                    f"0 (history): {TEXT.read_in_batch_by}, because it is history",
                    f"1 (live): {TEXT.read_in_epochs_by}, because it is read in a loop of epochs",
                )
            ],
        ),
        (
            STREAM,
            [
                (
                    "reader of 'a' in run 0 (live): Spark's reader, from files that each micro-batch of it is "
                    "written to first, because it is read in a loop of epochs"
                ),
            ],
        ),
        (HYBRID, []),
    ],
    ids=["files", "stream", "positions"],
)
def test_a_plan_has_what_reads_files_and_dataframes(source, readers):
    lines = render_text(plan_of(source, settings=MIXED)).splitlines()
    assert [line.strip() for line in lines if "reader of" in line] == readers


def test_sources_without_history_are_one_run_as_ever():
    plan = plan_of(ENDLESS, CollectionSource.of([]))
    assert runs_of(plan) == [("live", "LIVE", {"a": (0,), "b": (0,)}, False)]
    assert decisions(plan, "history") == []


@pytest.mark.parametrize("settings", [STREAMING, MIXED], ids=["streaming", "mixed"])
def test_results_come_before_history_and_live_input(settings):
    plan = plan_of(HYBRID, ENDLESS, settings=settings, with_results=True)
    kind = "LIVE" if settings is STREAMING else "BATCH"
    assert [(name, kind) for name, kind, _, _ in runs_of(plan)] == [
        ("bounded", "BATCH"),
        ("results", kind),
        ("live", "LIVE"),
    ]
    assert runs_of(plan)[-1][2] == {"a": (0, 1), "b": (0,)}


@pytest.mark.parametrize(
    ("sources", "settings", "needs"),
    [
        (
            (HYBRID, ENDLESS),
            STREAMING,
            (
                "a batch run needs execution.history=batch and a backlog of 'b', "
                "such as HybridSource.until_head(…)"
            ),
        ),
        (
            (HYBRID, ENDLESS),
            MIXED,
            "a batch run needs a backlog of 'b', such as HybridSource.until_head(…)",
        ),
        (
            (HYBRID, HYBRID),
            STREAMING,
            "a batch run needs execution.history=batch",
        ),
    ],
)
def test_the_plan_says_what_would_make_it_a_batch_run(sources, settings, needs):
    plan = plan_of(*sources, settings=settings | {BACKLOG_SHARE.key: "0.25"})
    ((subject, choice, reason),) = decisions(plan, "history in")
    assert (subject, choice) == ("history in run 0 (live)", "in the epochs of the live input")
    assert "history has 0.25 of the records of an epoch while it lasts" in reason
    assert reason.endswith(needs)
    assert "reads a (a collection of 1, then a collection of 1)" in render_text(plan)


def test_history_beside_results_is_one_batch_run_with_them():
    plan = plan_of(HYBRID, HYBRID, settings=MIXED, with_results=True)
    assert [run[:2] for run in runs_of(plan)][-2:] == [("history", "BATCH"), ("live", "LIVE")]
    results = "result of map"
    assert results in runs_of(plan)[-2][2]


@pytest.mark.parametrize("share", ["0", "1", "-0.5", "half"])
def test_a_share_is_a_number_between_0_and_1(share):
    with pytest.raises(ConfigError, match=r"execution\.backlog\.share"):
        plan_of(ENDLESS, settings=STREAMING | {BACKLOG_SHARE.key: share})


def numbers(count):
    return DataGeneratorSource(lambda i: ("a", i, 1), count=count)


@pytest.mark.parametrize(
    ("parts", "advises"),
    [
        ([(99_999,)], True),
        ([(100_000,)], False),
        ([(90_000, 9_999)], True),
        ([(90_000,), (9_999,)], True),
        ([(90_000,), (10_000,)], False),
    ],
)
def test_the_plan_says_when_history_is_too_small_for_a_batch_run(parts, advises):
    sources = []
    for counts in parts:
        builder = HybridSource.builder(numbers(counts[0]))
        for count in counts[1:]:
            builder = builder.add_source(numbers(count))
        sources.append(builder.add_source(ENDLESS).build())
    found = [
        (choice, reason.split(",")[0])
        for _, choice, reason in decisions(plan_of(*sources, settings=MIXED), "run 0 (history)")
        if choice != "batch"
    ]
    total = sum(sum(counts) for counts in parts)
    assert found == (
        [("slower than a live run", f"it has {total:,} records".split(",")[0])] * advises
    )


def test_history_of_unknown_size_may_be_large():
    found = decisions(plan_of(FILES, settings=MIXED), "run 0 (history)")
    choices = [choice for _, choice, _ in found]
    assert "batch" in choices
    assert "slower than a live run" not in choices
