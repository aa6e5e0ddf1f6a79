"""The law: where and when an operator is called never changes the answer.

Ways are compared with each other, which finds state that is lost, doubled or misplaced, and with a replay in plain Python without
operators, frames or key groups, which finds what all ways get wrong together.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.testing import Way, WayMode
from tests.testing.laws import inputs_of, program_of, replayed, require_same, run
from tests.testing.programs import RULES, SINKS, STEPS, Program, build, expected, samples
from tests.testing.strategies import in_time, programs, records, ways_of

STREAMING, MIXED = WayMode.STREAMING, WayMode.MIXED


def checked(program, found, splits=1):
    """Return a program and its inputs."""
    made = program_of(build(program, found), RULES)
    return made, inputs_of(made, samples(found, splits))


def require_replay(program, found, way, splits=1):
    made, inputs = checked(program, found, splits)
    require_same(made, replayed(made, expected(program, found)), run(made, inputs, way))


@pytest.mark.parametrize("mode", WayMode)
@settings(max_examples=60)
@given(program=programs(max_sinks=3), found=st.one_of(records, in_time), data=st.data())
def test_answer_is_that_of_the_replay(mode, program, found, data):
    require_replay(program, found, data.draw(ways_of(mode)))


@pytest.mark.parametrize("sink", sorted(SINKS))
@settings(max_examples=15)
@given(
    steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=2).map(tuple),
    found=in_time,
    way=ways_of(MIXED),
)
def test_all_modes_give_one_answer(sink, steps, found, way):
    program = Program(steps, (sink,))
    if sink == "alarms" and not program.keeps_order:
        program = Program((), (sink,))
    made, inputs = checked(program, found)
    require_same(made, *(run(made, inputs, replace(way, mode=mode)) for mode in WayMode))


@pytest.mark.parametrize("mode", WayMode)
@settings(max_examples=25)
@given(
    program=programs(max_sinks=3).filter(lambda program: "alarms" not in program.sinks),
    found=in_time,
    splits=st.integers(2, 4),
    data=st.data(),
)
def test_splits_read_side_by_side_do_not_matter(mode, program, found, splits, data):
    # Each split is in order of time, the splits among each other are not.
    require_replay(program, found, data.draw(ways_of(mode)), splits)


@given(found=records, way=ways_of(MIXED, parallelism=2))
def test_rolling_results_are_one_per_record_but_in_batch_mode(found, way):
    made, inputs = checked(Program((), ("sum",)), found)
    batch, streaming, mixed = (
        len(made.results(inputs, replace(way, mode=mode)).of("sum")) for mode in WayMode
    )
    assert streaming == mixed == len(found)
    assert batch == len({record[0] for record in found})


@given(found=records, way=ways_of(MIXED, parallelism=2))
def test_every_record_is_counted_once(found, way):
    made, inputs = checked(Program((), ("sum",)), found)
    for mode in WayMode:
        report = made.results(inputs, replace(way, mode=mode)).report
        assert report.records_read == len(found)
        sums = [n for uid, n in report.operator_records.items() if uid.startswith("sum-")]
        assert sum(sums) == len(found)


ACCIDENTS = ("restart_every", "fail_every", "points", "workers", "compact_bytes", "backend")


@pytest.mark.parametrize("mode", [STREAMING, MIXED])
@settings(max_examples=30)
@given(program=programs(max_sinks=3), found=st.one_of(records, in_time), data=st.data())
def test_accidents_do_not_even_delay_a_result(mode, program, found, data):
    made, inputs = checked(program, found)

    def commits(way):
        results = made.results(inputs, way)
        return [
            (number, sink, sorted(results.of(sink)[start:end]))
            for at, sink in enumerate(program.sinks)
            for number, (start, end) in enumerate(
                pairwise([0, *(counts[at] for counts in results.commits)])
            )
        ]

    disturbed = data.draw(ways_of(mode, parallelism=2))
    quiet = replace(disturbed, **{name: getattr(Way(), name) for name in ACCIDENTS})
    assert commits(disturbed) == commits(quiet)
