"""The matrix of FLIP-329, the tables behind it, and what a plan makes of them."""

from __future__ import annotations

import pytest

from penstock.common import Configuration, Types
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    FilterFunction,
    MapFunction,
    OneInputStreamOperator,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from penstock.datastream.connectors import NumberSequenceSource
from penstock.graph.operator_attributes import OperatorAttributes
from penstock.plan.explain.render import render_text
from penstock.plan.phases.copies import Action, action, choose_copies
from penstock.program.level import NO_COPIES

ROW = Types.ROW_NAMED(["a"], [Types.LONG()])
SIDE = OutputTag("side", ROW)


def changed(record):
    record["n"] += 1
    return record


class Plain(MapFunction):
    def map(self, value):
        return value


class Promising(Plain):
    def is_output_value_stored(self):
        return False


class Made(Promising):
    def map(self, value):
        return {"n": value}


class Asking(FilterFunction):
    def filter(self, value):
        return True


class PromisingFilter(Asking):
    def is_output_value_stored(self):
        return False


class ToSide(ProcessFunction):
    def process_element(self, value, ctx):
        yield SIDE, value


class PromisingToSide(ToSide):
    def is_output_value_stored(self):
        return False


def _attributes(*, output, inputs):
    return OperatorAttributes(
        output_stream_record_value_stored=output, input_stream_record_stored=inputs
    )


MATRIX = [
    (True, True, True, Action.REUSE),
    (True, True, False, Action.REUSE),
    (True, False, True, Action.REUSE),
    (True, False, False, Action.REUSE),
    (False, False, False, Action.REUSE),
    (False, False, True, Action.SHALLOW_COPY),
    (False, True, False, Action.DEEP_COPY),
    (False, True, True, Action.DEEP_COPY),
]


# FLIP-329, rule 1.
@pytest.mark.parametrize(("reuse", "output", "inputs", "wanted"), MATRIX)
def test_matrix(reuse, output, inputs, wanted):
    upstream = _attributes(output=output, inputs=False)
    downstream = _attributes(output=True, inputs=inputs)
    assert action(reuse, upstream, downstream) is wanted


# FLIP-329, rule 6.
@pytest.mark.parametrize("promises", [True, False])
def test_whether_an_operator_stores_its_input_copies_nothing(promises):
    class Own(OneInputStreamOperator):
        def process_element(self, value, ctx):
            self.output.collect(value)

        def get_operator_attributes(self):
            return _attributes(output=not promises, inputs=True)

    class Forgetful(Own):
        def get_operator_attributes(self):
            return _attributes(output=not promises, inputs=False)

    def planned(operator):
        pairs = _sequence(environment()).map(lambda n: [n]).rebalance()
        own = pairs.transform("first", None, Own()).transform("second", None, operator)
        return plan_of(own.map(lambda pair: pair))

    stored, forgotten = planned(Own()), planned(Forgetful())
    for name in ("first", "second"):
        assert copies_of(stored, name) == copies_of(forgotten, name)


def environment(**settings):
    made = Configuration.from_dict({"parallelism.default": "1", **settings})
    return StreamExecutionEnvironment.get_execution_environment(made)


def _sequence(env):
    source = NumberSequenceSource(1, 9)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")


def plan_of(stream, *more):
    for one in (stream, *more):
        one.sink_to(DiscardingSink())
    return stream.get_execution_environment().plan()


def copies_of(plan, name):
    return next(op.copies for level in plan.levels for op in level.operators if op.name == name)


def records(env):
    return _sequence(env).map(Made()).name("records")


# FLIP-329, rule 2.
def test_a_function_that_promises_forces_no_copy():
    plan = plan_of(records(environment()).map(Promising()).filter(PromisingFilter()))
    assert all(op.copies == NO_COPIES for level in plan.levels for op in level.operators)
    assert not any("copy" in d.choice for d in plan.decisions)


def test_a_function_that_may_keep_forces_a_copy_where_it_emits():
    plan = plan_of(records(environment()).map(Plain()).map(changed))
    assert copies_of(plan, "Plain").at_emission
    assert copies_of(plan, "records") == NO_COPIES
    text = render_text(plan)
    assert (
        "'Plain' to 'changed': deep copy of what can be changed, because 'Plain' may keep what it "
        "emits: is_output_value_stored of Plain is True"
    ) in text


