"""The diagram of a plan has an arrow for every way a record can go."""

from __future__ import annotations

import re

import pytest

from penstock.common import Configuration
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction
from penstock.plan.explain.render import render_mermaid

LATE = OutputTag("late")


class Sorted(ProcessFunction):
    def process_element(self, value, ctx):
        yield value
        yield LATE, value


class KeyedSorted(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield LATE, value


def to_sinks(main):
    main.sink_to(DiscardingSink()).name("all")
    main.get_side_output(LATE).sink_to(DiscardingSink()).name("side")


def to_an_operator(main):
    main.sink_to(DiscardingSink()).name("all")
    main.get_side_output(LATE).map(str).name("text").sink_to(DiscardingSink()).name("side")


def to_an_exchange(main):
    keyed = main.get_side_output(LATE).key_by(lambda n: n).sum(0).name("total")
    keyed.sink_to(DiscardingSink()).name("side")


READERS = [to_sinks, to_an_operator, to_an_exchange]


def diagram(read, *, keyed: bool) -> str:
    settings = Configuration.from_dict({"parallelism.default": 2})
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    numbers = env.from_collection([1, 2])
    sorts = (
        numbers.key_by(lambda n: n).process(KeyedSorted()) if keyed else numbers.process(Sorted())
    )
    read(sorts)
    return render_mermaid(env.plan())


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("read", READERS)
def test_every_box_that_reads_has_an_arrow(read, keyed):
    text = diagram(read, keyed=keyed)
    boxes = set(re.findall(r"^ +([ns]\d+)\[", text, re.MULTILINE))
    sources = set(re.findall(r"^ +(n\d+)\[\(", text, re.MULTILINE))
    pointed = set(re.findall(r">\s+([ns]\d+)$", text, re.MULTILINE))
    assert pointed == boxes - sources, text


def test_an_arrow_of_a_side_output_has_its_tag():
    assert re.search(r'-- "late" --> s\d', diagram(to_sinks, keyed=False))
    assert '== "late, hash by key" ==>' in diagram(to_an_exchange, keyed=True)
