"""`penstock.testing.check`: broken programs are found and shrunk, and programs that keep the law are not accused."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from itertools import count, islice

import pytest

from penstock.common import Row, SimpleStringSchema, Types
from penstock.datastream import (
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    WatermarkStrategy,
    col,
)
from penstock.datastream.connectors import DiscardingSink, HybridSource, IteratorSource
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.errors import ArgumentError, LawError, SourceError, UserFunctionError
from penstock.plan.planner import plan_job
from penstock.runtime.task.level_zero import LevelZero
from penstock.testing import SampleRecord, Way, WayMode, check, check_script
from penstock.testing.law.comparison import closeness
from penstock.testing.law.samples import SampleSource, source_of
from penstock.testing.law.shrinking import Deadline, minimized
from penstock.testing.law.ways import ways
from penstock.types.row import RowKind
from tests.testing.programs import Form, Program, build

ORDERS = [("abcb"[n * n % 4], n) for n in range(60)]


def orders(records=ORDERS):
    env = StreamExecutionEnvironment.get_execution_environment()
    return env, env.from_collection(records).name("orders")


def by_name(record):
    return record[0]


class CountInSelf(MapFunction):
    def __init__(self):
        self.seen = 0

    def map(self, value):
        self.seen += 1
        return (*value, self.seen)


class CountInState(MapFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def map(self, value):
        self.seen.update((self.seen.value() or 0) + 1)
        return (*value, self.seen.value())


class ForgetsInSelf(KeyedProcessFunction):
    """Keeps in an attribute what belongs in state, under its key: only lost workers show it."""

    def __init__(self):
        self.seen = {}

    def process_element(self, value, ctx):
        self.seen[value[0]] = self.seen.get(value[0], 0) + 1
        yield (value[0], self.seen[value[0]])


class Mutating(MapFunction):
    def map(self, value):
        value["n"] += 1
        return value


SALT = iter(range(1 << 30))


def fail_every_third_time(record):
    return record // min(next(SALT) % 3, 1)


BROKEN = {
    "a counter in self": lambda s: s.map(CountInSelf()),
    "state in self": lambda s: s.key_by(by_name).process(ForgetsInSelf()),
    "a random number": lambda s: s.map(lambda r: (*r, random.random())),  # noqa: S311 - a mutant
    "a global": lambda s: s.map(lambda r: (*r, next(SALT))),
    "a key that changes": lambda s: s.key_by(lambda _: next(SALT) % 2).map(CountInState()),
    "a clock behind a total": lambda s: s.key_by(by_name).sum(1).map(lambda r: (*r, os.urandom(2))),
}
KEPT = {
    "totals": lambda s: s.key_by(by_name).sum(1),
    "the last total": lambda s: s.key_by(by_name).sum(1).map(lambda r: (r[0], r[1])),
    "numbers of records": lambda s: s.key_by(by_name).map(CountInState()),
    "totals of totals": lambda s: s.key_by(by_name).sum(1).key_by(lambda r: r[1] % 2).max(1),
    "joined rows": lambda s: s.join(s).where(by_name).equal_to(by_name).full(),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_program_is_found(name):
    env, stream = orders()
    BROKEN[name](stream).name("wrong").sink_to(DiscardingSink()).name("out")
    with pytest.raises(LawError) as raised:
        check(env, ways=60)
    text = str(raised.value)
    assert "sink 'out' gets two answers" in text
    assert ("cause: 'wrong' draws a random number" in text) is (name == "a random number")
    assert "they part at the operator 'wrong'" in text or name == "a key that changes"
    assert raised.value.origin is not None
    assert raised.value.origin.filename == __file__


@pytest.mark.parametrize("name", KEPT)
def test_a_program_that_keeps_the_law_is_not_accused(name):
    env, stream = orders()
    KEPT[name](stream).sink_to(DiscardingSink()).name("out")
    verdict = check(env, ways=60)
    assert (verdict.is_same, verdict.ways, verdict.notes) == (True, 60, ())
    assert str(verdict) == "same answer in 60 ways (60 records, seed 0)"


@pytest.mark.parametrize("seed", range(3))
def test_programs_of_the_law_are_not_accused(seed):
    rng = random.Random(seed)  # noqa: S311 - examples
    times = sorted(rng.sample(range(-300, 600), 40))
    records = [(rng.randrange(4), time, rng.randrange(20), n) for n, time in enumerate(times)]
    sinks = ("windows", "tumbling_total", "sliding_total", "session_contents", "sum", "count")
    env = build(Program(("map", "fork"), sinks, form=Form.TYPED), records)
    assert check(env, ways=50, seed=seed).is_same


def test_the_input_and_the_ways_are_shrunk():
    env, stream = orders()
    stream.key_by(by_name).process(ForgetsInSelf()).sink_to(DiscardingSink()).name("out")
    with pytest.raises(LawError) as raised:
        check(env)
    lines = str(raised.value).splitlines()
    assert "for 2 records" in lines[1]  # one key, twice: the second one comes after a restart
    assert (
        len([line for line in lines if line.strip().startswith(("BATCH", "STREAMING", "MIXED"))])
        == 2
    )


def test_a_failure_in_one_way_is_a_difference_and_in_every_way_an_error():
    def refuse(record):
        if record[1] == 30:
            raise ValueError("thirty")
        return record

    env, stream = orders()
    stream.map(refuse).sink_to(DiscardingSink())
    with pytest.raises(UserFunctionError, match="thirty"):
        check(env, ways=20)

    env, stream = orders()
    stream.map(fail_every_third_time).sink_to(DiscardingSink())
    with pytest.raises(LawError, match="one way fails"):
        check(env, ways=[Way(), Way()], inputs={"orders": [1]})


def test_sums_of_floats_are_noted_with_the_size_of_the_difference():
    env = StreamExecutionEnvironment.get_execution_environment()
    floats = env.from_collection([]).name("floats")
    floats.key_by(by_name).reduce(lambda a, b: ("a", a[1] + b[1])).sink_to(DiscardingSink())
    splits = [[("a", 0.1)], [("a", 0.2)], [("a", 0.3)]]
    verdict = check(env, inputs={"floats": splits}, ways=[Way(order=n) for n in range(4)])
    assert verdict.is_same
    assert verdict.rounding is not None
    assert 0 < verdict.rounding < 1e-15
    assert "sums of floats depend on the order of additions" in str(verdict)


def test_upserts_side_outputs_and_changes_have_rules():
    odd = OutputTag("odd", Types.INT())

    class Split(ProcessFunction):
        def process_element(self, value, ctx):
            yield value if value % 2 == 0 else (odd, value)

    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection(list(range(30))).process(Split())
    numbers.upsert_to(DiscardingSink(), key=lambda n: n % 4).name("even")
    numbers.get_side_output(odd).map(CountInSelfOfNumbers()).sink_to(DiscardingSink()).name("odd")
    with pytest.raises(LawError, match="sink 'odd' gets two answers"):
        check(env, ways=40)


class CountInSelfOfNumbers(MapFunction):
    def __init__(self):
        self.seen = 0

    def map(self, value):
        self.seen += 1
        return (value, self.seen)


def test_object_reuse_shows_functions_that_change_their_records():
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([{"n": n} for n in range(5)])
    stream.map(Mutating()).sink_to(DiscardingSink()).name("changed")
    stream.map(lambda value: value["n"]).sink_to(DiscardingSink()).name("kept")
    with pytest.raises(LawError, match="object reuse"):
        check(env, ways=40)


def test_a_source_that_this_process_cannot_read_needs_records():
    env = StreamExecutionEnvironment.get_execution_environment()
    builder = KafkaSource.builder().set_bootstrap_servers("localhost:9").set_topics("orders")
    builder = builder.set_value_only_deserializer(SimpleStringSchema())
    orders = env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "topic")
    orders.map(str).sink_to(DiscardingSink())
    with pytest.raises(SourceError, match=r"'topic'.*cannot read in its process") as raised:
        check(env)
    assert "topic.jsonl" in raised.value.hint
    assert check(env, inputs={"topic": ["a", "b"]}, ways=30).records == {"topic": 2}
    with pytest.raises(ArgumentError, match="no source 'topics'"):
        check(env, inputs={"topics": []})


@pytest.mark.parametrize("columns", [False, True])
def test_rows_enter_as_records_or_as_columns(columns, monkeypatch):
    batches = []
    collect_columns = LevelZero.collect_columns

    def spy(self, source, batch):
        batches.append(batch)
        collect_columns(self, source, batch)

    monkeypatch.setattr(LevelZero, "collect_columns", spy)
    env = StreamExecutionEnvironment.get_execution_environment()
    kind = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])
    rows = env.from_collection([Row("a", 1), Row(None, 2)], kind)
    rows.select(col.name, (col.n * 2).alias("twice")).sink_to(DiscardingSink()).name("out")
    assert check(env, ways=[Way(), Way(columns=columns)]).is_same
    assert len(batches) == columns


def test_endless_and_hybrid_sources_are_read_in_part():
    env = StreamExecutionEnvironment.get_execution_environment()
    endless = IteratorSource(lambda _, start: count(start), counts=(None,))
    history = IteratorSource(lambda _, start: count(start), counts=(5,))
    source = HybridSource.builder(history).add_source(endless).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "n").sink_to(DiscardingSink())
    assert check(env, ways=30, records=20).records == {"n": 20}


def test_ways_cover_every_kind_first():
    first = list(islice(ways(0, 10), 60))
    for field in (
        "parallelism",
        "backend",
        "restart_every",
        "fail_every",
        "points",
        "object_reuse",
        "columns",
    ):
        assert len({getattr(way, field) for way in first}) > 1, field
    assert {way.mode for way in first[:3]} == set(WayMode)
    assert any(way.epochs == (1,) for way in first)
    assert list(islice(ways(7, 1000), 200)) == list(islice(ways(7, 1000), 200))
    assert all(eval(repr(way)) == way for way in first)  # noqa: S307 - text of our own


def test_a_cut_is_a_prefix_in_order_of_time():
    sample = tuple(SampleRecord(n % 2, n, n) for n in range(6))
    source = source_of(sample, Types.INT(), Way(WayMode.MIXED, cut=0.5))
    assert isinstance(source, HybridSource)
    history, live = (part for part in source.parts if isinstance(part, SampleSource))
    assert (history.values, live.values) == (((0, 2), (1,)), ((4,), (3, 5)))
    turned = source_of(sample, Types.INT(), Way(order=3))
    assert isinstance(turned, SampleSource)
    assert sorted(turned.values) == [(0, 2, 4), (1, 3, 5)]


def test_delta_debugging_keeps_what_is_needed():
    tried = []

    def still(some):
        tried.append(len(some))
        return {3, 77} <= set(some)

    assert minimized(range(100), still, Deadline(60)) == [3, 77]
    assert len(tried) < 100


def test_close_values_are_equal_but_for_floats():
    assert closeness(Row(a=1.0), Row(a=1)) == 0
    assert closeness({"a": [0.1 + 0.2]}, {"a": [0.3]}) == pytest.approx(5.6e-17, rel=0.1)
    assert closeness(Row.of_kind(RowKind.DELETE, 1), Row(1)) is None
    assert closeness((1, 2), [1, 2]) is None


def test_a_program_file_is_checked_up_to_its_first_job(tmp_path):
    job = tmp_path / "job.py"
    job.write_text(
        "from penstock.datastream import StreamExecutionEnvironment\n"
        "class Pair:\n"
        "    def __init__(self, n):\n"
        "        self.n = n\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "pairs = env.from_collection([1, 2, 3]).map(Pair)\n"
        "pairs.key_by(lambda pair: pair.n).map(lambda pair: pair.n).print()\n"
        "env.execute()\n"
        "raise AssertionError('it ended at the first job')\n"
    )
    assert check_script(job, ways=20).is_same


def test_ways_of_other_micro_batches_and_failures_have_one_plan(monkeypatch):
    planned = []

    def spy(graph, configuration):
        planned.append(graph)
        return plan_job(graph, configuration)

    monkeypatch.setattr("penstock.testing.law.outcomes.plan_job", spy)
    env, stream = orders()
    stream.key_by(by_name).sum(1).sink_to(DiscardingSink())
    live = Way(WayMode.STREAMING, epochs=(7,))
    same = [live, replace(live, restart_every=1), replace(live, points=3), replace(live, workers=2)]
    assert check(env, ways=[*same, replace(live, backend="lmdb")]).is_same
    assert len(planned) == 1
    assert check(env, ways=[live, replace(live, parallelism=2), Way(cut=0.5)]).is_same
    assert len(planned) == 4
