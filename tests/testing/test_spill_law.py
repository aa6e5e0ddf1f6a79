"""The law with hardly any memory: spilling never changes the answer.

Random programs, as in `test_law`, against the oracle, with key groups that are spilled at every
level; the metrics say that they were.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastream import RuntimeExecutionMode
from penstock.runtime.spill.spill_space import SPILLED_BYTES
from penstock.testing import Schedule
from tests.testing.programs import SINKS, Program, configuration
from tests.testing.strategies import in_time, programs, records
from tests.testing.test_law import check

TWO_LEVELS = {"twice", "twice_late", "sum_then_max", "windows_of_windows"}
BATCH, STREAMING = RuntimeExecutionMode.BATCH, RuntimeExecutionMode.STREAMING


@pytest.mark.parametrize(("mode", "backlog"), [(BATCH, False), (STREAMING, True)])
@settings(max_examples=40)
@given(
    program=programs(max_sinks=3),
    found=st.one_of(records, in_time),
    cut=st.integers(0, 40),
    memory=st.sampled_from(["1", "1kb", "10kb"]),
    frames=st.sampled_from([1, 5, 4096]),
    key_groups=st.sampled_from([2, 128]),
)
def test_answer_is_that_of_the_replay(
    *, mode, backlog, program, found, cut, memory, frames, key_groups
):
    options = configuration(mode, 2, backlog=backlog)
    options.set("execution.sorted-inputs.memory", memory)
    options.set("pipeline.max-parallelism", key_groups)
    check(program, found, cut, Schedule(frame_records=frames, batch_sizes=(5,)), options)


@pytest.mark.parametrize("sink", sorted(set(SINKS) - {"all"}))
def test_every_keyed_level_spills(sink):
    found = [(n % 5, n // 3, 1 + n % 7, n) for n in range(60)]
    options = configuration(BATCH, 2, backlog=False)
    options.set("execution.sorted-inputs.memory", "1")
    results = check(Program(("map",), (sink,)), found, 0, Schedule(), options)
    spilled = {name for name in results.report.metrics if name.endswith(SPILLED_BYTES)}
    assert len(spilled) == (2 if sink in TWO_LEVELS else 1)
