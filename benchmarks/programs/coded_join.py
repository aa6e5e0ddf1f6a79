"""`coded-join`: the job of the proposal CodedRowData (4.4). JSON files, parse, left join, discard.

    orders/*.json    about 5 kB a record ->  21 strings, offset             \
                                                                              left join on the order
    refunds/*.json   about 2 kB a record ->  14 strings, a number, offset   /

A live job over both tables, all records of which are there at the start. Rows are kept for ever,
so state is everything that was read: what is compared is what the rows of state are stored as.

Coded rows against the pickles they replace differ in one option. The fixed slots of Flink's
BinaryRowData are arithmetic: the bytes of the same log and snapshot if each row in it took what
it takes in that layout (`benchmarks.encodings.fixed_slots`). Rather too few bytes are counted for slots
than too many: none of what Flink writes around a row, and none of what its RocksDB does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from benchmarks.model.program import BenchProgram, BenchSystem, Case, Outputs, Workload
from benchmarks.model.shape import STREAMING
from benchmarks.systems.bounded import BoundedSpecification
from benchmarks.systems.launch import module
from penstock.config.options import ENABLE_CODED_ROWDATA, STATE_BACKEND

RECORDS = 100_000
"""Of each table; about 700 MB of JSON."""

FILES_PER_BATCH, ONCE = "files-per-batch", "once"
"""With `once` the cold run reads one file of each table, and the outputs that are compared are those of the last round, which digests them. All
records are joined once then in place of three times; for one system in a process, because another one's turn would add a run."""

_JOB = "benchmarks.systems.coded_join_job"
_WRITE = "benchmarks.inputs.binlog:write_binlog"
_EXPECTED = "benchmarks.answers.coded_join_rows:expected"
"""Names, because every command imports this module and few need what these do."""


@dataclass(frozen=True, slots=True)
class CodedJoinWorkload(Workload):
    """The tables of one case."""

    case: Case
    tables: Path

    def specification(self, system: BenchSystem, work: Path) -> dict[str, Any]:
        """Return a `BoundedSpecification` whose options say where the tables are."""
        return BoundedSpecification.over_tables(
            "coded-join", self.case, system, work, self.tables
        ).to_json()

    def expected(self, system: BenchSystem, rounds: int) -> Outputs:
        """Compute the join; every run has the same."""
        outputs: Outputs = resolve_name(_EXPECTED)(self.case.records, self.case.keys)
        return outputs


def prepare(case: Case, directory: Path) -> CodedJoinWorkload:
    """Write the tables of a case."""
    resolve_name(_WRITE)(directory, case.records, case.keys)
    return CodedJoinWorkload(case, directory)


def _ours(switch: str, value: str, backend: str, note: str) -> BenchSystem:
    return BenchSystem(
        name=f"penstock {switch} {backend}",
        command=module(_JOB),
        is_peer=False,
        by_default=backend == "lmdb",
        mode=STREAMING,
        options={ENABLE_CODED_ROWDATA.key: value, STATE_BACKEND.key: backend},
        note=note,
    )


PROGRAM = BenchProgram(
    name="coded-join",
    summary="JSON records of two tables, left join for ever: coded rows on against off",
    systems=tuple(
        system
        for backend in ("lmdb", "hashmap")
        for system in (
            _ours("on", "true", backend, "Rows in state are coded rows."),
            _ours("off", "false", backend, "Rows in state are pickled."),
        )
    ),
    reference="penstock on lmdb",
    records=RECORDS,
    keys=RECORDS,
    options={FILES_PER_BATCH: 4, ONCE: 0},
    prepare=prepare,
)
