"""`isolation`: what the history of one pipeline costs another one that is live.

    orders   10^7 records of history, reduced by key     pipeline A, in one of the systems
    events   1,000 a second, counted by key              pipeline B, measured from event to sink

Both pipelines are of one job: they share the session, the cores and the Python workers, and no operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.model.program import BenchProgram, BenchSystem, Case, Outputs, Workload
from benchmarks.model.shape import MIXED, Shape
from benchmarks.programs.latency import EVENTS_PER_SECOND
from benchmarks.systems.bounded import BoundedSpecification
from benchmarks.systems.latency_system import RATE, expected
from benchmarks.systems.launch import peer_script

HISTORY_RECORDS = "history-records"
ALONE, BESIDE = "penstock alone", "penstock beside"
_SECONDS = 4


@dataclass(frozen=True, slots=True)
class IsolationWorkload(Workload):
    """A stretch of the clock per round."""

    case: Case

    def specification(self, system: BenchSystem, work: Path) -> dict[str, Any]:
        """Return a `BoundedSpecification`; `records` are the events of a round."""
        return BoundedSpecification(
            program=PROGRAM.name,
            shape=self._shape(system).to_json(),
            work=str(work),
            options=dict(system.options),
            settings=dict(self.case.settings),
        ).to_json()

    def expected(self, system: BenchSystem, rounds: int) -> Outputs:
        """Return every event of the last round once."""
        return expected(self._shape(system))

    def _shape(self, system: BenchSystem) -> Shape:
        case = self.case
        return Shape(case.records, 0, case.keys, case.parallelism, system.mode, dict(case.options))


PROGRAM = BenchProgram(
    name="isolation",
    summary="1,000 events a second into a keyed count, alone and beside 10^7 records of history",
    systems=(
        BenchSystem(
            name=ALONE,
            command=peer_script("isolation_penstock.py"),
            is_peer=False,
            mode=MIXED,
            note="The job has the live pipeline only.",
        ),
        BenchSystem(
            name=BESIDE,
            command=peer_script("isolation_penstock.py"),
            is_peer=False,
            mode=MIXED,
            options={"beside": "true"},
            note="Another pipeline of the job reads history during the whole round.",
        ),
    ),
    reference=BESIDE,
    records=_SECONDS * EVENTS_PER_SECOND,
    keys=1000,
    options={HISTORY_RECORDS: 10_000_000, RATE: 1},
    prepare=lambda case, _: IsolationWorkload(case),
)
