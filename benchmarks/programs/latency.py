"""`latency`: events of the clock into keyed counts, from event to sink; 1,000 a second by default."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.model.program import BenchProgram, BenchSystem, Case, Outputs, Workload
from benchmarks.model.shape import Shape
from benchmarks.systems.bounded import BoundedSpecification
from benchmarks.systems.flink_peers import pyflink_latency
from benchmarks.systems.latency_system import LEVELS, RATE, expected
from benchmarks.systems.launch import peer_script
from penstock.config.options import STATE_BACKEND
from penstock.config.run_options import SINGLE_TASK_WORK

EVENTS_PER_SECOND = 1000


@dataclass(frozen=True, slots=True)
class ClockWorkload(Workload):
    """A stretch of the clock per round, of any program over the clock.

    Attributes:
        program: Name of the program.
        case: The case; its records are those of a round.
    """

    program: str
    case: Case

    def specification(self, system: BenchSystem, work: Path) -> dict[str, Any]:
        """Return a `BoundedSpecification`; `records` are those of a round."""
        return BoundedSpecification(
            program=self.program,
            shape=self._shape(system).to_json(),
            work=str(work),
            options=dict(system.options),
            settings={} if system.is_peer else dict(self.case.settings),
        ).to_json()

    def expected(self, system: BenchSystem, rounds: int) -> Outputs:
        """Return every event of the last round once."""
        return expected(self._shape(system))

    def _shape(self, system: BenchSystem) -> Shape:
        case = self.case
        return Shape(case.records, 0, case.keys, case.parallelism, system.mode, dict(case.options))


PROGRAM: BenchProgram = BenchProgram(
    name="latency",
    summary="1,000 events a second into a keyed count: event to sink, p50 and p99 over 60 s",
    systems=(
        BenchSystem(
            name="penstock",
            command=peer_script("latency_penstock.py"),
            is_peer=False,
            options={STATE_BACKEND.key: STATE_BACKEND.default},
            note="`levels` keyed reduces; an event is out when the sink's committer is called.",
        ),
        BenchSystem(
            name="penstock stages",
            command=peer_script("latency_penstock.py"),
            is_peer=False,
            options={STATE_BACKEND.key: STATE_BACKEND.default, SINGLE_TASK_WORK.key: "0ms"},
            note="The same job with a stage per level in every epoch.",
            by_default=False,
        ),
        BenchSystem(
            name="penstock stream",
            command=peer_script("latency_penstock_stream.py"),
            is_peer=False,
            options={STATE_BACKEND.key: STATE_BACKEND.default},
            note="The same job over the source of `spark-empty`, as a streaming DataFrame.",
            by_default=False,
        ),
        BenchSystem(
            name="spark-empty",
            command=peer_script("latency_spark_empty.py"),
            is_peer=True,
            note="The same source straight into Spark's noop sink, same trigger (as soon as "
            "possible); an event is out when the sink is done, before Spark's commit log.",
        ),
        *pyflink_latency(),
    ),
    reference="penstock",
    records=60 * EVENTS_PER_SECOND,
    keys=1000,
    options={RATE: 1, LEVELS: 1},
    prepare=lambda case, _: ClockWorkload(PROGRAM.name, case),
)
