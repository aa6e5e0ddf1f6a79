"""Wheel and source distribution are whole, and work in an environment that has nothing else of ours.

They are built as `make dist` builds them. The libraries are those of the environment of the tests; its
own installation of Penstock is not reached, because path files in it are not read.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from penstock.extras import DISTRIBUTION, EXTRAS, install_command
from penstock.version import __version__
from tools.dist import REQUIREMENT, build

TOP = Path(__file__).parents[2]
PACKAGE = TOP / "src" / "penstock"
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
NOT_FOR_SYSTEMS = {"demo", "dev"}
PAGES = [TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))]
_INSTALLS = re.compile(r"pip install '?(?:dist/)?penstock[-_]spark[^'`\n]*'?")

IMPORT_ALL = """
import importlib, pkgutil, penstock
names = ["penstock"]
for name in names:
    module = importlib.import_module(name)
    names += [f"{name}.{each.name}" for each in pkgutil.iter_modules(getattr(module, "__path__", []))
              if each.name != "__main__"]
print(penstock.__file__, len(names))
"""


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    target = tmp_path_factory.mktemp("dist")
    build(target)
    return target


@pytest.fixture(scope="module")
def wheel(dist):
    (path,) = dist.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Return the `bin` of an environment in which pip installed the wheel."""
    root = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", root)
    pip = [sys.executable, "-m", "pip", "--python", root / "bin" / "python", "install", "--quiet"]
    run(*pip, "--disable-pip-version-check", "--no-index", "--no-deps", wheel)
    (site,) = (root / "lib").glob("python3.*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    return root / "bin"


def run(*command, cwd=None):
    done = subprocess.run(
        [str(each) for each in command], capture_output=True, text=True, check=False, cwd=cwd
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


def files_of_package():
    return {
        path.relative_to(TOP / "src").as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    mine = {name for name in names if not name.startswith("penstock_spark-")}
    assert mine == files_of_package()
    assert "penstock/py.typed" in mine
    assert f"penstock_spark-{__version__}.dist-info/licenses/LICENSE" in names


def test_the_source_distribution_has_what_its_tests_need(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in files_of_package()} <= names
    assert {"Makefile", "README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml"} <= names
    assert {f"requirements/{path.name}" for path in (TOP / "requirements").iterdir()} <= names
    tests = {path.relative_to(TOP).as_posix() for path in (TOP / "tests").rglob("*.py")}
    assert tests <= names
    assert not {name for name in names if "__pycache__" in name or name.startswith(".venv")}


def test_the_requirement_file_names_both_by_digest(dist):
    text = (dist / REQUIREMENT).read_text()
    assert text.startswith(f"penstock-spark=={__version__} \\\n")
    found = re.findall(r"--hash=sha256:([0-9a-f]{64})", text)
    paths = [*dist.glob("*.whl"), *dist.glob("*.tar.gz")]
    assert sorted(found) == sorted(hashlib.sha256(each.read_bytes()).hexdigest() for each in paths)


def test_the_command_line_runs(installed, tmp_path):
    assert run(installed / "penstock", "--version") == f"penstock {__version__}\n"
    found = run(installed / "python", "-m", "penstock", "--help", cwd=tmp_path)
    assert "savepoint" in found


def test_the_doctor_sees_the_installation(installed, tmp_path):
    done = subprocess.run(
        [installed / "penstock", "doctor", "--json", "--directory", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")},
    )
    found = {each["name"]: each for each in map(json.loads, done.stdout.splitlines())}
    for name in ("package", "workers"):
        assert found[name]["verdict"] == "ok", found[name]
        assert str(installed.parent) in found[name]["text"]


def test_a_project_can_be_written(installed, tmp_path):
    written = run(installed / "penstock", "init", tmp_path / "spent").split()
    assert {Path(each).name for each in written} >= {"spent.py", "test_spent.py", "Makefile"}


def test_every_module_can_be_imported(installed, tmp_path):
    file, count = run(installed / "python", "-I", "-c", IMPORT_ALL, cwd=tmp_path).split()
    assert Path(file).is_relative_to(installed.parent)
    modules = [name for name in files_of_package() if name.endswith(".py")]
    assert int(count) == len(modules) - 1  # without __main__


def test_the_name_stands_in_one_place():
    assert PROJECT["name"] == DISTRIBUTION
    spelled = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.suffix in {".py", ".template"} and path.name != "extras.py"
        if re.search(r"pip install '?penstock|penstock\[", path.read_text())
    ]
    assert spelled == []


def test_extras_are_those_of_the_project():
    declared = PROJECT["optional-dependencies"]
    assert EXTRAS.keys() == declared.keys() - NOT_FOR_SYSTEMS
    for name, extra in EXTRAS.items():
        needed = [Requirement(each) for each in declared[name]]
        names = {each.name for each in needed}
        names |= {f"{each.name}-{part}" for each in needed for part in each.extras}
        assert set(extra.distributions) == names, name
        assert extra.requirements == tuple(declared[name])


def test_pages_install_what_can_be_installed():
    # Decisions say what was rejected, too.
    pages = [page for page in PAGES if page.parent.name != "decisions"]
    told = {command for page in pages for command in _INSTALLS.findall(page.read_text())}
    assert told == {install_command(), install_command("kafka")}, "ON_INDEX decides"
