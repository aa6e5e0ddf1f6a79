"""Temporary files of sessions that were killed are removed by the next one, and no others."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.spark.session.process_identity import ProcessIdentity
from penstock.spark.session.temporary_directory import TemporaryDirectory
from penstock.spark.worker.worker_memory import spill_directory
from tests.faults.processes import wait_for

KILLED = """
import os, signal
from penstock.common import Configuration
from penstock.spark.session.factory import get_session

session = get_session(Configuration())
rows = session.range(100).repartition(3)
rows.groupBy("id").count().collect()
jvm = session._jvm
print(jvm.System.getProperty("java.io.tmpdir"))
print(session.sparkContext._gateway.proc.pid, flush=True)
signal.pause()
"""


def owned_by(parent: Path, *owners: ProcessIdentity) -> Path:
    made = TemporaryDirectory(parent)
    recorded = json.dumps([owner.to_json() for owner in owners])
    (made.path / "owner.json").write_text(recorded)
    (made.path / "shuffle").mkdir()
    return made.path


def ended() -> ProcessIdentity:
    with subprocess.Popen(["sleep", "60"]) as process:
        found = ProcessIdentity.of(process.pid)
        process.kill()
    return found


def test_what_processes_left_that_have_ended_is_removed(tmp_path: Path) -> None:
    left = owned_by(tmp_path, ended(), ended())
    before_a_restart = owned_by(tmp_path, replace(ProcessIdentity.own(), boot="another"))
    TemporaryDirectory(tmp_path)
    assert not left.exists()
    assert not before_a_restart.exists()


def test_nothing_is_removed_whose_owner_may_run(tmp_path: Path) -> None:
    own = ProcessIdentity.own()
    kept = [
        owned_by(tmp_path, own),
        owned_by(tmp_path, ended(), own),  # a JVM that outlives its driver
        owned_by(tmp_path, replace(ended(), namespace="pid:[1]")),
        owned_by(tmp_path, replace(ended(), host="elsewhere")),
        owned_by(tmp_path, replace(ended(), started=0)),
        owned_by(tmp_path),
    ]
    (kept[-1] / "owner.json").write_text("{")
    TemporaryDirectory(tmp_path)
    assert all(path.exists() for path in kept)


MADE = {
    "open to all": lambda path: (path.mkdir(), path.chmod(0o777)),
    "a file": lambda path: path.touch(),
    "a link": lambda path: path.symlink_to(path.parent),
    "a link to nothing": lambda path: path.symlink_to(path.parent / "nothing"),
}


@pytest.mark.parametrize("name", MADE)
def test_what_somebody_else_may_have_made_is_not_used(tmp_path: Path, name: str) -> None:
    MADE[name](tmp_path / f"penstock-{os.getuid()}")
    assert TemporaryDirectory(tmp_path).path.parent == tmp_path


def test_a_directory_with_a_comma_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark would divide its path, and leave files of shuffles beside it."""
    parent = tmp_path / "a,b"
    parent.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(parent))
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    made = TemporaryDirectory().path
    made_files = [*made.iterdir()]
    shutil.rmtree(made)
    assert "," not in str(made)
    assert [path.name for path in made_files] == ["owner.json"]
    assert spill_directory(1) == parent


@pytest.mark.spark
def test_a_killed_session_s_files_are_there_and_are_removed(tmp_path: Path) -> None:
    """The path has whatever a launcher of Java may take for something else."""
    parent = tmp_path / "Tmp \"Ä\\ '#$HOME %20{a}[1]*?"
    parent.mkdir()
    program = parent / "program.py"
    program.write_text(KILLED)
    environment = os.environ | {"TMPDIR": str(parent)}
    # Where Spark divides a path, a part of it is relative to the working directory.
    with subprocess.Popen(
        [sys.executable, str(program)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        java = process.stdout.readline().rstrip()
        jvm = int(process.stdout.readline())
        process.kill()
        os.kill(jvm, signal.SIGKILL)
    assert Path(java).parent == parent / f"penstock-{os.getuid()}"
    assert list(Path(java).glob("blockmgr-*")), "it was killed"
    wait_for(lambda: not Path(f"/proc/{jvm}").exists(), 30)
    TemporaryDirectory(parent)
    assert not Path(java).exists()
