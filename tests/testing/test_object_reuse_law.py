"""The law for functions that keep and change records: the same answer, however it is run.

The replay deep-copies wherever Flink would; it shares neither copiers nor planner with what is
tested, so it finds a copy that is missing, one that comes too late, and one that is not deep
enough. What it cannot see is a copy too many: `tests/plan/test_copies.py` looks at plans.
"""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.testing import Way, WayMode
from tests.testing.laws import inputs_of, program_of, replayed, require_same, run, sample_of
from tests.testing.mutating_programs import (
    RULES,
    SINKS,
    STEPS,
    MutatingProgram,
    build,
    expected,
)
from tests.testing.strategies import ways_of

records = st.lists(
    st.builds(lambda k, n: {"k": k, "n": n, "tags": [n]}, st.integers(0, 2), st.integers(0, 9)),
    max_size=12,
)
programs = st.builds(
    MutatingProgram,
    steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=3).map(tuple),
    sinks=st.lists(st.sampled_from(sorted(SINKS)), min_size=1, max_size=3, unique=True).map(tuple),
)


def require_replay(program, found, *ways):
    made = program_of(build(program), RULES)
    inputs = inputs_of(made, {"records": sample_of(copy.deepcopy(found))})
    require_same(
        made, replayed(made, expected(program, found)), *(run(made, inputs, w) for w in ways)
    )


@pytest.mark.parametrize("mode", WayMode)
@settings(max_examples=50, deadline=None)
@given(program=programs, found=records, data=st.data())
def test_functions_that_change_records_see_only_their_own(mode, program, found, data):
    require_replay(program, found, data.draw(ways_of(mode, object_reuse=False)))


@pytest.mark.parametrize("step", sorted(STEPS))
@pytest.mark.parametrize("chaining", [True, False])
def test_every_step_alone(step, chaining):
    found = [{"k": n % 2, "n": n, "tags": [n]} for n in range(6)]
    way = Way(WayMode.STREAMING, parallelism=2, chaining=chaining)
    require_replay(MutatingProgram((step, "bump"), ("bumped",)), found, way)


def test_a_collection_is_not_changed_by_those_who_read_it():
    found = [{"k": 0, "n": n, "tags": []} for n in range(3)]
    require_replay(MutatingProgram(("bump",), ("all",)), found, Way(), Way())
