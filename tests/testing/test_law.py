"""The law: where and when an operator is called never changes the answer.

Differential tests compare modes, parallelism, micro-batches and accidents with each other and
find state that is lost, doubled or misplaced. The oracle is plain Python without operators,
frames or key groups; it finds what all modes get wrong together.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastream import RuntimeExecutionMode
from penstock.testing import Schedule, difference, last_per_key, run_in_process
from tests.testing.programs import (
    SINKS,
    STEPS,
    UPDATING,
    Program,
    build,
    configuration,
    expected,
)
from tests.testing.strategies import in_time, records
from tests.testing.strategies import programs as programs_with

BATCH, STREAMING = RuntimeExecutionMode.BATCH, RuntimeExecutionMode.STREAMING
MODES = [(BATCH, False), (STREAMING, False), (STREAMING, True)]

programs = programs_with(max_sinks=3)

schedules = st.builds(
    Schedule,
    tasks=st.one_of(st.none(), st.integers(1, 4)),
    batch_sizes=st.lists(st.integers(0, 15), min_size=1, max_size=4).filter(any).map(tuple),
    frame_records=st.sampled_from([1, 2, 5, 4096]),
    restart_every=st.one_of(st.none(), st.integers(1, 4)),
    workers=st.integers(1, 3),
    fail_every=st.one_of(st.none(), st.integers(1, 3)),
    compact_bytes=st.sampled_from([1, 300, 1 << 20]),
    backend=st.sampled_from(["hashmap", "hashmap", "lmdb"]),
)


def answers(program, results):
    """Return the answer of each sink: of rolling results the last one per key."""
    return {
        sink: last_per_key(results.of(sink), lambda record: record[0])
        if sink in UPDATING
        else results.of(sink)
        for sink in program.sinks
    }


def check(program, found, cut, schedule, options):
    env = build(program, found, cut, options)
    results = run_in_process(env, schedule)
    wanted = expected(program, found)
    for sink, answer in answers(program, results).items():
        assert difference(answer, wanted[sink]) is None, (
            f"{sink}: {difference(answer, wanted[sink])}"
        )
    return results


@pytest.mark.parametrize(("mode", "backlog"), MODES)
@settings(max_examples=60)
@given(
    program=programs,
    found=st.one_of(records, in_time),
    cut=st.integers(0, 40),
    schedule=schedules,
    parallelism=st.integers(1, 3),
    chaining=st.booleans(),
)
def test_answer_is_that_of_the_replay(
    *, mode, backlog, program, found, cut, schedule, parallelism, chaining
):
    options = configuration(mode, parallelism, backlog=backlog, chaining=chaining)
    check(program, found, cut, schedule, options)


@pytest.mark.parametrize("sink", sorted(SINKS))
@settings(max_examples=15)
@given(
    steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=2).map(tuple),
    found=in_time,
    cut=st.integers(0, 40),
    schedule=schedules,
    parallelism=st.integers(1, 3),
)
def test_all_modes_give_one_answer(sink, steps, found, cut, schedule, parallelism):
    program = Program(steps, (sink,))
    if sink == "alarms" and not program.keeps_order:
        program = Program((), (sink,))
    got = [
        answers(
            program,
            run_in_process(
                build(program, found, cut, configuration(mode, parallelism, backlog=backlog)),
                schedule,
            ),
        )[sink]
        for mode, backlog in MODES
    ]
    assert difference(got[0], got[1]) is None
    assert difference(got[1], got[2]) is None


@pytest.mark.parametrize(("mode", "backlog"), MODES)
@settings(max_examples=25)
@given(
    program=programs.filter(lambda program: "alarms" not in program.sinks),
    found=in_time,
    cut=st.integers(0, 40),
    schedule=schedules,
    splits=st.integers(2, 4),
)
def test_splits_read_side_by_side_do_not_matter(
    *, mode, backlog, program, found, cut, schedule, splits
):
    # Each split is in order of time, the splits among each other are not.
    env = build(program, found, cut, configuration(mode, 2, backlog=backlog), splits)
    wanted = expected(program, found)
    for sink, answer in answers(program, run_in_process(env, schedule)).items():
        assert difference(answer, wanted[sink]) is None, sink


@given(found=records, cut=st.integers(0, 40), schedule=schedules)
def test_rolling_results_are_one_per_record_but_in_batch_mode(found, cut, schedule):
    program = Program((), ("sum",))
    counts = {}
    for mode, backlog in MODES:
        env = build(program, found, cut, configuration(mode, 2, backlog=backlog))
        counts[mode, backlog] = len(run_in_process(env, schedule).of("sum"))
    assert counts[STREAMING, False] == counts[STREAMING, True] == len(found)
    assert counts[BATCH, False] == len({record[0] for record in found})


@given(found=records, cut=st.integers(0, 40), schedule=schedules)
def test_every_record_is_counted_once(found, cut, schedule):
    program = Program((), ("sum",))
    for mode, backlog in MODES:
        env = build(program, found, cut, configuration(mode, 2, backlog=backlog))
        report = run_in_process(env, schedule).report
        assert report.records_read == len(found)
        sums = [n for uid, n in report.operator_records.items() if uid.startswith("sum-")]
        assert sum(sums) == len(found)


@pytest.mark.parametrize("backlog", [False, True])
@settings(max_examples=30)
@given(
    program=programs,
    found=st.one_of(records, in_time),
    cut=st.integers(0, 40),
    sizes=st.lists(st.integers(0, 8), min_size=1, max_size=4).filter(any).map(tuple),
    accidents=schedules,
)
def test_accidents_do_not_even_delay_a_result(backlog, program, found, cut, sizes, accidents):
    def commits(schedule):
        env = build(program, found, cut, configuration(STREAMING, 2, backlog=backlog))
        results = run_in_process(env, schedule)
        return [
            (number, sink, sorted(results.of(sink)[start:end]))
            for at, sink in enumerate(program.sinks)
            for number, (start, end) in enumerate(
                pairwise([0, *(counts[at] for counts in results.commits)])
            )
        ]

    disturbed = replace(accidents, batch_sizes=sizes)
    quiet = Schedule(disturbed.tasks, sizes, disturbed.frame_records)
    assert commits(disturbed) == commits(quiet)
