"""Inputs that a check makes: variants of a sample, exceptions of the law in them, and records of declared types."""

from __future__ import annotations

from itertools import islice

import pytest

from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import DiscardingSink
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import LawError, SourceError
from penstock.testing import check
from penstock.testing.law.generated import CHANGES, variants
from penstock.testing.law.own_samples import samples_of
from penstock.testing.law.record_texts import parts_of

BOUND = 5


def time_of(record, _):
    return record[1]


def by_name(record):
    return record[0]


def environment(records, type_info=None, bound=BOUND):
    """Return an environment and a stream of (name, time, …) with event time."""
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound))
    stream = env.from_collection(records, type_info).name("events")
    stream = stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(time_of))
    return env, stream


def made(records, type_info=None, bound=BOUND):
    """Return the variants of a collection, each change once, as lists of records."""
    env, stream = environment(records, type_info, bound)
    stream.sink_to(DiscardingSink())
    graph = env.plan().program
    inputs = samples_of(graph, {}, 1000).inputs
    return [
        [element.value for element in sample]
        for variant in islice(variants(graph, inputs, 0), len(CHANGES) - 1)
        for sample in variant.values()
    ]


def disorder(records):
    """Return by how much the latest record was overtaken."""
    times = [record[1] for record in records]
    return max(max(times[: at + 1]) - time for at, time in enumerate(times))


RECORDS = [("abc"[n % 3], n, 1) for n in range(20, 60)]
PAIRS = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


def test_times_are_out_of_order_within_the_bound_and_beyond():
    disorders = sorted(map(disorder, made(RECORDS)))
    assert disorders[:-2] == [0] * (len(CHANGES) - 3)
    assert 0 < disorders[-2] <= BOUND < disorders[-1]
    assert sorted(map(disorder, made(RECORDS, bound=0)))[-2] == 0


def test_numbers_have_other_forms_only_if_no_type_declares_them():
    def forms(variants_of):
        return {type(record[2]) for records in variants_of for record in records}

    assert forms(made(RECORDS)) == {int, float, bool}
    assert forms(made(RECORDS, PAIRS)) == {int}


def test_numbers_are_beyond_those_observed_with_their_sign():
    drawn = [record[1] for records in made(RECORDS, PAIRS) for record in records]
    assert max(drawn) > 59
    assert 0 < min(drawn) < 20


def test_parts_that_are_none_in_one_record_are_none_in_others():
    records = [*RECORDS, (None, 60, 1)]
    env, stream = environment(records)
    stream.sink_to(DiscardingSink())
    graph = env.plan().program
    inputs = samples_of(graph, {}, 1000).inputs
    nulls = [
        sum(
            None in parts_of(element.value).values()
            for sample in each.values()
            for element in sample
        )
        for each in islice(variants(graph, inputs, 0), len(CHANGES))
    ]
    assert max(nulls) > 10


class Numbered(MapFunction):
    """Numbers the records of a key in order of arrival."""

    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def map(self, value):
        self.seen.update((self.seen.value() or 0) + 1)
        return (*value, self.seen.value())


class ForgetsInSelf(KeyedProcessFunction):
    def __init__(self):
        self.seen = 0

    def process_element(self, value, ctx):
        self.seen += 1
        yield (value[0], self.seen)


def windows(stream):
    window = TumblingEventTimeWindows.of(Time.milliseconds(10))
    return (
        stream.key_by(by_name)
        .window(window)
        .reduce(lambda a, b: (a[0], max(a[1], b[1]), a[2] + b[2]))
    )


LATE = [(name, time - 25 * (time % 7 == 0), n) for name, time, n in RECORDS]
"""Records of which some are late."""


@pytest.mark.parametrize(
    ("records", "build"),
    [
        (RECORDS, lambda stream: stream.key_by(by_name).map(Numbered())),
        (LATE, windows),
        (LATE, lambda stream: stream.key_by(by_name).map(Numbered())),
    ],
)
def test_what_depends_on_arrival_is_a_note(records, build):
    env, stream = environment(records, PAIRS)
    build(stream).sink_to(DiscardingSink()).name("out")
    verdict = check(env, ways=120)
    assert verdict.is_same
    (dependence,) = verdict.dependences
    assert str(dependence).startswith("note: sink 'out' depends on records out of order of time")


def test_a_broken_program_is_found_on_late_records():
    env, stream = environment(LATE, PAIRS)
    stream.key_by(lambda _: 0).process(ForgetsInSelf()).sink_to(DiscardingSink()).name("out")
    with pytest.raises(LawError, match="sink 'out' gets two answers"):
        check(env, ways=40)


def test_what_depends_on_the_form_of_a_key_is_a_note():
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection([0, 1, 2, 0, 1, 2, 1, 0] * 4).name("numbers")
    texts = numbers.key_by(lambda n: n).sum().map(lambda n: n)
    texts.key_by(lambda n: n).map(str).sink_to(DiscardingSink()).name("texts")
    verdict = check(env, ways=200)
    assert verdict.is_same


KIND = Types.ROW_NAMED(["name", "time", "price"], [Types.STRING(), Types.LONG(), Types.DOUBLE()])


def topic(type_info=KIND):
    env = StreamExecutionEnvironment.get_execution_environment()
    schema = JsonRowDeserializationSchema.builder().type_info(type_info).build()
    builder = KafkaSource.builder().set_bootstrap_servers("localhost:9").set_topics("orders")
    source = builder.set_value_only_deserializer(schema).build()
    return env, env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "orders")


def test_records_of_a_topic_are_generated_from_its_type():
    env, orders = topic()
    totals = orders.map(lambda order: (order.name, 1)).key_by(by_name).sum(1)
    totals.sink_to(DiscardingSink()).name("totals")
    verdict = check(env, ways=40)
    assert verdict.is_same
    assert verdict.records == {"orders": 200}
    assert verdict.notes == ("records of source 'orders' are generated from its type",)


def test_generated_records_depend_on_the_seed_alone():
    env, orders = topic()
    orders.sink_to(DiscardingSink())
    graph = env.plan().program
    (sample,) = samples_of(graph, {}, 50, seed=3).inputs.values()
    assert (sample,) == tuple(samples_of(graph, {}, 50, seed=3).inputs.values())
    assert (sample,) != tuple(samples_of(graph, {}, 50, seed=4).inputs.values())
    assert len(sample) == 50
    assert len({element.value.name for element in sample}) < 10
    stamps = [element.timestamp for element in sample if element.timestamp is not None]
    assert len(stamps) == 50
    assert stamps == sorted(stamps)


def test_a_program_that_refuses_generated_records_needs_a_sample():
    env, orders = topic()
    orders.map(lambda order: int(order.name)).sink_to(DiscardingSink())
    with pytest.raises(
        SourceError, match=r"generated for source 'orders'.*invalid literal"
    ) as raised:
        check(env, ways=10)
    assert "--input DIR" in raised.value.hint
