"""Sessions of this machine have Unix sockets, in a directory of this user only with a short path."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.spark.session import temporary_directory
from penstock.spark.session.temporary_directory import TemporaryDirectory, socket_settings

ENABLED = "spark.python.unix.domain.socket.enabled"
DIRECTORY = "spark.python.unix.domain.socket.dir"
UUID = "." + "x" * 36 + ".sock"

PROGRAM = """
import os, sys
from pathlib import Path
from penstock.spark.session.temporary_directory import TemporaryDirectory
from penstock.spark.session.temporary_directory import socket_settings

made = socket_settings({"spark.master": "local[2]"}, TemporaryDirectory())
path = Path(made["spark.python.unix.domain.socket.dir"])
(path / ".left.sock").touch()
if os.fork() == 0:
    sys.exit()
os.wait()
assert path.exists(), "a forked process leaves it"
print(path)
"""


@pytest.fixture
def short() -> Iterator[Path]:
    """A directory whose path is short and in small letters, which the system's default need not be."""
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        yield Path(path)


@pytest.fixture
def temporary(short: Path) -> TemporaryDirectory:
    return TemporaryDirectory(short)


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2]", "local[2,4]"])
def test_a_local_session_has_sockets(temporary: TemporaryDirectory, master: str) -> None:
    made = socket_settings({"spark.master": master}, temporary)
    assert made == {ENABLED: "true", DIRECTORY: str(temporary.path / "sockets")}
    assert stat.S_IMODE(Path(made[DIRECTORY]).stat().st_mode) == stat.S_IRWXU


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "spark://host:7077", "yarn"])
def test_executors_elsewhere_have_none(temporary: TemporaryDirectory, master: str) -> None:
    assert socket_settings({"spark.master": master}, temporary) == {}


def test_the_user_s_settings_win(temporary: TemporaryDirectory) -> None:
    local = {"spark.master": "local[2]"}
    assert socket_settings(local | {ENABLED: "false"}, temporary) == {}
    assert socket_settings(local | {DIRECTORY: "/mine"}, temporary) == {ENABLED: "true"}
    assert DIRECTORY in socket_settings(local | {ENABLED: "TRUE"}, temporary)


@pytest.mark.parametrize("name", ["long" * 20, "T"])
def test_a_directory_whose_path_does_not_serve_is_replaced(short: Path, name: str) -> None:
    parent = short / name
    parent.mkdir()
    made = socket_settings({"spark.master": "local"}, TemporaryDirectory(parent))
    path = Path(made[DIRECTORY])
    assert parent not in path.parents
    assert len(os.fsencode(path / UUID)) < 108
    assert str(path) == str(path).lower()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IRWXU


def test_without_a_short_path_there_are_no_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = tmp_path / ("long" * 20)
    parent.mkdir()
    monkeypatch.setattr(temporary_directory, "PLAIN_PATH", tmp_path / "absent")
    assert socket_settings({"spark.master": "local"}, TemporaryDirectory(parent)) == {}


def test_sockets_are_removed_when_their_process_ends() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert ran.stdout
    assert not Path(ran.stdout.strip()).exists()
