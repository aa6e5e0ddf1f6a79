"""Planning: pure phases, the table of modes, levels, programs, and golden text."""

from __future__ import annotations

import re

import pytest

from penstock.common import Configuration, Types
from penstock.config.options import RuntimeExecutionMode
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.data_generator import DataGeneratorSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment, WatermarkStrategy
from penstock.datastream.connectors import HybridSource
from penstock.errors import EmptyGraphError, GraphError, PenstockError, UnboundedBatchError
from penstock.plan.compat.fingerprint import describe_shape, fingerprint, first_difference
from penstock.plan.explain.render import render_mermaid, render_text
from penstock.plan.options import plan_options
from penstock.plan.physical import HandOver, PhysicalPlan
from penstock.plan.planner import PHASES
from penstock.plan.programs import programs_of
from penstock.program.channel import SINK_LEVEL, StreamPartitioner
from penstock.program.run_settings import RunKind
from penstock.testing import run_in_process, same_answer

BACKLOG = "execution.checkpointing.interval-during-backlog"
BOUNDED = CollectionSource.of([1, 2])
ENDLESS = DataGeneratorSource(lambda i: i)
HISTORY_THEN_BOUNDED = HybridSource.builder(BOUNDED).add_source(BOUNDED).build()
HISTORY_THEN_LIVE = HybridSource.builder(BOUNDED).add_source(ENDLESS).build()
THREE_PARTS = HybridSource.builder(BOUNDED).add_source(BOUNDED).add_source(ENDLESS).build()


def environment(**settings):
    values = {"parallelism.default": 2} | {
        key.replace("__", "-").replace("_", "."): value for key, value in settings.items()
    }
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))


def plan_of(*sources, mode="STREAMING", backlog=None, chaining=True):
    env = environment()
    settings = env.get_configuration().set("execution.runtime-mode", mode)
    settings.set("pipeline.operator-chaining.enabled", chaining)
    if backlog is not None:
        settings.set(BACKLOG, backlog)
    streams = [
        env.from_source(source, WatermarkStrategy.no_watermarks(), f"source {number}")
        for number, source in enumerate(sources)
    ]
    stream = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
    doubled = stream.map(lambda v: v * 2).name("double")
    doubled.key_by(lambda v: v % 2).sum().name("total").map(lambda v: v).name("show").sink_to(
        DiscardingSink()
    ).name("totals")
    doubled.sink_to(DiscardingSink()).name("all")
    return env.plan()


def test_every_phase_is_idempotent():
    graph = plan_of(HISTORY_THEN_LIVE, backlog="0").graph
    settings = Configuration.from_dict({"parallelism.default": 2, BACKLOG: "0"})
    plan = PhysicalPlan(graph, plan_options(settings))
    for phase in PHASES:
        plan = phase(plan)
        assert phase(plan) == plan, phase.__name__


def test_planning_is_deterministic():
    assert render_text(plan_of(THREE_PARTS)) == render_text(plan_of(THREE_PARTS))
    assert fingerprint(plan_of(THREE_PARTS)) == fingerprint(plan_of(THREE_PARTS))


ONE_BATCH = [("batch", RunKind.BATCH, True, False)]
TWO_LIVE = [("history", RunKind.LIVE, False, True), ("live", RunKind.LIVE, False, False)]
ONE_LIVE = [("live", RunKind.LIVE, False, False)]
SWITCH = [("history", RunKind.BATCH, False, True), ("live", RunKind.LIVE, False, False)]


