"""A task of a batch run that is done again writes the same bytes.

Spark compares checksums of what an exchange carries. If they differ, more than what was lost is
computed again (`penstock.spark.driver.lost_output`).
"""

from __future__ import annotations

import pytest

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.testing import Schedule
from penstock.testing.batch_run import level_outputs
from tests.conformance.catalog import PROGRAMS
from tests.conformance.test_programs import MODULES

assert MODULES  # each has put its programs into the catalogue
BATCHES = [program for program in PROGRAMS if "BATCH" in program.answers]


@pytest.mark.parametrize("program", BATCHES, ids=lambda program: program.name)
def test_every_level_writes_the_same_bytes_again(program):
    env = program.environment("BATCH")
    program.build(env).sink_to(DiscardingSink()).name("answer")
    plan = env.plan()
    run = plan.runs[0]
    times: list[dict[str, int]] = []

    def attempt():
        programs = programs_of(
            plan, run, tasks=2, max_frame_records=3, handed=HandOver(), job_parameters={}
        )
        return list(level_outputs(plan, run, programs, Schedule(frame_records=3), times.append))

    assert attempt() == attempt()
    assert all(times)
