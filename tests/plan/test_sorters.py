"""Only an operator of the user's own groups its input itself; the plan says what the run does."""

from __future__ import annotations

from itertools import pairwise

import pytest

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    KeyedProcessFunction,
    OneInputStreamOperator,
    OperatorAttributesBuilder,
)
from penstock.errors import GraphError
from penstock.plan.explain.render import render_text
from penstock.testing import run_in_process
from tests.runtime.jobs import BATCH, MIXED, by_time, environment, history_then_live


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


def test_the_plan_says_not_grouped_where_the_run_does_not_group():
    assert "not grouped" in text_of(lambda keyed: keyed.transform("own", None, Own()))
    with pytest.raises(GraphError, match="internal_sorter_supported"):
        text_of(lambda keyed: keyed.process(Function()))


class Keyed(OneInputStreamOperator):
    def process_element(self, value, ctx):
        self.output.collect(value)


# FLIP-327, rule 12.
@pytest.mark.parametrize("mode", [MIXED, BATCH], ids=["mixed", "batch"])
@pytest.mark.parametrize(("operator", "switches"), [(Keyed, 1), (Own, 39)], ids=["no", "yes"])
def test_an_operator_that_sorts_by_itself_is_given_its_records_as_they_come(
    mode, operator, switches
):
    env = environment(mode | {"pipeline.max-parallelism": "1"}, 1)
    records = [(number % 2, number) for number in range(40)]
    numbers = env.from_source(history_then_live(records, []), by_time(), "numbers")
    keyed = numbers.key_by(lambda record: record[0])
    keyed.transform("own", None, operator()).sink_to(DiscardingSink())
    keys = [key for key, _ in run_in_process(env).of()]
    assert sum(one != other for one, other in pairwise(keys)) == switches
