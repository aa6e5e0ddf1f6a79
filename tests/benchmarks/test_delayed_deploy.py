"""`delayed-deploy`: live records find the complete sums, in every mode that has a live run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.catalog import PROGRAMS
from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs
from benchmarks.model.shape import MIXED, MODES, STREAMING, Shape
from benchmarks.programs import delayed_deploy
from benchmarks.systems.digest_sink import DigestSink
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import Schedule, run_in_process


def shape_of(records, percent, keys, parallelism, mode):
    return Shape(records, 0, keys, parallelism, mode, {delayed_deploy.STREAM_PERCENT: percent})


@pytest.mark.parametrize(
    "program",
    [
        (STREAMING, delayed_deploy.build, ["bounded", "results", "live"]),
        (MIXED, delayed_deploy.build, ["bounded", "results", "live"]),
        (STREAMING, delayed_deploy.build_uncut, ["live"]),
    ],
    ids=["streaming", "mixed", "uncut"],
)
@settings(max_examples=10, deadline=None)
@given(
    records=st.integers(0, 60),
    percent=st.integers(1, 120),
    keys=st.integers(1, 12),
    parallelism=st.integers(1, 3),
    size=st.integers(1, 40),
)
def test_outputs_are_those_expected(program, records, percent, keys, parallelism, size):
    mode, build, runs = program
    shape = shape_of(records, percent, keys, parallelism, mode)
    conf = Configuration.from_dict(MODES[mode]).set("parallelism.default", parallelism)
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    build(env, shape).sink_to(DigestSink("flag", "results")).name("out")
    assert [run.name for run in env.plan().runs] == runs
    rows = run_in_process(env, Schedule(batch_sizes=(size,))).of("out")
    columns = np.array(rows, dtype=np.int64).T
    found = Outputs(columns.shape[1], as_text(digest_of(*columns)))
    assert found == delayed_deploy.expected(shape)


def test_expected_outputs_depend_on_history_and_stream():
    shapes = [shape_of(*sizes, 5, 2, MIXED) for sizes in ((50, 20), (51, 20), (50, 22))]
    assert len({delayed_deploy.expected(shape).digest for shape in shapes}) == 3


def test_it_counts_no_records_that_it_does_not_read():
    program = PROGRAMS["delayed-deploy"]
    assert program.options["live-records"] == 0
    assert program.keys_of is not None
    assert program.keys_of(10**7) == program.keys_of(4 * 10**7), "its state does not grow"
