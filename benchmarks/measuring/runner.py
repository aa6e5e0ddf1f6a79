"""Runs a program at every number of keys that was asked for."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measuring.case_run import CaseRun, Say
from benchmarks.model.errors import BenchRequestError
from benchmarks.model.measurement import Measurement, Skipped
from benchmarks.model.program import BenchProgram, BenchSystem, Case, Point
from benchmarks.reporting.machine import commit, cores, machine, versions
from benchmarks.reporting.results import BenchResult

NONE = "none"
"""As a name of systems: take none of them."""


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """What to run; None is the program's default.

    Attributes:
        records: Measured records of a round.
        keys: Numbers of keys, one after the other.
        peers: Names of peers, or `none`.
        systems: Names of our systems.
        rounds: Measured rounds.
        parallelism: Cores and subtasks; None is all cores.
        options: The program's own options that differ from their defaults.
        settings: Settings of Penstock, for our systems.
        directory: Where input and work go; None is a temporary directory.
    """

    records: int | None = None
    keys: Sequence[int] = ()
    peers: Sequence[str] = ()
    systems: Sequence[str] = ()
    rounds: int = 3
    parallelism: int | None = None
    options: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None


def run_program(program: BenchProgram, request: BenchRequest, say: Say) -> BenchResult:
    """Run a program at every case and return what was measured.

    A system that fails is left out from there on; the others go on.

    Args:
        program: Which.
        request: What differs from its defaults.
        say: Is told what goes on.

    Raises:
        BenchRequestError: The program has no such system or option.
    """
    began = time.monotonic()
    systems = chosen_systems(program, request)
    cases = _cases(program, request)
    measurements: list[Measurement] = []
    skipped: list[Skipped] = []
    for case in cases:
        if program.measure is not None:
            measured, left_out = program.measure(case, systems, say)
            measurements += measured
            skipped += left_out
            continue
        with tempfile.TemporaryDirectory(
            prefix="penstock-bench-", dir=request.directory, ignore_cleanup_errors=True
        ) as made:
            directory = Path(made)
            say(f"{program.name}: preparing input for {case.keys:,} keys")
            workload = program.prepare(case, directory / "feed")
            measured, left_out = CaseRun(case, workload, directory, say).run(systems)
        measurements += measured
        skipped += left_out
    return BenchResult(
        program,
        cases,
        machine(),
        versions(),
        commit(),
        measurements,
        skipped,
        wall_seconds=round(time.monotonic() - began, 1),
    )


def chosen_systems(program: BenchProgram, request: BenchRequest) -> list[BenchSystem]:
    """Return the systems that are to take part, in the program's order.

    Raises:
        BenchRequestError: The program has no system of that name.
    """
    wanted: set[str] = set()
    for is_peer, names in ((False, request.systems), (True, request.peers)):
        known = [system for system in program.systems if system.is_peer is is_peer]
        unknown = set(names) - {system.name for system in known} - {NONE}
        if unknown:
            kind = "peers" if is_peer else "systems of ours"
            raise BenchRequestError(
                f"{program.name} has no {', '.join(sorted(unknown))}",
                hint=f"Choose among its {kind}: {', '.join(s.name for s in known)}; or {NONE}.",
            )
        wanted |= set(names) or {system.name for system in known if system.by_default}
    return [system for system in program.systems if system.name in wanted]


def _cases(program: BenchProgram, request: BenchRequest) -> list[Case]:
    unknown = request.options.keys() - program.options.keys()
    if unknown:
        raise BenchRequestError(
            f"{program.name} has no option {', '.join(sorted(unknown))}",
            hint=f"Its options: {', '.join(f'{k}={v}' for k, v in program.options.items())}.",
        )
    asked = Point(records=request.records, parallelism=request.parallelism)
    return [
        Case(
            records=point.records or program.records,
            keys=point.keys or program.keys,
            parallelism=point.parallelism or cores(),
            rounds=request.rounds,
            options={**program.options, **request.options},
            settings=dict(request.settings),
        )
        for point in program.cases_at(asked, request.keys)
    ]
