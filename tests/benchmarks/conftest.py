"""Systems without Spark: small scripts that speak the protocol."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from benchmarks.model.program import BenchProgram, BenchSystem, Outputs, Workload

FAKE = """
import os, subprocess, sys, time
from benchmarks.systems.serve import serve

class Fake:
    def __init__(self, specification):
        self.specification = specification
        self.rounds = 0
        if specification["options"].get("child"):
            self.child = subprocess.Popen(["sleep", "600"])

    def warm_up(self):
        print("noise on stdout")
        return {"cold_seconds": time.monotonic() - self.specification["spawned"]}

    def round(self):
        self.rounds += 1
        if self.specification["options"].get("die") == str(self.rounds):
            print("last words", file=sys.stderr, flush=True)
            os._exit(3)
        if self.specification["options"].get("raise") == str(self.rounds):
            raise ValueError("no more")
        if self.specification["options"].get("hang") == str(self.rounds):
            time.sleep(600)
        seconds = float(self.specification["options"].get("seconds", "0.5"))
        with open(self.specification["journal"], "a") as journal:
            journal.write(self.specification["name"] + chr(10))
        return {"records": 1000, "seconds": seconds, "latencies": [seconds / 2] * 2, "extra": 7}

    def check(self):
        digest = self.specification["options"].get("digest", "right")
        return {"count": 10, "digest": digest}

    def close(self):
        pass

serve(Fake)
"""


class FakeWorkload(Workload):
    def __init__(self, directory):
        self.journal = directory / "journal"

    def specification(self, system, work):
        return {
            "name": system.name,
            "options": dict(system.options),
            "journal": str(self.journal),
        }

    def expected(self, system, rounds):
        return Outputs(10, "right")


@pytest.fixture
def fake_system(tmp_path: Path):
    """Return a maker of systems: name, kind and options."""
    script = tmp_path / "fake.py"
    script.write_text(textwrap.dedent(FAKE))

    def make(name, *, is_peer=False, command=None, max_keys=None, by_default=True, **options):
        return BenchSystem(
            name,
            command or (lambda: [sys.executable, str(script)]),
            is_peer,
            options=options,
            max_keys=max_keys,
            by_default=by_default,
        )

    return make


@pytest.fixture
def fake_program(tmp_path: Path):
    """Return a maker of programs over systems; rounds leave lines in `tmp_path/journal`."""

    def make(*systems):
        return BenchProgram(
            name="fake",
            summary="does nothing",
            systems=systems,
            reference=systems[0].name,
            records=1000,
            keys=10,
            options={"size": 1},
            prepare=lambda _case, _directory: FakeWorkload(tmp_path),
        )

    return make
