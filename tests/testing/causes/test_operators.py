"""Sinks that repeat writes and operators that drop late records are found by their settings."""

from __future__ import annotations

import pytest

from penstock.common import Time, WatermarkStrategy
from penstock.connectors.python.function_sink import NothingCommitter
from penstock.datastream import OutputTag, ProcessJoinFunction, StreamExecutionEnvironment
from penstock.datastream.connectors import FunctionSink, PrintSink, Sink, SinkWriter
from penstock.datastream.window import (
    EndOfStreamWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.graph.endpoints import Committer
from penstock.testing.causes import find_causes
from tests.testing.causes.programs import ORDERS, accused, causes_of, keyed, orders, possible

LATE = OutputTag("late")


class Writer(SinkWriter):
    def write(self, values):
        print(values)

    def prepare_commit(self):
        return []

    def abort(self):
        pass


class Silent(Committer):
    """Has a commit that does nothing."""

    def recover(self):
        pass

    def commit(self, epoch, committables):
        """Do nothing."""


class Committing(Silent):
    def commit(self, epoch, committables):
        print(epoch)


class Direct(Sink):
    kind = "direct"

    def __init__(self, committer):
        self.committer = committer

    def create_writer(self, context):
        return Writer()

    def create_committer(self, context):
        return Silent()


class Library(Direct):
    def create_committer(self, context):
        return NothingCommitter()


class Staged(Direct):
    def create_committer(self, context):
        return Committing()


def causes_of_sink(attach):
    env = StreamExecutionEnvironment.get_execution_environment()
    attach(orders(env))
    return find_causes(env.plan().graph)


@pytest.mark.parametrize("sink", [Direct(1), Library(1)])
def test_a_sink_that_commits_nothing_is_found(sink):
    assert accused(causes_of_sink(lambda stream: stream.sink_to(sink))) == {"SINK_NOT_IDEMPOTENT"}


def test_a_function_as_a_sink_is_possible():
    sink = FunctionSink(print, is_object=False)
    causes = causes_of_sink(lambda stream: stream.sink_to(sink))
    assert (accused(causes), possible(causes)) == (set(), {"SINK_NOT_IDEMPOTENT"})


def test_batches_with_the_number_of_their_epoch_are_none():
    def without(frame, epoch):
        frame.write.save("here")

    def with_number(frame, epoch):
        frame.write.save(f"here/{epoch}")

    causes = causes_of_sink(lambda stream: stream.for_each_batch(without))
    assert possible(causes) == {"SINK_NOT_IDEMPOTENT"}
    assert causes_of_sink(lambda stream: stream.for_each_batch(with_number)) == ()


@pytest.mark.parametrize("sink", [Staged(1), PrintSink()])
def test_a_sink_that_commits_is_none(sink):
    assert causes_of_sink(lambda stream: stream.sink_to(sink)) == ()


class Pair(ProcessJoinFunction):
    def process_element(self, left, right, ctx):
        yield left, right


def tumbling(env):
    return keyed(env).window(TumblingEventTimeWindows.of(Time.seconds(1)))


@pytest.mark.parametrize(
    "build",
    [
        lambda env: tumbling(env).reduce(max),
        lambda env: (
            keyed(env)
            .interval_join(keyed(env))
            .between(Time.seconds(0), Time.seconds(1))
            .process(Pair())
        ),
    ],
)
def test_late_records_that_are_dropped_are_possible(build):
    causes = causes_of(build)
    assert (accused(causes), possible(causes)) == (set(), {"LATE_RECORDS"})
    assert all("may give two answers" in cause.problem for cause in causes)


@pytest.mark.parametrize(
    "build",
    [
        lambda env: tumbling(env).allowed_lateness(1000).reduce(max),
        lambda env: tumbling(env).side_output_late_data(LATE).reduce(max),
        lambda env: keyed(env).window(EndOfStreamWindows.get()).reduce(max),
        lambda env: (
            env.from_collection(ORDERS)
            .assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks())
            .key_by(lambda order: order[0])
            .window(TumblingEventTimeWindows.of(Time.seconds(1)))
            .reduce(max)
        ),
    ],
)
def test_late_records_that_are_kept_are_none(build):
    assert causes_of(build) == ()


def test_windows_of_the_clock_are_found():
    causes = causes_of(
        lambda env: keyed(env).window(TumblingProcessingTimeWindows.of(Time.seconds(1))).reduce(max)
    )
    assert accused(causes) == {"READS_CLOCK"}
