"""A job right behind its switch: the state history gave, and one live subtask with a moved clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.datastream import StreamExecutionEnvironment
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.program.channel import SINK_LEVEL
from penstock.runtime.exchange.channel_writer import ChannelWriter, FrameSequence
from penstock.runtime.task.live_subtask import LiveSubtask
from penstock.runtime.task.report import decode_report
from penstock.state.backends.base import KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.testing import Schedule
from penstock.testing.batch_run import run_batch
from penstock.testing.live_run import MemoryLog
from penstock.testing.results import InProcessSinkStage, Results
from penstock.testing.schedule import AttemptFailed
from penstock.wire import user_code
from penstock.wire.frame import FrameKind, decode_records, read_header


class Switched:
    """Runs the history of a plan with one level and one subtask, then micro-batches by hand.

    Attributes:
        history: What the batch run gave.
        state: The blobs it handed over.
        log: The change log; empty until the first commit.
        now: The wall clock of the live run.
    """

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        make_backend: Callable[[], KeyedStateBackend] = HashBackend,
        history_clock: Callable[[], int] = lambda: 1000,
    ) -> None:
        self._make_backend = make_backend
        plan = env.plan()
        batch, live = plan.runs

        def programs(run, handed):
            return programs_of(
                plan, run, tasks=1, max_frame_records=9, handed=handed, job_parameters={}
            )

        results = Results(tuple(s.name for s in plan.sinks), tuple([] for _ in plan.sinks))
        sinks = {c.id: c.target_operator for c in plan.channels if c.target_level == SINK_LEVEL}
        stage = InProcessSinkStage(results, sinks, [sink.uid for sink in plan.sinks])
        before = programs(batch, HandOver())
        run_batch(plan, batch, before, Schedule(), stage, now_ms=history_clock)
        self.history = results.of()
        self.state = stage.state
        handed = HandOver(stage.report.watermarks, stage.report.memory)
        self._programs = programs(live, handed)
        self.log = MemoryLog()
        self.now = 1000
        self.start_driver()

    def start_driver(self) -> None:
        """Go on in a new worker, as after the death of everything but the checkpoint."""
        program = user_code.dump(self._programs[1])
        self._subtask = LiveSubtask(
            program, 0, make_backend=self._make_backend, now_ms=lambda: self.now
        )

    def fail(self, *records: object) -> None:
        """Run a micro-batch that is never committed."""
        try:
            with self.log.attempt():
                self._process(records)
                raise AttemptFailed
        except AttemptFailed:
            self.start_driver()

    def commit(self, *records: object) -> tuple[list[Any], int | None]:
        """Run a micro-batch; return its results and when the next one is wanted."""
        with self.log.attempt():
            return self._process(records)

    def _process(self, records: tuple[object, ...]) -> tuple[list[Any], int | None]:
        if self.log.is_new():
            LiveSubtask.seed(self.log, self.state)
        results, wanted = [], None
        for _, frame in self._subtask.process(self._frames(records), self.log):
            header = read_header(frame)
            if header.kind is FrameKind.RECORDS:
                results += decode_records(header, frame)[0]
            elif header.kind is FrameKind.REPORT:
                wanted = decode_report(frame).next_calls[1, 0]
        return results, wanted

    def _frames(self, records: tuple[object, ...]) -> list[bytes]:
        frames: list[bytes] = []
        writer = ChannelWriter(
            self._programs[0].outputs[0],
            self._programs[0].settings,
            FrameSequence(0),
            lambda _, frame: frames.append(frame),
        )
        if records:
            writer.collect(list(records), None)
        writer.flush()
        return frames
