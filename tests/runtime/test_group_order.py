"""Records in order of key group: every key keeps its order, and functions see what they would."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import KeyedProcessFunction, ValueStateDescriptor
from penstock.datastream.connectors import FileSource
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.program.channel import SINK_LEVEL
from penstock.program.run_settings import RunKind, RunSettings
from penstock.runtime.exchange.group_order import KeyedRows, in_group_order, rows_of_columns
from penstock.runtime.task.level_zero import LevelZero
from penstock.runtime.task.live_subtask import LiveLevel
from penstock.state.backends.hash.backend import HashBackend
from penstock.wire.canonical.key_groups import KeyGroups
from penstock.wire.frame import FrameKind, decode_records, read_header
from penstock.wire.row_columns import rows_of
from tests.runtime.jobs import STREAMING, environment

GROUPS = 16
MANY = 9_000
"""Records of a subtask, about: enough to be put in order."""


def per_key(keys, values):
    found = defaultdict(list)
    for key, value in zip(keys, values, strict=True):
        found[key].append(value)
    return dict(found)


@pytest.fixture(params=[1, 8192], ids=["ordered", "as-it-came"])
def ordered_from(request):
    return request.param


def settings_of(ordered_from=1):
    return RunSettings(RunKind.LIVE, 1, GROUPS, group_order_from=ordered_from)


keys_of_a_kind = st.sampled_from(
    [st.integers(-40, 40), st.integers(2**64, 2**64 + 9), st.text(max_size=2), st.booleans()]
).flatmap(lambda kind: st.lists(kind | st.none(), min_size=1, max_size=60))


@given(keys_of_a_kind, st.booleans())
def test_groups_ascend_and_every_key_keeps_its_order(keys, timed):
    of_key = KeyGroups(GROUPS)
    values = list(range(len(keys)))
    stamps = values if timed else None
    found, groups, ordered, times = in_group_order(
        keys, values, stamps, of_key.__getitem__, settings_of()
    )
    assert groups == [of_key[key] for key in found]
    assert groups == sorted(groups)
    assert per_key(found, ordered) == per_key(keys, values)
    assert times == (ordered if timed else None)


def test_few_records_stay_as_they_came():
    keys = list(range(100))
    found, groups, values, _ = in_group_order(
        keys, keys, None, KeyGroups(GROUPS).__getitem__, settings_of(8192)
    )
    assert (found, values) == (keys, keys)
    assert len(groups) == len(keys)


COLUMNS = {
    "key": pa.array([5, -1, 5, 2**40, 0, -1], pa.int64()),
    "text": pa.array(["b", None, "a", "b", "b", "c"]),
    "number": pa.array(range(6), pa.int32()),
}


@pytest.mark.parametrize("key", ["key", "text"])
def test_rows_of_columns_have_their_keys(ordered_from, key):
    batch = pa.RecordBatch.from_pydict(COLUMNS)
    rows = rows_of_columns(
        [batch.slice(0, 2), batch.slice(2)], itemgetter(key), settings_of(ordered_from)
    )
    assert isinstance(rows, KeyedRows)
    assert rows.keys == [row[key] for row in rows]
    by_key = per_key(rows.keys, [row.number for row in rows])
    assert by_key == per_key(batch.column(key).to_pylist(), range(6))
    if key == "key":
        assert rows.groups == [KeyGroups(GROUPS)[k] for k in rows.keys]
        assert rows.in_order == (ordered_from == 1)
    else:
        assert rows.groups is None


@pytest.mark.parametrize("selector", [None, lambda row: row.key % 3])
def test_rows_of_columns_without_a_field_as_key_are_plain(ordered_from, selector):
    batch = pa.RecordBatch.from_pydict(COLUMNS)
    rows = rows_of_columns([batch], selector, settings_of(ordered_from))
    assert rows == rows_of(batch)
    assert type(rows) is list


class CountAndLast(KeyedProcessFunction):
    def open(self, runtime_context):
        self.state = runtime_context.get_state(ValueStateDescriptor("state"))

    def process_element(self, value, ctx):
        count, _ = self.state.value() or (0, None)
        self.state.update((count + 1, value.number))
        yield ctx.get_current_key(), count, value.number


TYPE = Types.ROW_NAMED(["key", "number"], [Types.LONG(), Types.LONG()])


def results(as_columns, ordered_from=8192):
    """Return key to results of one micro-batch of many records, sent as columns or as rows."""
    env = environment(STREAMING, 2)
    source = FileSource.parquet("nowhere", TYPE).monitor_continuously()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
    stream.key_by(lambda row: row.key).process(CountAndLast()).sink_to(DiscardingSink())
    plan = env.plan()
    programs = programs_of(
        plan, plan.runs[0], tasks=1, max_frame_records=500, handed=HandOver(), job_parameters={}
    )
    zero = LevelZero(programs[0], 0)
    keys = np.random.default_rng(3).integers(-900, 900, 2 * MANY)
    batch = pa.RecordBatch.from_pydict({"key": keys, "number": np.arange(len(keys))})
    if as_columns:
        zero.collect_columns(0, batch)
    else:
        zero.collect(0, rows_of(batch), None)
    zero.finish_split(0, 0, finished=False)
    sent = zero.take_output()
    found = defaultdict(list)
    for subtask, route in enumerate(programs[0].settings.routes):
        forced = replace(programs[1].settings, group_order_from=ordered_from)
        level = LiveLevel(replace(programs[1], settings=forced), subtask, HashBackend())
        own = [frame for to, frame in sent if to == route]
        for _, frame in level.process(own):
            header = read_header(frame)
            if header.kind is FrameKind.RECORDS and header.target_level == SINK_LEVEL:
                for key, count, number in decode_records(header, frame)[0]:
                    found[key].append((count, number))
    return dict(found)


def test_a_function_answers_the_same_whatever_the_order_and_the_form():
    ordered = [results(as_columns) for as_columns in (True, False)]
    as_it_came = [results(as_columns, 10 * MANY) for as_columns in (True, False)]
    assert ordered[0] == ordered[1] == as_it_came[0] == as_it_came[1]
    assert sum(map(len, ordered[0].values())) == 2 * MANY
