"""The law with hardly any memory: spilling never changes the answer.

Random programs, as in `test_law`, against their replay, with key groups that are spilled at every
level; the metrics have the spilled bytes.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.spill.spill_space import SPILLED_BYTES
from penstock.testing import Way, WayMode
from tests.testing.programs import SINKS, Program
from tests.testing.strategies import in_time, programs, records, ways_of
from tests.testing.test_law import checked, require_replay

TWO_LEVELS = {"twice", "twice_late", "sum_then_max", "windows_of_windows"}


@pytest.mark.parametrize("mode", [WayMode.BATCH, WayMode.MIXED])
@settings(max_examples=40)
@given(program=programs(max_sinks=3), found=st.one_of(records, in_time), data=st.data())
def test_answer_is_that_of_the_replay(mode, program, found, data):
    way = data.draw(
        ways_of(
            mode,
            parallelism=2,
            memory=st.sampled_from(["1", "1kb", "10kb"]),
            key_groups=st.sampled_from([2, 128]),
        )
    )
    require_replay(program, found, way)


@pytest.mark.parametrize("sink", sorted(set(SINKS) - {"all"}))
def test_every_keyed_level_spills(sink):
    found = [(n % 5, n // 3, 1 + n % 7, n) for n in range(60)]
    program, way = Program(("map",), (sink,)), Way(parallelism=2, memory="1")
    require_replay(program, found, way)
    made, inputs = checked(program, found)
    report = made.results(inputs, way).report
    spilled = {name for name in report.metrics if name.endswith(SPILLED_BYTES)}
    assert len(spilled) == (2 if sink in TWO_LEVELS else 1)


@pytest.mark.parametrize("sinks", [("count", "max_by"), ("max_by", "count"), ("count", "sum")])
@pytest.mark.parametrize("records", [1, 60])
def test_an_aggregate_beside_an_operator_that_spills_keeps_its_results(sinks, records):
    found = [(n % 5, n // 3, 1 + n % 7, n) for n in range(records)]
    program = Program((), sinks, is_timed=False)
    require_replay(program, found, Way(parallelism=2, memory="1"))