# FLIP-327, rule 1.
@pytest.mark.parametrize(
    ("sources", "mode", "backlog", "runs"),
    [
        ([BOUNDED], "BATCH", None, ONE_BATCH),
        ([BOUNDED], "BATCH", "0", ONE_BATCH),
        ([BOUNDED], "AUTOMATIC", None, ONE_BATCH),
        ([BOUNDED], "STREAMING", None, ONE_LIVE),
        ([BOUNDED], "STREAMING", "0", ONE_LIVE),
        ([ENDLESS], "AUTOMATIC", None, ONE_LIVE),
        ([HISTORY_THEN_BOUNDED], "BATCH", "0", ONE_BATCH),
        ([HISTORY_THEN_BOUNDED], "AUTOMATIC", None, ONE_BATCH),
        ([HISTORY_THEN_LIVE], "STREAMING", None, TWO_LIVE),
        ([HISTORY_THEN_LIVE], "STREAMING", "10 min", TWO_LIVE),
        ([HISTORY_THEN_LIVE], "STREAMING", "0", SWITCH),
        ([HISTORY_THEN_LIVE], "AUTOMATIC", "0", SWITCH),
        ([HISTORY_THEN_LIVE, HISTORY_THEN_BOUNDED], "STREAMING", "0", SWITCH),
        ([HISTORY_THEN_LIVE, BOUNDED], "STREAMING", "0", ONE_LIVE),
        ([HISTORY_THEN_LIVE, HISTORY_THEN_BOUNDED], "STREAMING", None, ONE_LIVE),
        ([THREE_PARTS], "STREAMING", "0", SWITCH),
        ([THREE_PARTS], "STREAMING", None, [TWO_LIVE[0], *TWO_LIVE]),
    ],
)
def test_mode_and_backlog_choose_the_runs(sources, mode, backlog, runs):
    plan = plan_of(*sources, mode=mode, backlog=backlog)
    assert [(r.name, r.kind, r.final_results_only, r.hands_over) for r in plan.runs] == runs
    assert [r.index for r in plan.runs] == list(range(len(runs)))


@pytest.mark.parametrize("mode", ["BATCH", "STREAMING", "AUTOMATIC"])
@pytest.mark.parametrize("backlog", [None, "0"])
@pytest.mark.parametrize(
    "sources", [[BOUNDED], [HISTORY_THEN_BOUNDED], [HISTORY_THEN_BOUNDED, BOUNDED]]
)
def test_runs_read_every_part_once_in_order_and_end_each_source_once(sources, mode, backlog):
    plan = plan_of(*sources, mode=mode, backlog=backlog)
    for source in plan.sources:
        readings = [r for run in plan.runs for r in run.readings if r.source == source.id]
        assert [p for r in readings for p in r.parts] == list(range(len(source.parts)))
        assert [r.ends for r in readings] == [False] * (len(readings) - 1) + [True]


def test_batch_over_an_endless_source_is_refused():
    with pytest.raises(UnboundedBatchError) as caught:
        plan_of(BOUNDED, HISTORY_THEN_LIVE, mode="BATCH")
    assert caught.value.code == "GRAPH_UNBOUNDED_BATCH"
    assert "'source 1'" in caught.value.problem
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


def test_a_program_without_sink_is_refused():
    env = environment()
    env.from_collection([1]).map(lambda v: v)
    with pytest.raises(EmptyGraphError) as caught:
        env.plan()
    assert caught.value.code == "GRAPH_EMPTY"
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


def test_two_operators_with_one_uid_are_refused():
    env = environment()
    env.from_collection([1]).map(lambda v: v).uid("x").map(lambda v: v).uid("x").sink_to(
        DiscardingSink()
    )
    with pytest.raises(GraphError, match="'x'"):
        env.plan()


@pytest.mark.parametrize(
    ("key", "value"),
    [("parallelism.default", 0), ("execution.runtime-mode", "SLOW"), ("no.such.key", 1)],
)
def test_a_setting_that_cannot_be_used_is_refused_while_planning(key, value):
    def plan():
        env = environment()
        env.get_configuration().set(key, value)
        env.from_collection([1]).sink_to(DiscardingSink())
        env.plan()

    with pytest.raises(PenstockError) as caught:
        plan()
    assert caught.value.code == "CONFIG_INVALID"


def test_only_an_exchange_by_key_starts_a_level():
    plan = plan_of(BOUNDED)
    assert [[op.name for op in level.operators] for level in plan.levels] == [
        ["double"],
        ["total", "show"],
    ]
    assert [(c.source_level, c.target_level, c.partitioner) for c in plan.channels] == [
        (0, 1, StreamPartitioner.HASH),
        (1, SINK_LEVEL, StreamPartitioner.NONE),
        (0, SINK_LEVEL, StreamPartitioner.NONE),
    ]


