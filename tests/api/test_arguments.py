"""What is wrong with a program is said where it is written."""

from __future__ import annotations

from collections import namedtuple
from datetime import timedelta
from typing import Any

import pytest

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
    TimestampAssigner,
)
from penstock.datastream.connectors import (
    DataGeneratorSource,
    DiscardingSink,
    FileSink,
    NumberSequenceSource,
)
from penstock.errors import ArgumentError, UnknownFieldError
from penstock.testing import run_in_process

Pair = namedtuple("Pair", "key value")  # noqa: PYI024 - what users write


def env():
    settings = Configuration.from_dict({"parallelism.default": 2})
    return StreamExecutionEnvironment.get_execution_environment(settings)


def numbers():
    return env().from_collection([1, 2])


class Keyed(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


class Unkeyed(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


class Assigner(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value


def same(value):
    return value


NONE = WatermarkStrategy.no_watermarks()

# Untyped, as in a program nobody type-checks.
strategy: Any = WatermarkStrategy
sequence: Any = NumberSequenceSource
generator: Any = DataGeneratorSource

REFUSED = {
    "type of a collection": (lambda: env().from_collection([1], Types.INT), "Types.INT()"),
    "type of a source": (
        lambda: env().from_source(NumberSequenceSource(1, 2), NONE, "n", int),
        "Types.INT()",
    ),
    "output type": (lambda: numbers().map(same, Types.INT), "Types.INT()"),
    "name of a key": (lambda: numbers().key_by("carrier"), "lambda row: row.carrier"),
    "name that is no word": (lambda: numbers().key_by("dep delay"), "lambda row: row['dep delay']"),
    "position of a key": (lambda: numbers().key_by(0), "lambda row: row[0]"),
    "key type": (lambda: numbers().key_by(same, int), "Types.INT()"),
    "no collection": (lambda: env().from_collection(5), "iterable"),
    "no strategy": (lambda: env().from_source(NumberSequenceSource(1, 2), None, "n"), "no_water"),
    "strategy": (lambda: numbers().assign_timestamps_and_watermarks(None), "no_watermarks"),
    "bound": (lambda: strategy.for_bounded_out_of_orderness(5), "Duration.of"),
    "timedelta": (
        lambda: strategy.for_bounded_out_of_orderness(timedelta(seconds=5)),
        "Duration.of",
    ),
    "assigner class": (lambda: NONE.with_timestamp_assigner(Assigner), "Pass Assigner()"),
    "sequence": (lambda: sequence("1", 3), "integers"),
    "count": (lambda: generator(same, "4"), "integer"),
    "rate": (lambda: generator(same, 4, 1.5), "integer"),
    "name": (lambda: numbers().map(same).name(None), "string"),
    "uid": (lambda: numbers().map(same).uid(5), "string"),
    "blank uid": (lambda: numbers().map(same).uid(" "), "blank"),
    "sink uid": (lambda: numbers().print().uid(""), "blank"),
    "union": (lambda: numbers().union([1]), "DataStreams"),
    "needs a key": (lambda: numbers().process(Keyed()), "key_by"),
    "has a key": (lambda: numbers().key_by(same).process(Unkeyed()), "KeyedProcessFunction"),
    "position": (lambda: numbers().key_by(same).sum(-1), "from 0"),
}


@pytest.mark.parametrize(("build", "advice"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_argument_is_refused_with_advice_and_line(build, advice):
    with pytest.raises(ArgumentError) as caught:
        build()
    assert advice in caught.value.hint
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


def aggregated(records, aggregate):
    program = env()
    stream = program.from_collection(records).key_by(lambda _: 0)
    aggregate(stream).sink_to(DiscardingSink()).name("out")
    return run_in_process(program).of("out")


@pytest.mark.parametrize("field", [1, "value"])
def test_named_tuples_stay_named_tuples(field):
    found = aggregated([Pair("a", 1), Pair("a", 2)], lambda s: s.sum(field))
    assert list(found) == [Pair("a", 1), Pair("a", 3)]
    assert {type(record) for record in found} == {Pair}


@pytest.mark.parametrize("aggregation", ["sum", "min", "max", "min_by", "max_by"])
@pytest.mark.parametrize(
    ("records", "field"),
    [
        ([(1, 2), (1, 3)], "value"),
        ([(1, 2), (1, 3)], 2),
        ([[1, 2], [1, 3]], "value"),
        ([1, 2], 3),
        ([1, 2], "value"),
        ([{"value": 1}, {"value": 2}], "value"),
        ([Row(key=1, value=2), Row(key=1, value=3)], "other"),
    ],
)
def test_a_field_that_does_not_exist_is_named_with_its_record(aggregation, records, field):
    with pytest.raises(UnknownFieldError) as caught:
        aggregated(records, lambda s: getattr(s, aggregation)(field))
    assert repr(field) in caught.value.problem
    assert repr(records[1]) in caught.value.problem
    assert f"operator '{aggregation}'" in caught.value.problem
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


def test_no_two_uids_of_sinks_share_a_name_and_none_is_a_path(tmp_path):
    program = env()
    stream = program.from_collection([1])
    uids = ["..", ".", "sink-6", "a/b", "a%2Fb", "ö1", "\u0f61", None, "plain_uid-1.x"]
    for uid in uids:
        sink = stream.sink_to(FileSink.text(tmp_path))
        if uid is not None:
            sink.uid(uid)
    stream.sink_to(FileSink.text(tmp_path))
    names = [sink.uid for sink in program.plan().sinks]
    assert len(set(names)) == len(names)
    assert not any("/" in name or name.startswith(".") for name in names)
    assert names[-2:] == ["plain_uid-1.x", "sink-9"]
