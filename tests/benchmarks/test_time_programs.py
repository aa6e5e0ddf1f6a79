"""`booleans` and `word-count`: right outputs with and without time, and time where it is said."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.shape import MODES, STREAMING, Shape
from benchmarks.programs import booleans, word_count
from penstock.common import Configuration
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.program.channel import SINK_LEVEL, ChannelTime
from penstock.testing import run_in_process

CASES = [(module, system) for module in (booleans, word_count) for system in module.PROGRAM.systems]


def built(module, system):
    shape = Shape(180, 0, 1, 2, system.mode, {booleans.HOPS: 3})
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": 2, **MODES[system.mode], **system.options})
    )
    module.build(env, shape).sink_to(DiscardingSink())
    return shape, env


@pytest.mark.parametrize(
    ("module", "system"), CASES, ids=[f"{m.PROGRAM.name}-{s.name}" for m, s in CASES]
)
def test_outputs_are_the_expected_ones(module, system):
    shape, env = built(module, system)
    rows = np.array(run_in_process(env).of(0), dtype=np.int64)
    columns = rows.reshape(len(rows), -1).T
    if module is word_count and system.mode == STREAMING:
        columns = columns[:, word_count.is_output(shape, columns)]
    outputs = module.expected(shape)
    assert columns.shape[1] == outputs.count
    assert as_text(digest_of(*columns)) == outputs.digest


def times(module, name):
    system = next(s for s in module.PROGRAM.systems if s.name == name)
    plan = built(module, system)[1].plan()
    return {channel.time for channel in plan.channels if channel.target_level != SINK_LEVEL}


def test_time_travels_where_the_name_says():
    assert times(booleans, "penstock streaming on") == {ChannelTime.FULL}
    assert times(booleans, "penstock streaming off") == {ChannelTime.NONE}
    assert times(booleans, "penstock streaming planned") == {ChannelTime.WATERMARKS}
    assert times(word_count, "penstock streaming on") == {ChannelTime.FULL}
    assert times(word_count, "penstock streaming off") == {ChannelTime.WATERMARKS}


def test_the_verse_has_35_lines():
    assert len(word_count.LINES) == 35
    assert word_count.tokens("To be, or--not!") == [("to", 1), ("be", 1), ("or", 1), ("not", 1)]
