"""A system that runs a program over an input that ends, ours or a peer's: one job a round.

The process stays warm between rounds. What is measured is the time from submitting a job to its
last committed output:

    start | cold run | run ... run | run whose outputs are digested
            cold_seconds  seconds    outputs

`cold_seconds` is from the start of the process to the end of its first run.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.model.program import BenchSystem, Case, Outputs
from benchmarks.model.shape import Shape

STALE_SECONDS = 45.0
"""After so long without a run a system is warmed up again, out of the measurement: after a minute
Spark ends Python workers that nobody used, and to start them anew takes seconds."""


@dataclass(frozen=True, slots=True)
class BoundedSpecification:
    """What the process of such a system is told.

    Attributes:
        program: Name of the program.
        shape: See `Shape.to_json`.
        work: Empty directory of its own.
        options: Those of the `BenchSystem`.
        settings: `KEY=VALUE` of the command line; for our own systems.
        functions: Names (`module:function`) of what our own systems run.
        measured: Name of what a run tells that is measured in place of the time of the run.
        spawned: When the process was started, on the monotonic clock of the machine.
    """

    program: str
    shape: dict[str, Any]
    work: str
    options: dict[str, str]
    settings: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    measured: str = ""
    spawned: float = 0.0

    @classmethod
    def over_tables(
        cls, program: str, case: Case, system: BenchSystem, work: Path, tables: Path
    ) -> BoundedSpecification:
        """Return that of a system which reads tables in files.

        Args:
            program: Name of the program.
            case: The case.
            system: The system.
            work: Empty directory of its own.
            tables: Directory of the tables; the option `input`.
        """
        shape = Shape(
            records=case.records,
            live=0,
            keys=case.keys,
            parallelism=case.parallelism,
            mode=system.mode,
            parameters=dict(case.options),
        )
        options = {**system.options, "input": str(tables)}
        return cls(program, shape.to_json(), str(work), options, dict(case.settings))

    def to_json(self) -> dict[str, Any]:
        """Return its attributes."""
        return asdict(self)


class BoundedSystem(ABC):
    """Answers the protocol of `benchmarks.systems.serve` over jobs that end.

    Attributes:
        specification: What it was told.
        shape: What it computes.
        work: Its directory.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self.specification = BoundedSpecification(**values)
        self.shape = Shape(**self.specification.shape)
        self.work = Path(self.specification.work)
        self._ran = time.monotonic()
        self.prepare()

    def prepare(self) -> None:
        """Do once what is no part of any run: read modules, hold records in memory."""

    @abstractmethod
    def run(self) -> Mapping[str, Any]:
        """Run the program once, drop its outputs, and return when they are committed.

        Returns:
            What is worth telling of this run; `seconds`, if given, replaces the time that
            this call took.
        """

    @abstractmethod
    def digest(self) -> Outputs:
        """Run the program once more and return what it put out."""

    @abstractmethod
    def close(self) -> None:
        """Stop everything."""

    def warm_up(self) -> dict[str, Any]:
        """Run once, cold."""
        self.run()
        self._ran = time.monotonic()
        return {"cold_seconds": time.monotonic() - self.specification.spawned}

    def round(self) -> dict[str, Any]:
        """Run once, warm, and once before that if others had their turns for long."""
        if time.monotonic() - self._ran > STALE_SECONDS:
            self.run()
        started = time.monotonic()
        told = self.run()
        self._ran = time.monotonic()
        answer = {"seconds": self._ran - started, **told}
        if self.specification.measured:
            answer["whole_seconds"] = answer["seconds"]
            answer["seconds"] = told[self.specification.measured]
        return {"records": self.shape.total, **answer}

    def check(self) -> dict[str, Any]:
        """Run once for the outputs."""
        return asdict(self.digest())
