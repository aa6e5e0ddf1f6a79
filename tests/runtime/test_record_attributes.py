"""Record attributes keep their place between the records of a stream, whatever lies between."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    OneInputStreamOperator,
    RecordAttributesBuilder,
    TwoInputStreamOperator,
    WatermarkStrategy,
)
from penstock.testing import OperatorHarness, Schedule, Way, WayMode, run_in_process
from tests.runtime.jobs import BATCH, STREAMING, by_time, environment, history_then_live
from tests.testing.strategies import ways_of

# A broadcast makes a copy per task.
schedules = ways_of(WayMode.MIXED, tasks=None).map(Way.schedule)


class Says(OneInputStreamOperator):
    """Says of every record before it emits it whether it is stale: its last field."""

    def process_element(self, value, ctx):
        attributes = RecordAttributesBuilder().set_backlog(value[2]).build()
        self.output.emit_record_attributes(attributes)
        self.output.collect(value)

    # What its input says goes on, so that a subtask without records has said something, too.


class Hears(OneInputStreamOperator):
    """Emits each record with what was said before it."""

    said = None

    def process_record_attributes(self, record_attributes):
        self.said = record_attributes.is_backlog()
        super().process_record_attributes(record_attributes)

    def process_element(self, value, ctx):
        self.output.collect((*value, self.said))


class Both(TwoInputStreamOperator):
    """The same of two inputs: their number comes first."""

    def open(self, runtime_context):
        self.said = {}

    def process_record_attributes1(self, record_attributes):
        self.said[1] = record_attributes.is_backlog()
        super().process_record_attributes1(record_attributes)

    def process_record_attributes2(self, record_attributes):
        self.said[2] = record_attributes.is_backlog()
        super().process_record_attributes2(record_attributes)

    def process_element1(self, value, ctx):
        self.output.collect((*value, self.said.get(1)))

    def process_element2(self, value, ctx):
        self.output.collect((*value, self.said.get(2)))


def hear(stream):
    return stream.transform("hears", None, Hears())


def key_of(record):
    return record[0]


BETWEEN = {
    "chained": hear,
    "a filter": lambda stream: hear(stream.filter(lambda _: True)),
    "not chained": lambda stream: hear(stream.disable_chaining()),
    "forward": lambda stream: hear(stream.forward()),
    "rebalance": lambda stream: hear(stream.rebalance()),
    "rescale": lambda stream: hear(stream.rescale()),
    "shuffle": lambda stream: hear(stream.shuffle()),
    "broadcast": lambda stream: hear(stream.broadcast()),
    "custom": lambda stream: hear(stream.partition_custom(lambda k, n: k % n, lambda r: r[1])),
    "rebalance and a map": lambda stream: hear(stream.rebalance().map(lambda record: record)),
    "an end with fewer subtasks": lambda stream: hear(stream).set_parallelism(1),
}
KEYED = {
    "key_by": lambda stream: hear(stream.key_by(key_of)),
    "key_by and a map": lambda stream: hear(stream.key_by(key_of).map(lambda record: record)),
    "two inputs": lambda stream: stream.connect(stream).transform("both", None, Both()),
}

found = st.lists(st.booleans(), min_size=1, max_size=20).map(
    lambda flags: [(n % 3, n, flag) for n, flag in enumerate(flags)]
)


def wanted(records):
    return sorted((*record, record[2]) for record in records)


def heard(mode, between, records, parallelism, strategy, schedule):
    env = environment(mode, parallelism)
    source = env.from_source(history_then_live([], records), strategy, "records")
    between(source.transform("says", None, Says())).sink_to(DiscardingSink())
    return run_in_process(env, schedule).of()


# FLIP-327, rule 10.
@pytest.mark.parametrize(
    "strategy", [by_time(), WatermarkStrategy.no_watermarks()], ids=["time", "no time"]
)
@pytest.mark.parametrize("between", sorted(BETWEEN | KEYED))
@settings(max_examples=6)
@given(records=found, parallelism=st.integers(1, 3), schedule=schedules)
def test_every_record_is_behind_what_was_said_of_it(
    strategy, between, records, parallelism, schedule
):
    got = heard(STREAMING, (BETWEEN | KEYED)[between], records, parallelism, strategy, schedule)
    copies = {"two inputs": 2, "broadcast": parallelism}.get(between, 1)
    assert sorted(got) == wanted(records * copies)


@pytest.mark.parametrize("between", sorted(BETWEEN))
@settings(max_examples=6)
@given(records=found, schedule=schedules)
def test_in_a_batch_run_as_well_if_there_is_no_key(between, records, schedule):
    strategy = WatermarkStrategy.no_watermarks()
    got = heard(BATCH, BETWEEN[between], records, 1, strategy, schedule)
    assert sorted(got) == wanted(records)


@settings(max_examples=10)
@given(records=found, tasks=st.integers(1, 3), schedule=schedules)
def test_in_a_batch_run_of_several_tasks_behind_a_broadcast(records, tasks, schedule):
    def between(stream):
        return hear(stream.set_parallelism(1).broadcast())

    got = heard(BATCH, between, records, tasks, WatermarkStrategy.no_watermarks(), schedule)
    assert sorted(got) == wanted(records * tasks)


@settings(max_examples=25)
@given(records=found, schedule=schedules)
def test_behind_two_exchanges(records, schedule):
    def between(stream):
        return hear(stream.rebalance().map(lambda record: record).key_by(key_of))

    got = heard(STREAMING, between, records, 1, by_time(), schedule)
    assert sorted(got) == wanted(records)


@pytest.mark.parametrize("exchange", ["rebalance", "key_by"])
def test_what_a_harness_shows(exchange):
    behind = (BETWEEN | KEYED)[exchange]

    def program(stream):
        return behind(stream.transform("says", None, Says()))

    with OperatorHarness.of(program) as harness:
        harness.push_all([(0, 2, True), (0, 3, False)])
        harness.push_all([(0, 4, False), (1, 5, True), (0, 6, True)])
        harness.push_all([(0, 7, False)])
        results = sorted(harness.output())
    assert results == [(*record[:3], record[2]) for record in results]
    assert len(results) == 6


class SaysOnce(Says):
    """Says of the first record only that it is stale, and that the others are not."""

    def process_element(self, value, ctx):
        if value[1] < 2:
            super().process_element(value, ctx)
        else:
            self.output.collect(value)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("exchange", ["rebalance", "key_by"])
def test_what_was_said_last_holds_in_other_workers(workers, exchange):
    env = environment(STREAMING, 1)
    records = [(n % 3, n, n == 0) for n in range(9)]
    source = env.from_source(history_then_live([], records), by_time(), "records")
    says = source.transform("says", None, SaysOnce())
    (BETWEEN | KEYED)[exchange](says).sink_to(DiscardingSink())
    got = run_in_process(env, Schedule(batch_sizes=(1,), workers=workers)).of()
    assert sorted(got) == wanted(records)