def test_without_chaining_operators_stay_on_their_level_and_write_frames():
    plan = plan_of(BOUNDED, chaining=False)
    assert [[op.name for op in level.operators] for level in plan.levels] == [
        ["double"],
        ["total", "show"],
    ]
    assert all(not op.chained_to for level in plan.levels for op in level.operators)
    (local,) = (channel for channel in plan.channels if channel.is_local)
    assert (local.source_level, local.partitioner) == (1, StreamPartitioner.FORWARD)
    assert plan.graph.node(local.target_operator).name == "show"
    (run,) = plan.runs
    of_total = programs(plan, run)[1]
    assert of_total.local_channels == (local,)
    assert local not in (*of_total.inputs, *of_total.outputs)


def test_a_plan_says_why_operators_are_not_chained():
    env = environment()
    kept = env.from_collection([1]).map(lambda v: v).name("kept")
    alone = kept.map(lambda v: v).name("alone").disable_chaining()
    alone.map(lambda v: v).name("behind").sink_to(DiscardingSink())
    text = render_text(env.plan())
    assert (
        "channel 0 to 'alone': in place, because 'alone' is not to be chained to its input" in text
    )
    assert "channel 1 to 'behind': in place, because the input of 'behind' is not to be" in text
    assert "=0=> level 0 alone (in place)" in text


def diamond(env):
    numbers = env.from_collection([1, 2, 3]).map(lambda v: v).name("once").uid("once")
    sums = numbers.key_by(lambda v: v % 2).sum().name("sums").uid("sums")
    return numbers.union(sums).map(lambda v: v * 10).name("both").uid("both")


def test_a_diamond_computes_nothing_twice():
    env = environment(execution_runtime__mode="STREAMING")
    diamond(env).sink_to(DiscardingSink()).name("out")
    plan = env.plan()
    names = [op.name for level in plan.levels for op in level.operators]
    assert sorted(names) == ["both", "once", "sums"]
    results = run_in_process(plan)
    assert same_answer(results.of("out"), [10, 20, 30, 10, 20, 40])
    assert results.report.operator_records == {"once": 3, "sums": 3, "both": 6}


def test_a_union_with_itself_gives_every_record_twice():
    env = environment()
    stream = env.from_collection([1, 2])
    stream.union(stream).map(lambda v: v).sink_to(DiscardingSink())
    assert same_answer(run_in_process(env).of(), [1, 1, 2, 2])


def test_a_source_may_go_straight_to_sinks_and_to_a_key():
    env = environment()
    stream = env.from_collection([1, 2, 3])
    stream.sink_to(DiscardingSink()).name("a")
    stream.sink_to(DiscardingSink()).name("b")
    stream.key_by(lambda _: 0).sum().sink_to(DiscardingSink()).name("sum")
    results = run_in_process(env)
    assert same_answer(results.of("a"), [1, 2, 3])
    assert same_answer(results.of("b"), [1, 2, 3])
    assert results.of("sum")[-1] == 6


def programs(plan, run, handed=None):
    return programs_of(
        plan, run, tasks=5, max_frame_records=7, handed=handed or HandOver(), job_parameters={}
    )


def test_programs_differ_by_run_only_in_settings_and_groups():
    plan = plan_of(HISTORY_THEN_BOUNDED, backlog="0")
    history, live = (programs(plan, run) for run in plan.runs)
    assert [p.operators for p in history] == [p.operators for p in live]
    assert (history[0].settings.kind, history[0].settings.parallelism) == (RunKind.BATCH, 5)
    assert (live[0].settings.kind, live[0].settings.parallelism) == (RunKind.LIVE, 2)
    assert history[0].settings.hands_over
    assert not live[0].settings.hands_over
    assert len(live[0].settings.routes) == 2


def test_handed_watermarks_of_subtasks_reach_every_subtask():
    env = environment()
    stream = env.from_source(HISTORY_THEN_BOUNDED, WatermarkStrategy.no_watermarks(), "numbers")
    stream.key_by(lambda v: v).sum().key_by(lambda v: v).sum().sink_to(DiscardingSink())
    plan = env.plan()
    handed = HandOver(watermarks={0: {0: 9}, 1: {-1: 8}}, memory={"x": 3})
    settings = programs(plan, plan.runs[1], handed)[1].settings
    assert settings.initial_watermarks == {0: {0: 9}, 1: {0: 8, 1: 8}}
    assert settings.initial_memory == {"x": 3}


