"""One micro-batch of one subtask: which copy is used, what is written, what is dropped."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

import pytest

from penstock.datastream import MapFunction, ValueStateDescriptor, WatermarkStrategy
from penstock.errors import StateError, StateMigrationError, UserFunctionError
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.program.channel import SINK_LEVEL
from penstock.runtime.exchange.channel_writer import ChannelWriter, FrameSequence
from penstock.runtime.task.live_subtask import LiveSubtask
from penstock.runtime.task.report import decode_report
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.log.change_log import ChangeLog
from penstock.testing.live_run import MemoryLog
from penstock.testing.schedule import AttemptFailed, Steps
from penstock.wire import user_code
from penstock.wire.elements import EndOfInput
from penstock.wire.frame import FrameKind, decode_records, payload_of, read_header
from tests.runtime.jobs import STREAMING, history_then_live, job


class Count(MapFunction):
    """Counts per key; fails once after it changed state, if asked."""

    opened: ClassVar[int] = 0
    closed: ClassVar[int] = 0
    fail_on: ClassVar[object] = None

    def open(self, runtime_context):
        Count.opened += 1
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def close(self):
        Count.closed += 1

    def map(self, value):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if value == Count.fail_on:
            Count.fail_on = None
            raise ValueError(value)
        return (value, count)


@pytest.fixture(autouse=True)
def _fresh_counters():
    Count.opened = Count.closed = 0
    Count.fail_on = None


@pytest.fixture
def program():
    env = job(
        STREAMING,
        history_then_live(["a"], ["b"]),
        lambda s: s.key_by(lambda v: v).map(Count()).uid("count"),
        parallelism=1,
        strategy=WatermarkStrategy.no_watermarks(),
    )
    plan = env.plan()
    return programs_of(
        plan, plan.runs[-1], tasks=1, max_frame_records=10, handed=HandOver(), job_parameters={}
    )


@pytest.fixture
def subtask(program):
    return LiveSubtask(user_code.dump(program[1]), 0)


@pytest.fixture
def other(program):
    return LiveSubtask(user_code.dump(program[1]), 0)


@pytest.fixture
def frames(program):
    def make(values=(), control=()):
        made = []
        writer = ChannelWriter(
            program[0].outputs[0],
            program[0].settings,
            FrameSequence(0),
            lambda _, frame: made.append(frame),
        )
        if values:
            writer.collect(list(values), None)
        writer.flush()
        for element in control:
            writer.send_control((element,))
        return made

    return make


def run(subtask, frames, log, snapshots=(), initial=()):
    """Process one micro-batch to its end, as Spark does."""
    if initial and log.is_new():
        LiveSubtask.seed(log, initial)
    return list(subtask.process(frames, log, snapshots))


def records(out):
    return [
        record
        for _, frame in out
        if read_header(frame).kind is FrameKind.RECORDS
        for record in decode_records(read_header(frame), frame)[0]
    ]


def counted_keys(out):
    """Return the keys of each operator that a subtask reports."""
    (report,) = (
        decode_report(frame) for _, frame in out if read_header(frame).kind is FrameKind.REPORT
    )
    return report.state_keys


def test_keys_are_counted_in_each_micro_batch_that_changes_them(subtask, frames):
    log = MemoryLog()
    counted = [counted_keys(run(subtask, frames(values), log)) for values in ("a", "bc", "")]
    assert counted == [{"count": {0: 1}}, {"count": {0: 3}}, {}]


def test_keys_that_no_record_has_read_since_the_start_are_unknown(subtask, other, frames):
    log = MemoryLog()
    run(subtask, frames("abc"), log)
    counted = [counted_keys(run(other, frames(values), log)) for values in ("", "a", "bc")]
    assert counted == [{"count": {0: None}}, {"count": {0: None}}, {"count": {0: 3}}]


def test_a_copy_is_kept_between_micro_batches(subtask, frames):
    log = MemoryLog()
    assert records(run(subtask, frames("aa"), log)) == [("a", 1), ("a", 2)]
    assert records(run(subtask, frames("a"), log)) == [("a", 3)]
    assert Count.opened == 1


def test_another_worker_rebuilds_from_the_log(subtask, other, frames):
    log = MemoryLog()
    run(subtask, frames("aab"), log)
    assert records(run(other, frames("ab"), log)) == [("a", 3), ("b", 2)]


def test_a_copy_that_is_behind_catches_up_without_a_new_level(subtask, other, frames):
    log = MemoryLog()
    for number in range(1, 7):
        worker = (subtask, other)[number % 2]
        assert records(run(worker, frames("a"), log)) == [("a", number)]
    assert Count.opened == 2


def test_a_copy_that_is_too_far_behind_is_rebuilt(subtask, other, frames):
    log = MemoryLog()
    run(subtask, frames("a"), log)
    for _ in range(12):
        run(other, frames("a"), log)
    assert records(run(subtask, frames("a"), log)) == [("a", 14)]
    assert (Count.opened, Count.closed) == (3, 1)


def test_a_copy_older_than_the_snapshot_is_rebuilt(program, subtask, frames):
    compacting = LiveSubtask(user_code.dump(program[1]), 0, min_compact_bytes=1)
    log = MemoryLog()
    run(subtask, frames("ab"), log)
    for _ in range(6):
        run(compacting, frames("a"), log)
    assert ChangeLog(log).head.first > 0
    assert records(run(subtask, frames("ab"), log)) == [("a", 8), ("b", 2)]


def test_an_attempt_whose_write_failed_leaves_nothing(subtask, frames):
    log = MemoryLog()
    run(subtask, frames("a"), log)
    with pytest.raises(AttemptFailed), log.attempt(Steps(0)):
        run(subtask, frames("a"), log)
    assert Count.closed == 1
    assert records(run(subtask, frames("a"), log)) == [("a", 2)]


def test_an_attempt_that_was_not_committed_leaves_nothing(subtask, frames):
    log = MemoryLog()
    run(subtask, frames("a"), log)
    with suppress(AttemptFailed), log.attempt():
        run(subtask, frames("a"), log)
        raise AttemptFailed
    assert records(run(subtask, frames("a"), log)) == [("a", 2)]


def test_a_function_that_failed_half_way_leaves_nothing(subtask, frames):
    log = MemoryLog()
    run(subtask, frames("a"), log)
    Count.fail_on = "b"
    with pytest.raises(UserFunctionError), log.attempt():
        run(subtask, frames("aab"), log)
    assert records(run(subtask, frames("aab"), log)) == [("a", 2), ("a", 3), ("b", 1)]


def test_nothing_is_written_if_nothing_changed(subtask, frames):
    log = MemoryLog()
    run(subtask, frames("a"), log)
    before = ChangeLog(log).position()
    run(subtask, frames(), log)
    assert ChangeLog(log).position() == before
    run(subtask, frames(control=[EndOfInput(0)]), log)
    assert ChangeLog(log).position() != before


def test_initial_state_is_used_once(program, subtask, frames):
    log = MemoryLog()
    out = run(subtask, frames("aab"), log, ["handover"])
    blobs = [payload_of(f) for _, f in out if read_header(f).kind is FrameKind.STATE]
    assert all(
        read_header(f).channel == 1 and read_header(f).target_level == SINK_LEVEL
        for _, f in out
        if read_header(f).kind is FrameKind.STATE
    )
    next_log = MemoryLog()
    following = LiveSubtask(user_code.dump(program[1]), 0)
    assert records(run(following, frames("a"), next_log, initial=blobs)) == [("a", 3)]
    assert records(run(following, frames("a"), next_log, initial=blobs)) == [("a", 4)]
    again = LiveSubtask(user_code.dump(program[1]), 0)
    assert records(run(again, frames("ab"), next_log, initial=blobs)) == [("a", 5), ("b", 2)]


def test_initial_state_survives_a_first_attempt_that_failed(program, subtask, frames):
    out = run(subtask, frames("aab"), MemoryLog(), ["handover"])
    blobs = [payload_of(f) for _, f in out if read_header(f).kind is FrameKind.STATE]
    log, following = MemoryLog(), LiveSubtask(user_code.dump(program[1]), 0)
    with pytest.raises(AttemptFailed), log.attempt(Steps(0)):
        run(following, frames("a"), log, initial=blobs)
    assert records(run(following, frames("a"), log, initial=blobs)) == [("a", 3)]


def test_the_report_of_a_hand_over_has_the_watermarks(subtask, frames):
    out = run(subtask, frames("a", control=[EndOfInput(0)]), MemoryLog(), ["handover"])
    reports = [decode_report(f) for _, f in out if read_header(f).kind is FrameKind.REPORT]
    assert [report.watermarks for report in reports] == [{}, {0: {0: 2**63 - 1}}]
    assert [report.operator_records for report in reports] == [{"count": 1}, {}]


def test_two_subtasks_of_a_process_share_no_function(program, frames):
    data = user_code.dump(program[1])
    logs = MemoryLog(), MemoryLog()
    subtasks = LiveSubtask(data, 0), LiveSubtask(data, 0)
    for number in (1, 2, 3):
        for subtask, log in zip(subtasks, logs, strict=True):
            assert records(run(subtask, frames("a"), log)) == [("a", number)]


def test_a_closed_subtask_can_be_used_again(subtask, frames):
    log = MemoryLog()
    run(subtask, frames("a"), log)
    subtask.close()
    subtask.close()
    assert (Count.opened, Count.closed) == (1, 1)
    assert records(run(subtask, frames("a"), log)) == [("a", 2)]


def test_a_damaged_log_is_refused(program, subtask, frames):
    log = MemoryLog()
    run(subtask, frames("a"), log)
    log._entries[0] = log._entries[0][:-1] + b"?"
    with pytest.raises(StateError, match="checksum"):
        run(LiveSubtask(user_code.dump(program[1]), 0), frames("a"), log)


def test_another_program_with_keys_of_another_kind_is_refused_over_the_log(
    program, subtask, frames
):
    log = MemoryLog()
    run(subtask, frames("a"), log)
    (spec,) = program[1].operators
    settings = replace(program[1].settings, code=program[1].settings.code + 1)
    numbered = replace(spec, key_selectors=(lambda v: (v,),))
    changed = replace(program[1], operators=(numbered,), settings=settings)
    with pytest.raises(StateMigrationError, match=r"kind text .* kind tuple"):
        run(LiveSubtask(user_code.dump(changed), 0), frames("a"), log)
    longer = replace(spec, key_selectors=(lambda v: v + "x",))
    changed = replace(program[1], operators=(longer,), settings=settings)
    assert records(run(LiveSubtask(user_code.dump(changed), 0), frames("a"), log)) == [("a", 1)]


def test_functions_are_closed_although_the_backend_fails_to_close(program, frames):
    class Stuck(HashBackend):
        def close(self):
            super().close()
            raise OSError("stuck")

    subtask = LiveSubtask(user_code.dump(program[1]), 0, make_backend=Stuck)
    run(subtask, frames("a"), MemoryLog())
    with pytest.raises(OSError, match="stuck"):
        subtask.close()
    assert (Count.opened, Count.closed) == (1, 1)
