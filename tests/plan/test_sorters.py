"""Only an operator of the user's own groups its input itself; the plan says what the run does."""

from __future__ import annotations

import pytest

from penstock.connectors.python.discard import DiscardingSink
from penstock.datastream import (
    KeyedProcessFunction,
    OneInputStreamOperator,
    OperatorAttributesBuilder,
)
from penstock.errors import GraphError
from penstock.plan.explain.render import render_text
from tests.runtime.jobs import MIXED, by_time, environment, history_then_live


class Sorting:
    def get_operator_attributes(self):
        return OperatorAttributesBuilder().set_internal_sorter_supported(True).build()


class Function(Sorting, KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


class Own(Sorting, OneInputStreamOperator):
    def process_element(self, value, ctx):
        self.output.collect(value)


def text_of(then):
    env = environment(MIXED)
    numbers = env.from_source(history_then_live([(1, 1)], [(1, 2)]), by_time(), "numbers")
    then(numbers.key_by(lambda record: record[0])).sink_to(DiscardingSink())
    return render_text(env.plan())


# FLIP-327, rule 12.
def test_the_plan_says_not_grouped_where_the_run_does_not_group():
    assert "not grouped" in text_of(lambda keyed: keyed.transform("own", None, Own()))
    with pytest.raises(GraphError, match="internal_sorter_supported"):
        text_of(lambda keyed: keyed.process(Function()))
