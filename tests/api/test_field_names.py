"""A field name with a typing error is told with the name that was meant."""

from __future__ import annotations

import copy
import pickle
from operator import attrgetter

import pytest

from penstock.common import Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink
from penstock.errors import ArgumentError, PenstockError, UnknownFieldError
from penstock.testing import run_in_process

FLIGHT = Types.ROW_NAMED(["day", "carrier", "delay"], [Types.INT(), Types.STRING(), Types.INT()])
MEANT = "did you mean 'carrier'?"


def flights():
    env = StreamExecutionEnvironment.get_execution_environment()
    return env, env.from_collection([(1, "AA", 5)], FLIGHT)


def keyed():
    return flights()[1].key_by(lambda flight: flight.day)


DECLARED = {
    "sum": lambda: keyed().sum("carriers"),
    "min": lambda: keyed().min("cariers"),
    "max": lambda: keyed().max("Carrier"),
    "min_by": lambda: keyed().min_by("carier"),
    "max_by": lambda: keyed().max_by("carrrier"),
    "type": lambda: FLIGHT.get_field_index("carriers"),
}


@pytest.mark.parametrize("name", DECLARED)
def test_a_name_in_a_call_is_refused_by_the_call(name):
    with pytest.raises(PenstockError) as caught:
        DECLARED[name]()
    assert MEANT in caught.value.problem


SELECTORS = {
    "key_by": lambda rows: rows.key_by(lambda f: f.carriers).reduce(max),
    "key_by item": lambda rows: rows.key_by(lambda f: f["carriers"]).reduce(max),
    "map": lambda rows: rows.map(lambda f: f.carriers),
    "filter": lambda rows: rows.filter(lambda f: f.carriers),
}


@pytest.mark.parametrize("name", SELECTORS)
def test_a_function_that_only_reads_a_field_is_refused_in_the_plan(name):
    env, rows = flights()
    SELECTORS[name](rows).sink_to(DiscardingSink())
    with pytest.raises(ArgumentError) as caught:
        env.plan()
    assert MEANT in caught.value.problem
    assert "day, carrier, delay" in caught.value.hint
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


@pytest.mark.parametrize(
    "select",
    [lambda f: f.carrier, lambda f: f["carrier"], lambda f: f.as_dict, lambda f: f[1], len],
)
def test_what_a_row_has_is_not_refused(select):
    env, rows = flights()
    rows.map(select).sink_to(DiscardingSink())
    assert len(env.plan().sinks) == 1


FUNCTIONS = {
    "attribute": lambda f: f.carriers.lower(),
    "item": lambda f: f["carriers"].lower(),
    "getter": attrgetter("carriers"),
    "by names": lambda f: f.get_fields_by_names(["carriers"]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_other_function_is_told_at_run_time(name):
    env, rows = flights()
    rows.map(FUNCTIONS[name]).name("reads").sink_to(DiscardingSink())
    with pytest.raises(PenstockError) as caught:
        run_in_process(env)
    assert MEANT in caught.value.problem
    assert "'reads'" in caught.value.problem


def test_a_dict_that_does_not_fit_is_told_too():
    with pytest.raises(ValueError, match="did you mean 'carrier'"):
        FLIGHT.coerce({"day": 1, "carriers": "AA", "delay": 2})


def test_nothing_is_suggested_that_is_not_near():
    row = Row(day=1, carrier="AA")
    with pytest.raises(UnknownFieldError) as caught:
        row["x"]
    assert "did you mean" not in caught.value.problem
    with pytest.raises(AttributeError, match=r"row has no field 'zzz'$"):
        row.zzz  # noqa: B018
    assert getattr(row, "", 7) == 7
    assert copy.deepcopy(pickle.loads(pickle.dumps(row))) == row
