"""Declares a program over an input that ends: one call makes a `BenchProgram` of it.

What is declared once (`benchmarks/programs/aggregate.py` is an example):

* `build(env, shape)` makes the stream whose records are the outputs, tuples of integers or single
  numbers. It is called in the process of each system of ours; the sink is added here.
* `expected(shape)` computes the outputs in plain Python or NumPy, without Penstock and Spark.
* `is_output(shape, columns)`, for rolling results only: which rows are the last ones of their
  keys. In STREAMING there is a row per record, and the answer is the last one of each key.

Functions are passed as they are but travel by name, so they are functions of a module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.model.program import BenchProgram, BenchSystem, Case, Outputs, Point, Workload
from benchmarks.model.shape import BATCH, MIXED, STREAMING, Shape
from benchmarks.systems.bounded import BoundedSpecification
from benchmarks.systems.launch import module, peer_script

_JOB = "benchmarks.systems.pipeline_job"

LIVE_RECORDS = "live-records"
SLOW_RECORDS = "slow-records"

BuildStream = Callable[[Any, Shape], Any]
"""(StreamExecutionEnvironment, shape) to the DataStream of outputs."""

Expect = Callable[[Shape], Outputs]
IsOutput = Callable[[Shape, Any], Any]
"""(shape, array of columns) to a mask of rows."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A program over an input that ends.

    Attributes:
        name: On the command line and in results.
        summary: One line for people.
        build: See the module.
        expected: See the module.
        systems: Ours and peers, in the order in which they take turns; see `ours`.
        reference: Name of the system that figures are about unless they say another.
        records: Default number of records.
        keys: Default number of keys, or how it follows from the number of records.
        is_output: See the module; None takes every row.
        options: The program's own options with their defaults.
        points: See `BenchProgram`.
        measured: See `BoundedSpecification`; empty measures the time of a run.
        builds: Name of a system of ours to what makes its stream, where that is not `build`.
        write_input: Writes what systems read, below a directory; None if each makes its records itself, where it
            reads them.
    """

    name: str
    summary: str
    build: BuildStream
    expected: Expect
    systems: tuple[BenchSystem, ...]
    reference: str
    records: int
    keys: int | Callable[[int], int]
    is_output: IsOutput | None = None
    options: Mapping[str, int] = field(default_factory=dict)
    points: Sequence[Point] = ()
    measured: str = ""
    builds: Mapping[str, BuildStream] = field(default_factory=dict)
    write_input: Callable[[Case, Path], None] | None = None

    def program(self) -> BenchProgram:
        """Return the row for `catalog.PROGRAMS`."""
        modes = {system.mode for system in self.systems}
        options = dict(self.options)
        if MIXED in modes:
            options.setdefault(LIVE_RECORDS, 10_000)
        if any(system.is_slow for system in self.systems):
            options.setdefault(SLOW_RECORDS, 1_000_000)
        is_fixed = isinstance(self.keys, int)
        return BenchProgram(
            name=self.name,
            summary=self.summary,
            systems=self.systems,
            reference=self.reference,
            records=self.records,
            keys=self.keys if isinstance(self.keys, int) else self.keys(self.records),
            options=options,
            prepare=self._prepare,
            points=self.points,
            keys_of=None if is_fixed else self.keys,  # type: ignore[arg-type]
        )

    def _prepare(self, case: Case, directory: Path) -> Workload:
        if self.write_input is not None:
            self.write_input(case, directory)
        return PipelineWorkload(self, case)


@dataclass(frozen=True, slots=True)
class PipelineWorkload(Workload):
    """A pipeline at one case."""

    pipeline: Pipeline
    case: Case

    def shape(self, system: BenchSystem) -> Shape:
        """Return what a system computes."""
        options = dict(self.case.options)
        live = options.pop(LIVE_RECORDS, 0)
        most = options.pop(SLOW_RECORDS, self.case.records)
        return Shape(
            records=min(self.case.records, most) if system.is_slow else self.case.records,
            live=live if system.mode == MIXED else 0,
            keys=self.case.keys,
            parallelism=self.case.parallelism,
            mode=system.mode,
            parameters=options,
        )

    def specification(self, system: BenchSystem, work: Path) -> dict[str, Any]:
        """Return a `BoundedSpecification`."""
        build = self.pipeline.builds.get(system.name, self.pipeline.build)
        functions = {"build": build, "is_output": self.pipeline.is_output}
        return BoundedSpecification(
            program=self.pipeline.name,
            shape=self.shape(system).to_json(),
            work=str(work),
            options=dict(system.options),
            settings={} if system.is_peer else dict(self.case.settings),
            functions={name: _name(made) for name, made in functions.items() if made},
            measured=self.pipeline.measured,
        ).to_json()

    def expected(self, system: BenchSystem, rounds: int) -> Outputs:
        """Compute the outputs of a run; every run has the same."""
        return self.pipeline.expected(self.shape(system))


def ours(
    mode: str, name: str = "", *, note: str = "", by_default: bool = True, **settings: str
) -> BenchSystem:
    """Return a system of ours.

    Args:
        mode: BATCH, STREAMING or MIXED.
        name: What sets it apart from others of the same mode: `penstock batch <name>`.
        note: What a reader must know.
        by_default: See `BenchSystem`.
        settings: Settings of Penstock, as `**{"pipeline.object-reuse": "true"}`.
    """
    return BenchSystem(
        name=" ".join(filter(None, ["penstock", mode.lower(), name])),
        command=module(_JOB),
        is_peer=False,
        by_default=by_default,
        mode=mode,
        options=settings,
        note=note,
    )


def all_modes(note: str = "") -> tuple[BenchSystem, ...]:
    """Return our systems in all three modes."""
    return tuple(ours(mode, note=note) for mode in (BATCH, STREAMING, MIXED))


def peer(
    name: str,
    script: str,
    *,
    mode: str = BATCH,
    note: str = "",
    by_default: bool = True,
    is_slow: bool = False,
    max_keys: int | None = None,
    **options: str,
) -> BenchSystem:
    """Return a peer that is a file of `benchmarks/peers`, run by this interpreter.

    Args:
        name: As in results and on the command line.
        script: The file.
        mode: BATCH or STREAMING.
        note: What a reader must know to compare fairly.
        by_default: See `BenchSystem`.
        is_slow: Gets no more than the program's option `slow-records`.
        max_keys: See `BenchSystem`.
        options: Sent to the process.
    """
    return BenchSystem(
        name=name,
        command=peer_script(script),
        is_peer=True,
        by_default=by_default,
        mode=mode,
        options=options,
        max_keys=max_keys,
        is_slow=is_slow,
        note=note,
    )


def only_if_named(*systems: BenchSystem) -> tuple[BenchSystem, ...]:
    """Return the systems so that they take part only if somebody names them."""
    return tuple(replace(system, by_default=False) for system in systems)


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}:{function.__qualname__}"
