"""Ways of a check on Spark: a driver and a worker are killed, and the answer is that of the runs in process."""

from __future__ import annotations

import pytest

from penstock.common import Types
from penstock.datastream import (
    KeyedProcessFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import DiscardingSink
from penstock.errors import LawError
from penstock.testing import Way, WayMode, check
from penstock.testing.law.ways import SPARK_WAYS


class InState(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value, ctx):
        self.seen.update((self.seen.value() or 0) + value)
        yield value % 3, self.seen.value()


class InSelf(KeyedProcessFunction):
    def __init__(self):
        self.seen = {}

    def process_element(self, value, ctx):
        self.seen[value % 3] = self.seen.get(value % 3, 0) + value
        yield value % 3, self.seen[value % 3]


def environment(function):
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection(list(range(90))).key_by(lambda n: n % 3)
    numbers.process(function).sink_to(DiscardingSink()).name("sums")
    return env


def test_state_survives_the_kills_and_the_verdict_has_their_proof():
    verdict = check(environment(InState()), ways=[Way(), Way(WayMode.STREAMING), *SPARK_WAYS])
    assert verdict.is_same
    killed = [note for note in verdict.notes if "got SIGKILL" in note]
    assert ["worker killed" in note for note in killed] == [True, False]
    assert ["driver killed" in note for note in killed] == [False, True]


@pytest.mark.subset
def test_what_is_kept_in_self_is_lost_with_the_driver():
    _, streaming, _ = SPARK_WAYS
    with pytest.raises(LawError, match="driver killed: process") as raised:
        check(environment(InSelf()), ways=[Way(WayMode.STREAMING), streaming])
    text = str(raised.value)
    assert "sink 'sums' gets two answers for 2 records" in text
    assert "restart every 1" in text  # the same in process, where it is shrunk
