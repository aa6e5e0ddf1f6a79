"""PostgreSQL: counts by key of a table as it is, and of its changes.

The server is on the same machine and takes a core or more of it. What it needs to write and decode its log is part of
every figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.answers.kafka_records import expected_counts, is_last_count
from benchmarks.answers.postgres_rows import expected_changes
from benchmarks.inputs.postgres import ensure_server, make_table, reading
from benchmarks.model.program import BenchProgram, BenchSystem, Case, Outputs, Workload
from benchmarks.model.shape import BATCH, STREAMING, Shape
from benchmarks.programs.pipeline import Pipeline, ours
from benchmarks.systems.bounded import BoundedSpecification
from benchmarks.systems.launch import module
from benchmarks.systems.postgres_changes_job import counts_of
from penstock.datastream import DataStream, StreamExecutionEnvironment

_NOTE = "Three columns of bigint; the rows are captured in files, which is part of the time."


def table_of(shape: Shape) -> str:
    """Return the table of so many rows with so many keys."""
    return f"rows_{shape.records}_{shape.keys}"


def counted(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return rolling counts of the keys in a table."""
    return counts_of(env, reading(table_of(shape)).set_bounded().build())


def write_table(case: Case, directory: Path) -> None:
    """Write the table of a case, unless it is there."""
    del directory
    ensure_server()
    shape = Shape(case.records, 0, case.keys, case.parallelism, STREAMING)
    make_table(table_of(shape), range(case.records), case.keys)


SNAPSHOT = Pipeline(
    name="postgres",
    summary="a table of PostgreSQL to counts by key",
    build=counted,
    expected=expected_counts,
    is_output=is_last_count,
    systems=(ours(BATCH, note=_NOTE), ours(STREAMING, note=_NOTE)),
    reference="penstock batch",
    records=2_000_000,
    keys=1_000,
    write_input=write_table,
).program()


@dataclass(frozen=True, slots=True)
class Changes(Workload):
    """Changes of a table that a job makes for itself."""

    case: Case

    def specification(self, system: BenchSystem, work: Path) -> dict[str, Any]:
        """Return a `BoundedSpecification`."""
        return BoundedSpecification(
            program="postgres-changes",
            shape=self._shape().to_json(),
            work=str(work),
            options=dict(system.options),
            settings=dict(self.case.settings),
        ).to_json()

    def expected(self, system: BenchSystem, rounds: int) -> Outputs:
        """Compute the outputs of a run; every run has the same."""
        return expected_changes(self._shape())

    def _shape(self) -> Shape:
        case = self.case
        return Shape(case.records, 0, case.keys, case.parallelism, STREAMING)


def _prepare_changes(case: Case, directory: Path) -> Workload:
    del directory
    ensure_server()
    return Changes(case)


CHANGES = BenchProgram(
    name="postgres-changes",
    summary="the changes of a table of PostgreSQL to counts by key, by a live job that catches up",
    systems=(
        BenchSystem(
            name="penstock streaming",
            command=module("benchmarks.systems.postgres_changes_job"),
            is_peer=False,
            note="As many inserts as updates, 1,000 changes per transaction.",
        ),
    ),
    reference="penstock streaming",
    records=500_000,
    keys=1_000,
    options={},
    prepare=_prepare_changes,
)

PROGRAMS = (SNAPSHOT, CHANGES)