# FLIP-329, rule 7.
def test_a_function_without_a_promise_forces_a_copy():
    plan = plan_of(records(environment()).map(changed).filter(lambda _: True).name("asked"))
    assert copies_of(plan, "changed").at_emission
    assert copies_of(plan, "asked").at_emission


def test_a_predicate_of_a_class_may_keep_what_it_was_asked_about():
    plan = plan_of(records(environment()).filter(Asking()).map(changed))
    assert copies_of(plan, "Asking").at_emission


@pytest.mark.parametrize("declared", [Types.LONG(), Types.STRING()], ids=repr)
def test_values_that_cannot_be_changed_are_not_copied(declared):
    plan = plan_of(records(environment()).map(Plain(), declared).map(changed))
    assert copies_of(plan, "Plain") == NO_COPIES


def test_an_annotation_decides_no_copies():
    may_keep = []

    class Annotated(MapFunction[dict[str, int], tuple[int, str]]):
        def map(self, value: dict[str, int]) -> tuple[int, str]:
            may_keep.append(value)
            return (value["n"], "a")

    plan = plan_of(records(environment()).map(Annotated()).map(changed))
    assert copies_of(plan, "Annotated").at_emission


def test_of_two_readers_the_first_gets_a_copy():
    made = records(environment())
    plan = plan_of(made.map(changed).name("first"), made.map(changed).name("second"))
    ids = {op.name: op.id for level in plan.levels for op in level.operators}
    assert copies_of(plan, "records").operators == (ids["first"],)
    assert not copies_of(plan, "records").at_emission
    assert "'second' reads the same records and may change them" in render_text(plan)


# FLIP-329, rule 4.
def test_a_hash_channel_beside_a_chained_reader_gets_a_copy_and_others_do_not():
    made = records(environment())
    keyed = made.key_by(lambda record: record["n"]).map(changed)
    plan = plan_of(made.map(changed).name("chained"), keyed, made)
    copies = copies_of(plan, "records")
    assert copies.operators == ()
    assert [plan.channels[number].partitioner.name for number in copies.channels] == ["HASH"]


def test_readers_that_only_write_get_no_copies():
    made = records(environment())
    plan = plan_of(made.key_by(lambda record: record["n"]).map(changed), made)
    assert copies_of(plan, "records") == NO_COPIES


# FLIP-329, rule 3.
def test_readers_of_a_side_output_follow_the_same_rule():
    done = records(environment()).process(PromisingToSide()).name("sides")
    side = done.get_side_output(SIDE)
    plan = plan_of(done, side.map(changed).name("first"), side.map(changed).name("second"))
    (spec,) = [op for op in plan.levels[0].operators if op.name == "sides"]
    ids = {op.name: op.id for op in plan.levels[0].operators}
    assert not spec.copies.at_emission
    assert spec.side_outputs[0].copies.operators == (ids["first"],)


def test_a_side_output_alone_forces_the_copy_of_what_leaves_the_function():
    done = records(environment()).process(ToSide(), Types.LONG()).name("sides")
    plan = plan_of(done, done.get_side_output(SIDE).map(changed))
    assert copies_of(plan, "sides").at_emission


def test_a_collection_keeps_its_records_and_a_sequence_does_not():
    env = environment()
    kept = env.from_collection([{"n": 1}]).map(changed)
    fresh = _sequence(env).map(lambda n: {"n": n})
    plan = plan_of(kept, fresh)
    assert [copies.at_emission for _, copies in plan.source_copies] == [True]


# FLIP-329, rule 5.
def test_object_reuse_copies_nothing():
    made = records(environment(**{"pipeline.object-reuse": "true"})).map(Plain())
    plan = plan_of(made.map(changed), made.map(changed))
    assert all(op.copies == NO_COPIES for level in plan.levels for op in level.operators)
    assert plan.source_copies == ()


def test_the_phase_is_idempotent():
    made = records(environment()).map(Plain())
    plan = plan_of(made.map(changed), made.map(changed))
    assert choose_copies(plan) == plan


def test_only_those_that_are_believed_are_watched():
    env = environment(**{"pipeline.object-reuse.verify": "true"})
    plan = plan_of(records(env).map(Plain()).map(Promising()))
    watched = {op.name: op.verifies_promise for op in plan.levels[0].operators}
    assert watched == {"records": True, "Plain": False, "Promising": True}
