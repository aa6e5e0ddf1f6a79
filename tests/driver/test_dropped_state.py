"""State of operators that an upgrade has dropped: kept beside the new job, listed and removed by `penstock state drop`."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

from penstock.cli.state import state_app
from penstock.plan.compat.evolution import Evolution, PartChange, PartStatus
from penstock.spark.upgrade.dropped_state import DROPPED, dropped_uids, keep_dropped
from penstock.spark.worker.state_tasks import STATE_SCHEMA
from penstock.state.savepoint import (
    OperatorRecord,
    Savepoint,
    StateFile,
    prepare_directory,
    write_manifest,
)

UIDS = ("counts", "gone", "stateless")


def saved(target: Path) -> Savepoint:
    """Write a savepoint with state of two operators."""
    prepare_directory(target)
    path = target / "state" / "rows.parquet"
    rows = [{"operator": uid, "key_group": 1, "blob": b"of " + uid.encode()} for uid in UIDS[:2]]
    pq.write_table(pa.Table.from_pylist(rows, STATE_SCHEMA), path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    file = StateFile(path.name, path.stat().st_size, digest, UIDS[:2])
    operators = tuple(OperatorRecord(uid, uid, "SUM") for uid in UIDS)
    made = Savepoint("1", "now", "7", "visits", "live", 2, 16, False, operators, files=(file,))
    write_manifest(target, made)
    return made


def changes(**parts: PartStatus) -> Evolution:
    found = tuple(PartChange(uid, uid, change) for uid, change in parts.items())
    return Evolution("v1", found, (), ())


def test_state_of_dropped_operators_is_kept_until_it_is_removed(tmp_path: Path) -> None:
    savepoint = saved(tmp_path / "saved")
    job = cast("Any", SimpleNamespace(path=tmp_path / "job"))
    dropped = changes(counts=PartStatus.KEPT, gone=PartStatus.DROPPED, stateless=PartStatus.DROPPED)
    for _ in range(2):
        keep_dropped(job, tmp_path / "saved", savepoint, dropped)
    assert dropped_uids(job.path) == ("gone",)
    (path,) = (job.path / DROPPED / "state").iterdir()
    assert pq.read_table(path).column("blob").to_pylist() == [b"of gone"]
    listed = CliRunner().invoke(state_app, ["drop", str(job.path), "--json"])
    assert listed.stdout == '{"uid": "gone", "is_removed": false}\n'
    removed = CliRunner().invoke(state_app, ["drop", str(job.path), "--json", "--yes"])
    assert removed.stdout == '{"uid": "gone", "is_removed": true}\n'
    assert not (job.path / DROPPED).exists()
    assert dropped_uids(job.path) == ()


def test_a_program_that_drops_no_state_keeps_nothing(tmp_path: Path) -> None:
    savepoint = saved(tmp_path / "saved")
    job = cast("Any", SimpleNamespace(path=tmp_path / "job"))
    kept = changes(counts=PartStatus.KEPT, gone=PartStatus.KEPT, stateless=PartStatus.DROPPED)
    keep_dropped(job, tmp_path / "saved", savepoint, kept)
    assert not job.path.exists()
