"""`nexmark`: the queries of Nexmark over history, one job each, and the time of each.

Our systems and Spark SQL read Parquet files. Flink SQL reads rows in its own heap, which costs it less than reading files. All drop the
results, and compute them once more for the check. Peers run the queries that they have: Flink has no sessions in BATCH
mode, and Spark SQL no windows of table functions, no SPLIT_INDEX, and other averages of whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from benchmarks.model.program import BenchProgram, BenchSystem, Case, Outputs, Workload
from benchmarks.model.shape import BATCH
from benchmarks.systems.bounded import BoundedSpecification
from benchmarks.systems.flink_peers import java_command
from benchmarks.systems.launch import module, peer_script

EVENTS = 1_000_000
"""Persons, auctions and bids together: so many that computing most queries takes Flink longer than starting their jobs."""

PART, PARTS = "part", 7
"""The option that runs some of the queries, the first of a stride or a later one; 0 runs all. `benchmarks.joined` joins what
was measured."""

_FLINK_HEAP = "6g"
"""The rows of the tables are in it."""

_ALL = [f"q{number}" for number in range(23) if number != 12]  # noqa: PLR2004 - q12 goes by the clock
_OF_FLINK = [name for name in _ALL if name != "q11"]
_OF_SPARK = ["q0", "q1", "q2", "q3", "q9", "q10", "q13", "q14", "q15", "q16", "q18", "q19", "q20"]

_JOB = "benchmarks.systems.nexmark_job"
_WRITE = "benchmarks.inputs.nexmark_files:write_nexmark"
_EXPECTED = "benchmarks.answers.nexmark_tables:expected"
"""Names, because every command imports this module and few need what these do."""


@dataclass(frozen=True, slots=True)
class NexmarkWorkload(Workload):
    """The tables of one case."""

    case: Case
    tables: Path

    def specification(self, system: BenchSystem, work: Path) -> dict[str, Any]:
        """Return a `BoundedSpecification` whose options say where the tables are."""
        options = {**system.options, "queries": " ".join(self._queries(system))}
        return BoundedSpecification.over_tables(
            "nexmark", self.case, replace(system, options=options), work, self.tables
        ).to_json()

    def expected(self, system: BenchSystem, rounds: int) -> Outputs:
        """Compute the queries of the system; every run has the same."""
        outputs: Outputs = resolve_name(_EXPECTED)(self.tables, self._queries(system))
        return outputs

    def _queries(self, system: BenchSystem) -> list[str]:
        part, names = self.case.options[PART], system.options["queries"].split()
        return [each for each in names if part == 0 or _ALL.index(each) % PARTS == part - 1]


def prepare(case: Case, directory: Path) -> NexmarkWorkload:
    """Write the tables of a case."""
    resolve_name(_WRITE)(directory, case.records, case.parallelism)
    return NexmarkWorkload(case, directory)


def _ours(name: str, note: str, *, by_default: bool = True, **options: str) -> BenchSystem:
    return BenchSystem(
        name=name,
        command=module(_JOB),
        is_peer=False,
        by_default=by_default,
        mode=BATCH,
        options={"queries": " ".join(_OF_FLINK), **options},
        note=note,
    )


PROGRAM = BenchProgram(
    name="nexmark",
    summary="Queries of Nexmark over history, a job each",
    systems=(
        _ours("penstock batch", "Spark SQL computes whole queries."),
        _ours(
            "penstock batch operators",
            "No whole queries: operators compute joins, windows and first rows.",
            by_default=False,
            **{"execution.batch.queries": "false"},
        ),
        BenchSystem(
            name="flink-sql",
            command=partial(java_command, _FLINK_HEAP),
            is_peer=True,
            mode=BATCH,
            options={"queries": " ".join(_OF_FLINK), "state.backend.type": "hashmap"},
            note="Flink SQL in BATCH mode over rows in its heap; one mini cluster in a JVM of 6 GB that stays warm. "
            "Joins do not adapt while they run, which needs a scheduler that a job graph does not get.",
        ),
        BenchSystem(
            name="spark-sql",
            command=peer_script("nexmark_sql.py"),
            is_peer=True,
            mode=BATCH,
            options={"queries": " ".join(_OF_SPARK)},
            note="Spark SQL over the same files, without Penstock; the 13 queries that it has.",
        ),
    ),
    reference="penstock batch",
    records=EVENTS,
    keys=1,
    options={PART: 0},
    prepare=prepare,
)
