"""`isolation`: what the history of one pipeline costs another one that is live.

    orders   10^7 records of history, reduced by key     pipeline A, in one of the systems
    events   1,000 a second, counted by key              pipeline B, measured from event to sink

Both pipelines are of one job: they share the session, the cores and the Python workers, and no operator.
"""

from __future__ import annotations

from benchmarks.model.program import BenchProgram, BenchSystem
from benchmarks.model.shape import MIXED
from benchmarks.programs.latency import EVENTS_PER_SECOND, ClockWorkload
from benchmarks.systems.latency_system import RATE
from benchmarks.systems.launch import peer_script

HISTORY_RECORDS = "history-records"
ALONE, BESIDE = "penstock alone", "penstock beside"
_SECONDS = 4

PROGRAM: BenchProgram = BenchProgram(
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
    prepare=lambda case, _: ClockWorkload(PROGRAM.name, case),
)
