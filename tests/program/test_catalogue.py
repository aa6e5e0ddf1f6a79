"""The catalogue of operators: rows agree with the classes they name, and a row is all a kind needs."""

from __future__ import annotations

import pickle
from collections import Counter

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment, WatermarkStrategy
from penstock.datastream.connectors import CollectionSource, DiscardingSink
from penstock.plan.explain.outline import describe_unnamed_state
from penstock.program.operator_kind import Keeps, OperatorKind, StateUse, TimeUse
from penstock.program.operators import CATALOGUE, PASSING, SINK, SOURCE
from penstock.runtime.operators import operator_class
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import history_then_live
from tests.toy_operator import KEYED_NUMBERING, numbered

OPERATORS = [kind for kind in CATALOGUE if kind.is_operator]


def named(kind: OperatorKind) -> str:
    return kind.name


def test_names_are_unique():
    assert len({kind.name for kind in CATALOGUE}) == len(CATALOGUE)
    assert len(OPERATORS) == 39


def test_what_is_no_operator_says_where_records_come_from_and_go():
    assert set(CATALOGUE) - set(OPERATORS) == PASSING | {SOURCE, SINK}


@pytest.mark.parametrize("kind", OPERATORS, ids=named)
def test_a_row_agrees_with_its_class_and_its_name(kind):
    keyed_state = issubclass(operator_class(kind), KeyedOperator)
    assert kind.is_keyed == kind.name.startswith("KEYED_")
    assert kind.is_own == (kind.keeps is Keeps.AS_OPERATOR) == kind.name.endswith("CUSTOM")
    assert kind.state is not StateUse.NEVER or not keyed_state
    assert kind.is_keyed or not keyed_state
    # A batch run groups the records of what has keyed state, and of nothing else.
    assert keyed_state or kind.time not in {TimeUse.ORDERS, TimeUse.TIMERS}
    assert not keyed_state or kind.time not in {TimeUse.IGNORES, TimeUse.SHOWS}


@pytest.mark.parametrize("kind", CATALOGUE, ids=named)
def test_a_row_is_itself_in_another_process(kind):
    assert pickle.loads(pickle.dumps(kind)) == kind
    assert hash(pickle.loads(pickle.dumps(kind))) == hash(kind)


RECORDS = ["a", "b", "a", "a", "b", "c"] * 3


def job(mode, source):
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.runtime-mode": mode, "parallelism.default": 2})
    )
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "letters")
    numbered(stream.key_by(lambda letter: letter)).sink_to(DiscardingSink())
    return env


@pytest.mark.parametrize(
    ("mode", "source", "schedule"),
    [
        ("BATCH", CollectionSource.of(RECORDS), Schedule()),
        ("STREAMING", CollectionSource.of(RECORDS), Schedule(batch_sizes=(2, 5), restart_every=2)),
        ("STREAMING", history_then_live(RECORDS[:7], RECORDS[7:]), Schedule(fail_every=2)),
    ],
    ids=["batch", "streaming", "mixed"],
)
def test_a_kind_that_only_has_a_row_runs_in_every_mode(mode, source, schedule):
    counts = Counter(RECORDS)
    wanted = sorted((letter, i) for letter, count in counts.items() for i in range(count))
    assert sorted(run_in_process(job(mode, source), schedule).of(0)) == wanted


def test_a_kind_that_only_has_a_row_is_known_to_the_plan():
    plan = job("STREAMING", CollectionSource.of(RECORDS)).plan()
    (operator,) = [op for level in plan.levels for op in level.operators]
    assert operator.kind == KEYED_NUMBERING
    assert "numbered" in (describe_unnamed_state(plan) or "")


def test_states_that_a_kind_keeps_are_refused_to_its_function():
    assert KEYED_NUMBERING.reserves("numbers")
    assert not KEYED_NUMBERING.reserves("number")
