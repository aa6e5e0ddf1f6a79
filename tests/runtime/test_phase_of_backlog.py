"""Backlog of a source ends once: beside results of a bounded region, and over all runs of a pipeline."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby

import pytest

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    OneInputStreamOperator,
    TwoInputStreamOperator,
    WatermarkStrategy,
)
from penstock.datastream.connectors import CollectionSource, HybridSource
from penstock.testing import Schedule, run_in_process
from tests.plan.test_blocking import totals
from tests.runtime.jobs import MIXED, STREAMING, environment, history_then_live

UNTIMED = WatermarkStrategy.no_watermarks()


class HeardOfTwo(TwoInputStreamOperator):
    """Emits the attributes and records of both inputs, and passes the attributes on."""

    def process_element1(self, value, ctx):
        self.output.collect(("one", "record"))

    def process_element2(self, value, ctx):
        self.output.collect(("two", "record"))

    def process_record_attributes1(self, record_attributes):
        self.output.collect(("one", record_attributes.is_backlog()))
        super().process_record_attributes1(record_attributes)

    def process_record_attributes2(self, record_attributes):
        self.output.collect(("two", record_attributes.is_backlog()))
        super().process_record_attributes2(record_attributes)


class Heard(OneInputStreamOperator):
    """Emits the attributes of its input, and its records that are tuples of operators before it."""

    def process_element(self, value, ctx):
        self.output.collect(value)

    def process_record_attributes(self, record_attributes):
        self.output.collect(("united", record_attributes.is_backlog()))
        super().process_record_attributes(record_attributes)


def heard(settings, other, *, united, parallelism=1):
    """Return input to its attributes in order, of a region's results beside another source."""
    env = environment(settings, parallelism)
    results = totals(env.from_collection([("a", 1, 1)]))
    stream = env.from_source(other, UNTIMED, "other")
    if united:
        made = results.map(lambda _: ("results", "record")).union(
            stream.map(lambda _: ("other", "record"))
        )
    else:
        made = results.connect(stream).transform("two", None, HeardOfTwo())
    made.rebalance().transform("heard", None, Heard()).sink_to(DiscardingSink())
    found = defaultdict(list)
    for name, said in run_in_process(env, Schedule(batch_sizes=(1,))).of():
        if said != "record":
            found[name].append(said)
    return {name: [said for said, _ in groupby(all_)] for name, all_ in found.items()}


HYBRIDS = {
    "two parts": history_then_live([1, 2, 3], [4, 5]),
    "three parts": HybridSource.builder(CollectionSource.of([1, 2]))
    .add_source(CollectionSource.of([3, 4]))
    .add_source(CollectionSource.of([5]))
    .build(),
}


@pytest.mark.parametrize("settings", [STREAMING, MIXED], ids=["streaming", "mixed"])
@pytest.mark.parametrize("united", [False, True], ids=["two inputs", "one input"])
@pytest.mark.parametrize("other", sorted(HYBRIDS))
def test_results_and_history_are_one_phase_of_backlog(settings, united, other):
    found = heard(settings, HYBRIDS[other], united=united)
    assert found["united"] == [True, False]
    if not united:
        assert found["one"] == found["two"] == [True, False]


@pytest.mark.parametrize("settings", [STREAMING, MIXED], ids=["streaming", "mixed"])
def test_live_input_beside_results_is_never_backlog(settings):
    found = heard(settings, CollectionSource.of([1, 2]), united=False)
    assert found == {"one": [True, False], "two": [False], "united": [True, False]}


@pytest.mark.parametrize("source", sorted(HYBRIDS))
@pytest.mark.parametrize("beside", [None, *sorted(HYBRIDS)])
def test_runs_of_parts_are_one_phase_of_backlog(source, beside):
    env = environment(STREAMING, 1)
    stream = env.from_source(HYBRIDS[source], UNTIMED, "source")
    if beside is not None:
        stream = stream.union(env.from_source(HYBRIDS[beside], UNTIMED, "beside"))
    records = stream.map(lambda _: ("all", "record")).rebalance()
    records.transform("heard", None, Heard()).sink_to(DiscardingSink())
    said = [what for _, what in run_in_process(env, Schedule(batch_sizes=(1,))).of()]
    assert [what for what, _ in groupby(w for w in said if w != "record")] == [True, False]
