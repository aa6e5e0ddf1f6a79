"""The law for functions that keep and change records: the same answer, however it is run.

The replay deep-copies wherever Flink would; it shares neither copiers nor planner with what is
tested, so it finds a copy that is missing, one that comes too late, and one that is not deep
enough. What it cannot see is a copy too many: `tests/plan/test_copies.py` looks at plans.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastream import RuntimeExecutionMode
from penstock.testing import Schedule, run_in_process
from tests.testing.mutating_programs import (
    SINKS,
    STEPS,
    MutatingProgram,
    build,
    expected,
)
from tests.testing.programs import configuration

BATCH, STREAMING = RuntimeExecutionMode.BATCH, RuntimeExecutionMode.STREAMING
MODES = [(BATCH, False), (STREAMING, False), (STREAMING, True)]

records = st.lists(
    st.builds(lambda k, n: {"k": k, "n": n, "tags": [n]}, st.integers(0, 2), st.integers(0, 9)),
    max_size=12,
)
programs = st.builds(
    MutatingProgram,
    steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=3).map(tuple),
    sinks=st.lists(st.sampled_from(sorted(SINKS)), min_size=1, max_size=3, unique=True).map(tuple),
)
schedules = st.builds(
    Schedule,
    tasks=st.one_of(st.none(), st.integers(1, 3)),
    batch_sizes=st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple),
    frame_records=st.sampled_from([1, 2, 5, 4096]),
    restart_every=st.one_of(st.none(), st.integers(1, 3)),
    fail_every=st.one_of(st.none(), st.integers(1, 3)),
    backend=st.sampled_from(["hashmap", "hashmap", "lmdb"]),
)


def of_totals(found):
    """Return the last total of each key, with tags in any order."""
    last: dict[int, dict[str, Any]] = defaultdict(dict)
    for record in found:
        if record["n"] >= last[record["k"]].get("n", -1):
            last[record["k"]] = record
    return sorted((k, r["n"], sorted(map(str, r["tags"]))) for k, r in last.items())


def of_any(found):
    return sorted((r["k"], r["n"], str(r["tags"])) for r in found)


@pytest.mark.parametrize(("mode", "backlog"), MODES)
@settings(max_examples=50, deadline=None)
@given(
    program=programs,
    found=records,
    schedule=schedules,
    parallelism=st.integers(1, 3),
    chaining=st.booleans(),
)
def test_functions_that_change_records_see_only_their_own(
    *, mode, backlog, program, found, schedule, parallelism, chaining
):
    made = configuration(mode, parallelism, backlog=backlog, chaining=chaining)
    results = run_in_process(build(program, found, made), schedule)
    wanted = expected(program, found)
    for sink in program.sinks:
        got, should = results.of(sink), wanted[sink]
        if sink == "totals":
            assert of_totals(got) == of_totals(should)
        else:
            assert of_any(got) == of_any(should)


@pytest.mark.parametrize("step", sorted(STEPS))
@pytest.mark.parametrize("chaining", [True, False])
def test_every_step_alone(step, chaining):
    found = [{"k": n % 2, "n": n, "tags": [n]} for n in range(6)]
    program = MutatingProgram((step, "bump"), ("bumped",))
    made = configuration(STREAMING, 2, backlog=False, chaining=chaining)
    got = run_in_process(build(program, found, made)).of("bumped")
    assert of_any(got) == of_any(expected(program, found)["bumped"])


def test_a_collection_is_not_changed_by_those_who_read_it():
    found = [{"k": 0, "n": n, "tags": []} for n in range(3)]
    env = build(MutatingProgram(("bump",), ("all",)), found, configuration(BATCH, 1, backlog=False))
    plan = env.plan()
    assert run_in_process(plan).of("all") == run_in_process(plan).of("all")
