"""Each check of `penstock doctor` notices the situation that it is for.

`BROKEN` has at least one situation per check, made real where a test can make it so, otherwise by an answer
of the system that the check asks. It would find a check that cannot fail, and one without a fix.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import mmap
import os
import resource
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.cli.doctor import files, machine, software
from penstock.cli.doctor.command import CHECKS, examine
from penstock.cli.doctor.finding import Finding, Situation, Verdict

GIB = 1 << 30


@dataclass
class World:
    """A situation, and how it is broken."""

    directory: Path
    environ: dict[str, str]
    patch: pytest.MonkeyPatch

    def seen(self) -> Situation:
        return Situation(self.directory, self.environ)

    def script(self, text: str) -> str:
        """Write an executable, and return its path."""
        path = self.directory / "bin" / "script"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    def raises(self, owner: Any, name: str, number: int) -> None:
        def broken(*_: Any, **__: Any) -> Any:
            raise OSError(number, os.strerror(number))

        self.patch.setattr(owner, name, broken)

    def versions(self, **changed: str | None) -> None:
        """Let distributions have other versions, or be missing."""
        real = metadata.version

        def version(name: str) -> str:
            found = changed[name] if name in changed else real(name)
            if found is None:
                raise metadata.PackageNotFoundError(name)
            return found

        self.patch.setattr(metadata, "version", version)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    environ = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
    environ["PYSPARK_PYTHON"] = sys.executable
    # A directory of a known kind, wherever tests run.
    monkeypatch.setattr(files, "file_system", lambda _: "ext4")
    return World(tmp_path, environ, monkeypatch)


def other_package(world: World) -> None:
    made = SimpleNamespace(files=[PurePosixPath("penstock/__init__.py")])
    world.versions(penstock="0.1.0")
    world.patch.setattr(metadata, "distribution", lambda _: made)


def no_pyspark(world: World) -> None:
    world.versions(pyspark=None)


def old_pyspark(world: World) -> None:
    world.versions(pyspark="4.1.2")


def new_pyspark(world: World) -> None:
    world.versions(pyspark="4.9.0")


def empty_home(world: World) -> None:
    world.environ["SPARK_HOME"] = str(world.directory)


def other_home(world: World) -> None:
    jars = world.directory / "jars"
    jars.mkdir()
    (jars / "spark-core_2.13-4.2.7.jar").touch()
    world.versions(pyspark="4.3.0")
    world.environ["SPARK_HOME"] = str(world.directory)


def old_python(world: World) -> None:
    world.patch.setattr(sys, "version_info", (3, 14, 0, "final", 0))


def no_lmdb(world: World) -> None:
    world.versions(lmdb=None)


def half_of_redis(world: World) -> None:
    world.versions(redis="8.1.0", hiredis=None)


def no_java(world: World) -> None:
    world.environ["JAVA_HOME"] = str(world.directory)


def java_11(world: World) -> None:
    path = world.script("echo 'openjdk version \"11.0.2\"' >&2")
    (Path(path)).rename(Path(path).with_name("java"))
    world.environ["JAVA_HOME"] = str(world.directory)


def no_interpreter(world: World) -> None:
    world.environ["PYSPARK_PYTHON"] = str(world.directory / "python")


def interpreter_that_fails(world: World) -> None:
    world.environ["PYSPARK_PYTHON"] = world.script("exit 1")


def told(world: World, **changed: Any) -> None:
    answer: dict[str, Any] = {
        "python": ".".join(map(str, sys.version_info[:3])),
        "penstock": True,
        "cloudpickle": metadata.version("cloudpickle"),
        "pyspark": metadata.version("pyspark"),
    } | changed
    text = str(answer).replace("'", '"').replace("True", "true").replace("False", "false")
    world.environ["PYSPARK_PYTHON"] = world.script(f"echo '{text}'")


def other_python(world: World) -> None:
    told(world, python="3.9.1")


def workers_without_penstock(world: World) -> None:
    told(world, penstock=False)


def other_cloudpickle(world: World) -> None:
    told(world, cloudpickle="2.2.1")


def file_in_the_way(world: World) -> None:
    world.directory /= "file"
    world.directory.touch()


def on_tmpfs(world: World) -> None:
    world.patch.setattr(files, "file_system", lambda _: "tmpfs")


def on_a_bucket(world: World) -> None:
    world.patch.setattr(files, "file_system", lambda _: "fuse.gcsfuse")


def no_rename(world: World) -> None:
    world.raises(Path, "replace", errno.EXDEV)


def rename_copies(world: World) -> None:
    world.patch.setattr(Path, "replace", shutil.copy)


def no_fsync(world: World) -> None:
    world.raises(os, "fsync", errno.EINVAL)


def no_locks(world: World) -> None:
    world.raises(fcntl, "flock", errno.ENOLCK)


def locks_without_effect(world: World) -> None:
    world.patch.setattr(fcntl, "flock", lambda *_: None)


def times_of_a_server(world: World) -> None:
    real = time.time
    world.patch.setattr(time, "time", lambda: real() + 90)


def no_memory_map(world: World) -> None:
    world.raises(mmap, "mmap", errno.ENODEV)


def full_disk(world: World) -> None:
    world.patch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=GIB // 2))


def little_temporary_space(world: World) -> None:
    temporary = Path(tempfile.gettempdir())
    sizes = {temporary: 2 * GIB}
    world.patch.setattr(
        shutil, "disk_usage", lambda path: SimpleNamespace(free=sizes.get(path, 90 * GIB))
    )


def no_ports(world: World) -> None:
    world.raises(socket, "create_server", errno.EACCES)


def unreachable_ports(world: World) -> None:
    world.raises(socket, "create_connection", errno.ECONNREFUSED)


def host_without_address(world: World) -> None:
    world.environ.pop("SPARK_LOCAL_IP", None)
    world.patch.setattr(socket, "gethostname", lambda: "no-such-host.invalid")
    world.raises(socket, "gethostbyname", errno.ENOENT)


def clock_of_1970(world: World) -> None:
    world.patch.setattr(time, "time", lambda: 86_400.0)


def clock_that_jumps(world: World) -> None:
    times = itertools.chain([1.8e9], itertools.repeat(1.8e9 + 3600))
    world.patch.setattr(time, "time", lambda: next(times))


def unknown_zone(world: World) -> None:
    world.environ["TZ"] = "Europe/Atlantis"


def limit(world: World, soft: int) -> None:
    world.patch.setattr(resource, "getrlimit", lambda _: (soft, 4096))


def memory_of(world: World, size: int) -> None:
    limit = world.directory / "memory.max"
    limit.write_text(f"{size}\n")
    world.patch.setattr(machine, "_CGROUPS", (limit,))


OK, WARN, FAIL = Verdict.OK, Verdict.WARN, Verdict.FAIL
Break = Callable[[World], None]
BROKEN: dict[str, list[tuple[Break, Verdict, str]]] = {
    "package": [(other_package, FAIL, "overwrite each other")],
    "python": [(old_python, WARN, "Python 3.14.0 is not tested")],
    "libraries": [(no_lmdb, FAIL, "not installed: lmdb")],
    "extras": [(half_of_redis, WARN, "redis lacks hiredis")],
    "java": [(no_java, FAIL, "there is no Java"), (java_11, FAIL, "has version 11")],
    "spark": [
        (no_pyspark, FAIL, "PySpark is not installed"),
        (old_pyspark, FAIL, "4.1.2 is too old"),
        (new_pyspark, WARN, "4.9.0 is not tested"),
        (empty_home, FAIL, "has no Spark"),
        (other_home, FAIL, "has Spark 4.2.7, and PySpark is 4.3.0"),
    ],
    "workers": [
        (no_interpreter, FAIL, "does not run"),
        (interpreter_that_fails, FAIL, "does not run"),
        (other_python, FAIL, "workers have Python 3.9.1"),
        (workers_without_penstock, FAIL, "has no Penstock"),
        (other_cloudpickle, FAIL, "workers have cloudpickle 2.2.1"),
    ],
    "directory": [
        (file_in_the_way, FAIL, "cannot be written"),
        (on_tmpfs, WARN, "goes with the machine"),
        (on_a_bucket, WARN, "fuse.gcsfuse"),
    ],
    "rename": [
        (no_rename, FAIL, "cannot replace"),
        (rename_copies, FAIL, "['new', 'old']"),
    ],
    "fsync": [(no_fsync, FAIL, "cannot be forced")],
    "locks": [
        (no_locks, FAIL, "cannot be locked"),
        (locks_without_effect, FAIL, "does not keep another process out"),
    ],
    "file times": [
        (times_of_a_server, WARN, "-90.0 s off"),
        (file_in_the_way, FAIL, "files have no time"),
    ],
    "memory map": [(no_memory_map, FAIL, "cannot be mapped")],
    "disk": [
        (full_disk, FAIL, "0.5 GiB for checkpoints"),
        (little_temporary_space, WARN, "2.0 for temporary files"),
    ],
    "ports": [
        (no_ports, FAIL, "Permission denied"),
        (unreachable_ports, FAIL, "refused"),
    ],
    "host name": [(host_without_address, WARN, "has no address")],
    "clock": [
        (clock_of_1970, FAIL, "never set"),
        (clock_that_jumps, WARN, "+3"),
        (unknown_zone, WARN, "no time zone TZ=Europe/Atlantis"),
    ],
    "open files": [
        (lambda world: limit(world, 256), FAIL, "256 at most"),
        (lambda world: limit(world, 1024), WARN, "may be raised to 4,096"),
    ],
    "memory": [
        (lambda world: memory_of(world, 2 * GIB), FAIL, "2.0 GiB"),
        (lambda world: memory_of(world, 4 * GIB), WARN, "4.0 GiB"),
    ],
}


@pytest.mark.parametrize(
    ("name", "broken", "verdict", "said"),
    [(name, *row) for name, rows in BROKEN.items() for row in rows],
    ids=[f"{name}-{row[2]}" for name, rows in BROKEN.items() for row in rows],
)
def test_a_broken_situation_is_noticed(
    world: World, name: str, broken: Break, verdict: Verdict, said: str
) -> None:
    broken(world)
    found = CHECKS[name](world.seen())
    assert (found.name, found.verdict) == (name, verdict), found
    assert said in found.text
    assert found.fix is not None
    assert found.fix[0].isupper() or found.fix.startswith("pip ")


def test_every_check_has_a_broken_situation() -> None:
    assert BROKEN.keys() == CHECKS.keys()


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in CHECKS
        if name not in {"package", "disk", "host name", "open files", "memory"}
    ],
)
def test_what_tests_need_is_there(world: World, name: str) -> None:
    # The matrix runs this with a pair that has not passed yet.
    world.patch.setitem(software.TESTED, sys.version_info[:2], ((4, 2), (4, 3)))
    found = CHECKS[name](world.seen())
    assert found.verdict is OK, found


def test_findings_come_in_the_order_of_the_table(world: World) -> None:
    assert [finding.name for finding in examine(world.seen())] == list(CHECKS)


def test_nothing_is_left_in_the_directory(world: World) -> None:
    list(examine(world.seen()))
    assert list(world.directory.iterdir()) == []


@pytest.mark.parametrize(("verdict", "fix"), [(OK, "Do it."), (FAIL, None), (WARN, None)])
def test_a_fix_belongs_to_what_is_not_ok(verdict: Verdict, fix: str | None) -> None:
    with pytest.raises(ValueError, match="a fix belongs"):
        Finding("clock", verdict, "it is late", fix)


def test_a_host_without_address_may_be_told_one(world: World) -> None:
    host_without_address(world)
    world.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    assert machine.host_name(world.seen()).verdict is OK


def test_spark_of_the_same_version_may_be_elsewhere(world: World) -> None:
    other_home(world)
    world.versions(pyspark="4.2.1")
    own = sys.version_info[:2]
    world.patch.setitem(software.TESTED, own, ((4, 2), (4, 3)))
    assert software.spark(world.seen()).verdict is OK


def test_a_spark_that_passed_with_another_python_only_is_told(world: World) -> None:
    world.patch.setattr(software, "TESTED", {(3, 11): ((4, 3),), (3, 12): ((4, 2),)})
    world.patch.setattr(sys, "version_info", (3, 11, 7, "final", 0))
    world.versions(pyspark="4.2.1")
    found = software.spark(world.seen())
    assert found.verdict is WARN
    assert found.text == "PySpark 4.2.1 is not tested with Python 3.11"
    assert found.fix == "Use PySpark 4.3."


def test_file_systems_have_a_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    inner = tmp_path / "a b" / "c"
    inner.mkdir(parents=True)
    mounted = str(tmp_path / "a b").replace(" ", "\\040")
    mounts.write_text(f"disk / ext4 rw 0 0\nserver:/x {mounted} nfs4 rw 0 0\n")
    monkeypatch.setattr(files, "_MOUNTS", mounts)
    assert files.file_system(inner) == "nfs4"
    assert files.file_system(tmp_path) == "ext4"
    monkeypatch.setattr(files, "_MOUNTS", tmp_path / "none")
    assert files.file_system(tmp_path) == "unknown"


def test_a_directory_that_may_not_be_written(world: World) -> None:
    if os.getuid() == 0:
        pytest.skip("root may write everywhere")
    world.directory.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert files.directory(world.seen()).verdict is FAIL


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise OSError('no room')", "OSError: no room"),
        ("print('[]')", "printed '[]"),
        ("import sys; sys.exit(3)", "exit status 3"),
    ],
)
def test_a_job_that_fails_is_noticed(
    world: World, monkeypatch: pytest.MonkeyPatch, program: str, said: str
) -> None:
    monkeypatch.setattr(files, "PROGRAM", program)
    found = list(examine(world.seen(), with_job=True))[-1]
    assert (found.name, found.verdict) == ("job", FAIL)
    assert said in found.text


def test_a_job_that_hangs_is_noticed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: Any, timeout: int, **__: Any) -> Any:
        raise subprocess.TimeoutExpired("python", timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    assert files.job(world.seen()).verdict is FAIL
