"""Every benchmark program, by name: one row each."""

from __future__ import annotations

from penstock.bench import live_state
from penstock.bench.program import BenchProgram

PROGRAMS: dict[str, BenchProgram] = {program.name: program for program in (live_state.PROGRAM,)}
"""Name on the command line to program."""
