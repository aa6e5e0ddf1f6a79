"""The archive of Spark's classes: where it is, who uses it, and the command that makes it.

A real one takes half a minute; `python -m benchmarks cold` makes and uses one.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from penstock.spark.session.factory import archive_path, reading_options
from penstock.spark.session.java_runtime import JavaRuntime

JAVA = JavaRuntime(Path("/usr/bin/java"), "17.0.15")


@pytest.fixture
def spark_home(monkeypatch, tmp_path):
    """Return a Spark of two jars, and a cache of its own."""
    jars = tmp_path / "spark" / "jars"
    jars.mkdir(parents=True)
    (jars / "spark-core.jar").write_bytes(b"core")
    monkeypatch.setenv("SPARK_HOME", str(jars.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return jars.parent


def test_another_java_or_another_jar_has_another_archive(spark_home):
    first = archive_path(JAVA, os.environ)
    assert first == archive_path(JAVA, os.environ)
    other = archive_path(JavaRuntime(JAVA.path, "17.0.16"), os.environ)
    (spark_home / "jars" / "spark-core.jar").write_bytes(b"core 2")
    assert len({first, other, archive_path(JAVA, os.environ)}) == 3


def test_an_archive_is_used_if_it_is_there_and_fits(spark_home):
    assert reading_options(JAVA, {}) == ""
    path = archive_path(JAVA, os.environ)
    path.parent.mkdir(parents=True)
    path.touch()
    assert reading_options(JAVA, {}).startswith(f'"-XX:SharedArchiveFile={path}"')
    assert reading_options(JAVA, {"spark.driver.extraClassPath": "/first.jar"}) == ""


def test_the_command_makes_it_once_and_removes_it(penstock, monkeypatch, spark_home):
    commands = []

    def run(command, **_):
        if command[1:] == ["-version"]:
            return subprocess.CompletedProcess(command, 0, "", 'openjdk version "17.0.15"')
        commands.append(command)
        option = next(each for each in command if "ArchiveClassesAtExit" in each)
        made = option.partition("ArchiveClassesAtExit=")[2].partition('"')[0]
        Path(made).write_bytes(b"classes")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    first = penstock("prepare")
    assert (first.exit_code, first.stderr) == (0, "")
    made = list((spark_home.parent / "cache" / "penstock").iterdir())
    assert [path.read_bytes() for path in made] == [b"classes"]  # and no directory of the making
    again = penstock("prepare")
    assert "is there already" in again.stdout
    assert len(commands) == 1
    assert "removed" in penstock("prepare", "--remove").stdout
    assert not made[0].exists()


def test_a_job_that_fails_leaves_no_archive(penstock, monkeypatch, spark_home):
    def run(command, **_):
        version = 'openjdk version "17.0.15"'
        return subprocess.CompletedProcess(command, int(len(command) > 2), "", version)

    monkeypatch.setattr(subprocess, "run", run)
    result = penstock("prepare")
    assert result.exit_code == 1
    assert "the archive of Spark's classes was not made" in result.stderr
    assert list((spark_home.parent / "cache" / "penstock").iterdir()) == []
