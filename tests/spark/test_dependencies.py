"""Files, requirements, archives and the interpreter that workers get beside the program."""

from __future__ import annotations

import os
import stat
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import BroadcastProcessFunction, CoMapFunction
from penstock.datastream.state import MapStateDescriptor
from penstock.errors import ConfigError, EnvironmentSetupError
from tests.spark.conftest import Environment


def imported(name: str, attribute: str = "VALUE") -> Any:
    """Return a function that imports a module where it runs."""

    def answer(_: int) -> Any:
        return getattr(__import__(name), attribute)

    return answer


def answers(env: StreamExecutionEnvironment, function: Any) -> list[Any]:
    return env.from_collection([1]).map(function).execute_and_collect("dependencies", 1)


def wheel(directory: Path, name: str, value: int) -> Path:
    """Make the smallest wheel pip installs."""
    info = f"{name}-1.0.dist-info"
    path = directory / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(f"{name}.py", f"VALUE = {value}\n")
        packed.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        packed.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        packed.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n")
    return path


def test_python_files_are_found_by_the_workers(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "dep_module.py").write_text("VALUE = 'module'\n")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "dep_plain.py").write_text("VALUE = 'directory'\n")
    (tmp_path / "dep_package").mkdir()
    (tmp_path / "dep_package" / "__init__.py").write_text("VALUE = 'package'\n")
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as packed:
        packed.writestr("dep_zipped.py", "VALUE = 'zip'\n")
    env = environment("batch")
    for name in ("dep_module.py", "plain", "dep_package", "z.zip"):
        env.add_python_file(str(tmp_path / name))
    names = ("dep_module", "dep_plain", "dep_package", "dep_zipped")

    def all_of(_: int) -> Any:
        return [__import__(name).VALUE for name in names]

    assert answers(env, all_of) == [["module", "directory", "package", "zip"]]


def test_a_later_job_gets_its_own_file_of_the_same_name(
    environment: Environment, tmp_path: Path
) -> None:
    found = []
    for version in ("one", "two"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "dep_versioned.py").write_text(f"VALUE = {version!r}\n")
        env = environment(
            "streaming", **{"execution.checkpointing.dir": str(tmp_path / f"job-{version}")}
        )
        env.add_python_file(str(tmp_path / version / "dep_versioned.py"))
        found += answers(env, imported("dep_versioned"))
    assert found == ["one", "two"]


def test_requirements_are_installed_without_a_network(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "packages").mkdir()
    wheel(tmp_path / "packages", "dep_required", 42)
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("dep_required==1.0\n")
    env = environment("batch")
    env.set_python_requirements(str(requirements), str(tmp_path / "packages"))
    assert answers(env, imported("dep_required")) == [42]
    (installed,) = (tmp_path / "cache" / "penstock" / "requirements").iterdir()
    assert (installed / "dep_required.py").exists()


def test_requirements_that_are_missing_say_so(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "packages").mkdir()
    (tmp_path / "requirements.txt").write_text("dep_absent==1.0\n")
    env = environment("batch")
    env.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path / "packages"))
    with pytest.raises(EnvironmentSetupError, match="dep_absent"):
        answers(env, imported("dep_absent"))


def test_archives_are_in_the_current_directory(environment: Environment, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as packed:
        packed.writestr("numbers.txt", "1 2 3")
    env = environment("batch")
    env.add_python_archive(str(tmp_path / "data.zip"))
    env.add_python_archive(str(tmp_path / "data.zip"), "named")
    read = lambda _: [Path(p).read_text() for p in ("data.zip/numbers.txt", "named/numbers.txt")]  # noqa: E731
    assert answers(env, read) == [["1 2 3", "1 2 3"]]
    here = Path.cwd()
    again = environment("batch", **{"execution.checkpointing.dir": str(tmp_path / "other")})
    assert answers(again, lambda _: Path.cwd()) == [here]


def test_the_interpreter_may_come_from_an_archive(environment: Environment, tmp_path: Path) -> None:
    script = f'#!/bin/sh\nDEP_MARK=wrapped exec {sys.executable} "$@"\n'
    with zipfile.ZipFile(tmp_path / "env.zip", "w") as packed:
        member = zipfile.ZipInfo("bin/python")
        member.external_attr = (stat.S_IFREG | 0o755) << 16
        packed.writestr(member, script)
    env = environment("batch")
    env.add_python_archive(str(tmp_path / "env.zip"))
    env.set_python_executable("env.zip/bin/python")
    assert answers(env, lambda _: os.environ.get("DEP_MARK")) == ["wrapped"]


def test_a_path_that_does_not_exist_is_refused(environment: Environment, tmp_path: Path) -> None:
    env = environment("batch")
    env.add_python_file(str(tmp_path / "absent.py"))
    with pytest.raises(ConfigError, match=r"absent\.py"):
        answers(env, imported("absent"))


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_every_kind_of_operator_finds_the_files(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    """Each level, and the sinks, may run in a process that served another job before."""
    other = environment("batch", **{"execution.checkpointing.dir": str(tmp_path / "other")})
    assert other.from_collection([1]).execute_and_collect(limit=1) == [1]
    (tmp_path / "dep_everywhere.py").write_text("def plus(n):\n    return n + 1\n")

    def plus(n: int) -> int:
        return int(__import__("dep_everywhere").plus(n))

    class Both(CoMapFunction):
        def map1(self, value: int) -> int:
            return plus(value)

        def map2(self, value: int) -> int:
            return plus(value)

    class Broadcasted(BroadcastProcessFunction):
        def process_element(self, value: int, ctx: Any) -> Any:
            yield plus(value)

        def process_broadcast_element(self, value: int, ctx: Any) -> None:
            plus(value)

    written = tmp_path / "written"
    env = environment(mode)
    env.add_python_file(str(tmp_path / "dep_everywhere.py"))
    numbers = env.from_collection([1])
    first = numbers.connect(env.from_collection([1])).key_by(plus, plus).map(Both())
    states = MapStateDescriptor("seen", Types.INT(), Types.INT())
    both = first.connect(numbers.broadcast(states)).process(Broadcasted())
    both.add_sink(lambda n: written.write_text(str(plus(n))))
    env.execute("everywhere")
    assert written.read_text() == "4"