def test_fingerprint_ignores_code_and_notices_shape():
    one, two = plan_of(BOUNDED), plan_of(HISTORY_THEN_BOUNDED)
    assert fingerprint(one) == fingerprint(plan_of(CollectionSource.of([5])))
    assert fingerprint(one) != fingerprint(two)
    assert first_difference(describe_shape(one), describe_shape(two)).startswith("sources were")


def test_the_modes_are_those_of_flink():
    assert {mode.name for mode in RuntimeExecutionMode} == {"BATCH", "STREAMING", "AUTOMATIC"}


GOLDEN_TEXT = """\
mode STREAMING, mixed (history as a batch, then live), parallelism 2, 128 key groups

runs
  0 history (batch): reads source 0 (a collection of 2), then hands its state over
  1 live (live): reads source 0 (endless generated records), and goes on until it is stopped

levels
  level 0
    source source 0: a collection of 2, then endless generated records
    map double (uid double-64046447364b) =0=> level 1 total (hash by key), -> sink all
  level 1
    keyed_reduce total (uid total-0542d655c0ef) -> show
    map show (uid show-adcd8d2e9d15) -> sink totals

sinks
  totals: discard of any object
  all: discard of any object

decisions
  job: STREAMING, because execution.runtime-mode is STREAMING (from program)
  run 0 (history): batch, because execution.history is batch and every source has backlog
  run 1 (live): live, because it follows the backlog and starts with its state
  run 0 (history): slower than a live run, because it has 2 records, and to start a batch run takes longer than it saves below about 100,000; without execution.history=batch a live run reads them
  records of 'total' in run 0 (history): folded in state, because every record has a result
  records of 'total' in run 1 (live): folded in state, because a live run goes on with what is in state, micro-batch by micro-batch
  'total' in run 0 (history): grouped by key, because its input has a key: each state is read and written once per key
  'total' to 'show': chained, because both run at level 1, so nothing has to be exchanged
  channel 0 to 'total': hash exchange, because 'total' keeps state by key
  'double' to channel 0: deep copy of what can be changed, because 'double' may keep what it emits: a function without a promise may keep what it has returned
  'double' to channel 2: deep copy of what can be changed, because 'double' may keep what it emits: a function without a promise may keep what it has returned
  'total' to 'show': deep copy of what can be changed, because 'total' may keep what it emits: it keeps in its state what it emits
  'show' to channel 1: deep copy of what can be changed, because 'show' may keep what it emits: a function without a promise may keep what it has returned
  'source 0' to 'double': deep copy of what can be changed, because 'source 0' may keep what it emits: a collection of 2 may give a record again
"""


def test_golden_text_of_a_plan():
    text = render_text(plan_of(HISTORY_THEN_LIVE, backlog="0"))
    assert re.sub(r"  \[.*:\d+ in \w+\]", "", text) == GOLDEN_TEXT


def test_a_declared_type_is_shown_as_its_user_writes_it():
    env = environment()
    named = Types.ROW_NAMED(["customer", "amounts"], [Types.STRING(), Types.LIST(Types.LONG())])
    env.from_collection([("ann", [3])], named).sink_to(DiscardingSink()).name("rows")
    shown = render_text(env.plan())
    assert "  rows: discard of Row(customer: String, amounts: List(Long))\n" in shown


GOLDEN_MERMAID = """\
flowchart LR
  subgraph L0["level 0"]
    n0[("source 0")]
    n1["double"]
  end
  subgraph L1["level 1"]
    n3["total"]
    n4["show"]
  end
  s0[/"totals"/]
  s1[/"all"/]
  n0 --> n1
  n3 --> n4
  n1 == "hash by key" ==> n3
  n1 --> s1
  n4 --> s0
"""


def test_golden_mermaid_of_a_plan():
    assert render_mermaid(plan_of(HISTORY_THEN_LIVE, backlog="0")) == GOLDEN_MERMAID
