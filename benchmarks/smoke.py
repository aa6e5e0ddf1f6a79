"""A guard against regressions: a few programs, small, and ratios that must hold by a wide margin.

    python -m benchmarks.smoke

The goals are far below the figures, because small inputs pay for start-up and the machine may be
busy; what falls below one of them has become several times slower. Starting the systems takes most
of the time, so there are few: together they must need less than five minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.catalog import PROGRAMS
from benchmarks.measuring.runner import BenchRequest, run_program
from benchmarks.programs.delayed_deploy import UNCUT
from benchmarks.reporting.judging import Figure, Throughput
from penstock.config.options import STATE_BACKEND


@dataclass(frozen=True, slots=True)
class Smoke:
    """A run, and what must hold of it.

    Attributes:
        request: Small.
        goals: Of one program.
    """

    request: BenchRequest
    goals: tuple[Figure, ...]


_BATCH, _MIXED, _STREAMING = "penstock batch", "penstock mixed", "penstock streaming"

_LIVE_STATE = f"penstock {STATE_BACKEND.default}"
_LIVE_COLUMNS = f"{_LIVE_STATE} expressions"

RUNS: tuple[Smoke, ...] = (
    Smoke(
        BenchRequest(
            records=500_000,
            keys=(1000,),
            systems=(_BATCH, _STREAMING, _MIXED),
            peers=("rdd",),
            rounds=1,
        ),
        (
            Throughput(id="S1", program="reduce", goal=0.15, of=_BATCH, against=("rdd",)),
            Throughput(id="S2", program="reduce", goal=0.05, of=_MIXED, against=(_BATCH,)),
            # 1.07 with as few records, because a batch run starts more than an epoch does.
            Throughput(id="S3", program="reduce", goal=0.5, of=_BATCH, against=(_STREAMING,)),
        ),
    ),
    Smoke(
        BenchRequest(records=1_000_000, systems=(_BATCH,), peers=("map-in-arrow",), rounds=1),
        (
            Throughput(
                id="S4", program="aggregate", goal=0.15, of=_BATCH, against=("map-in-arrow",)
            ),
        ),
    ),
    Smoke(
        BenchRequest(
            records=100_000,
            keys=(20_000,),
            systems=(_LIVE_STATE, _LIVE_COLUMNS),
            peers=("tws-row",),
            rounds=1,
            options={"micro-batch": 50_000, "warm-up-batches": 1, "slow-batches": 1},
        ),
        (
            Throughput(id="S5", program="live-state", goal=1.5, against=("tws-row",)),
            Throughput(
                id="S7", program="live-state", goal=0.3, of=_LIVE_COLUMNS, against=(_LIVE_STATE,)
            ),
        ),
    ),
    Smoke(
        BenchRequest(
            records=500_000, keys=(1000,), systems=(_BATCH,), peers=("sql-files",), rounds=1
        ),
        (Throughput(id="S8", program="expressions", goal=0.2, of=_BATCH, against=("sql-files",)),),
    ),
    Smoke(
        BenchRequest(records=500_000, systems=(_BATCH,), peers=("map-in-arrow",), rounds=1),
        (
            Throughput(
                id="S9", program="map-batches", goal=0.03, of=_BATCH, against=("map-in-arrow",)
            ),
        ),
    ),
    Smoke(
        BenchRequest(records=200_000, systems=(_MIXED, UNCUT), rounds=1),
        (
            # A region is a run of its own, so with as few records it is not faster than what it spares.
            Throughput(
                id="S6",
                program="delayed-deploy",
                goal=0.15,
                of=_MIXED,
                against=(UNCUT,),
            ),
        ),
    ),
)


def run(runs: Sequence[Smoke] = RUNS) -> int:
    """Run all and return 0 if outputs agree and every goal is reached, 1 otherwise."""
    status = 0
    for smoke in runs:
        program = PROGRAMS[smoke.goals[0].program]
        result = replace(run_program(program, smoke.request, _say), figures=smoke.goals)
        judged = result.judged()
        missing = len(smoke.goals) - len(judged)
        for figure in judged:
            verdict = "holds" if figure["reached"] else "DOES NOT HOLD"
            _say(f"{figure['ratio']}: {figure['value']} (goal {figure['goal']}): {verdict}")
        if result.exit_status or missing or not all(figure["reached"] for figure in judged):
            _say(f"{program.name}: failed; {missing} goals could not be judged")
            status = 1
    return status


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(run())
